"""The guides do what they say: every block is run against a development server, one after the other."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

from keystead.client.credentials import credentials_in
from keystead.testing import DevelopmentServer
from tests.documentation.blocks import Reader, blocks_of
from tests.support.commands import start_keystead
from tests.support.fork_server import ForkedProcess
from tests.support.hanging import PATIENCE_S

ROOT = Path(__file__).parents[2]
SHOWN_ONLY = {"go", "rust"}
"""Guides to languages that the tests do not have. They say so themselves."""

GUIDES = [page for page in sorted((ROOT / "docs" / "guides").glob("*.md")) if page.stem not in SHOWN_ONLY]
FOLLOWED = [*GUIDES, ROOT / "docs" / "exports.md", ROOT / "docs" / "webhooks.md"]


@contextmanager
def started_in(folder: Path) -> Iterator[Path]:
    """The folder, while `keystead dev` runs in it."""
    process = start_keystead("dev", "--port", "0", "--quiet", cwd=folder, output=folder / "log")
    try:
        _wait_until_ready(process, folder)
        yield folder
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with started_in(tmp_path):
        yield tmp_path


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with started_in(tmp_path_factory.mktemp("guides")) as folder:
        yield folder


def _wait_until_ready(process: ForkedProcess, folder: Path) -> None:
    file = folder / ".keystead" / "credentials.json"
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline, (folder / "log").read_text()
        with_address = file.exists() and credentials_in(file).base_url
        if with_address:
            try:
                if (
                    httpx.get(f"{with_address}/readyz", trust_env=False, timeout=PATIENCE_S).status_code
                    == httpx.codes.OK
                ):
                    return
            except httpx.TransportError:
                pass
        time.sleep(0.02)


DEVELOPMENT_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The first address of the public test mnemonic, which the development wallet has."""

SAYS = {
    "ethers": f"(?:{DEVELOPMENT_ADDRESS}\n){{3}}",
    "solana": "true\n",
    "viem": f"(?:{DEVELOPMENT_ADDRESS}\n){{2}}",
    "python": r"(?s).*'Payments \w+'.*\['Development', .*'Payments \w+'.*\]\n",
    "requests": r"(?s)Developer\nACTIVITY_STATUS_COMPLETED .*3 .*walletId.*",
    "exports": r"(?:test ){11}junk\n",
    "webhooks": r"\[ 'Activities true' \]\n(?:ACTIVITY_TYPE_CREATE_USER_TAG ACTIVITY_STATUS_COMPLETED\n){2}",
    "spending-limits": r"(?s)signed 100000000\nsigned 50000000\n.*at most 150 in 24 hours; 150 is.*remaining 0\n",
    "approvals": r"(?s)ACTIVITY_STATUS_CONSENSUS_NEEDED sha256:.*",
}
"""What the blocks of a guide print, where the guide says so or a wrong value would not fail by itself."""


@pytest.mark.parametrize("name", sorted(SHOWN_ONLY))
def test_a_guide_that_is_not_run_says_so(name: str) -> None:
    page = ROOT / "docs" / "guides" / f"{name}.md"
    assert all(block.shown for block in blocks_of(page))
    assert "**The tests of Keystead do not run this program.**" in page.read_text()


@pytest.mark.parametrize("guide", [*FOLLOWED, *reversed(FOLLOWED)], ids=lambda guide: guide.stem)
def test_guide(guide: Path, shared_folder: Path) -> None:
    """Each guide twice, after each other guide and before it, on one server."""
    folder = shared_folder
    printed = "".join(Reader(guide, folder).follow().values())
    assert re.fullmatch(SAYS.get(guide.stem, "(?s).+"), printed), printed


def test_wallets_move_between_two_installations(
    folder: Path, keystead_server: Callable[..., AbstractContextManager[DevelopmentServer]]
) -> None:
    """The program moves them between the service and Keystead, too; here both sides are Keystead."""
    with keystead_server() as other:
        for name, credentials in (
            ("from", credentials_in(folder / ".keystead" / "credentials.json")),
            ("to", other.credentials),
        ):
            told = httpx.get(f"{credentials.base_url}/bundle-signer", trust_env=False, timeout=PATIENCE_S).json()
            members = {
                "baseUrl": credentials.base_url,
                "organizationId": credentials.organization_id,
                "apiPublicKey": credentials.api_public_key,
                "apiPrivateKey": credentials.api_private_key,
                "userId": credentials.user_id,
                "bundleSigner": told["signingPublicKey"],
            }
            (folder / f"{name}.json").write_text(json.dumps(members))
        printed = Reader(ROOT / "docs" / "keystead-and-turnkey.md", folder).follow()
        assert list(printed.values()) == ["Development true\n"]
        assert {wallet.wallet_name for wallet in other.client.list_wallets().wallets} >= {"Development (moved)"}


def test_the_controls_of_a_development_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/development.md: its curl lines and its Python, with the port of this server for 8080."""
    base_url = credentials_in(folder / ".keystead" / "credentials.json").base_url
    monkeypatch.setenv("no_proxy", "localhost")
    blocks = [
        (block.language, block.text.replace("http://localhost:8080", base_url))
        for block in blocks_of(ROOT / "docs" / "development.md")
    ]
    (shell,) = [text for language, text in blocks if language == "sh"]
    printed = subprocess.run(["bash", "-ec", shell], capture_output=True, text=True, check=True).stdout
    assert [answer["frozen"] for answer in map(json.loads, re.findall(r"\{[^}]*\}", printed))] == [False, True]
    (program,) = [text for language, text in blocks if language == "python"]
    exec(compile(program, "development.md", "exec"), {})
