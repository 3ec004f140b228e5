"""The console in a real browser against `keystead dev`, its JavaScript under `tsc`, its copies of npm packages."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keystead.client.credentials import credentials_in
from tests.browser.issuer import IssuerOnThisMachine
from tests.compatibility.scripts import PACKAGES, drive, node
from tests.support.dev_servers import dev_banner
from tests.support.hanging import PATIENCE_S

HERE = Path(__file__).parent


class ConsoleServer:
    """A development server with the link that it printed."""

    def __init__(self, data: Path, banner: str) -> None:
        self.data = data
        credentials = credentials_in(data / "credentials.json")
        assert credentials.user_id is not None
        self.base_url = credentials.base_url
        self.organization_id = credentials.organization_id
        self.user_id = credentials.user_id
        self.api_public_key = credentials.api_public_key
        self.api_private_key = credentials.api_private_key
        link = re.search(r"console +(http\S+)", banner)
        assert link is not None, banner
        self.console_url = link[1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ConsoleServer]:
    with console_server(tmp_path / "data") as started:
        yield started


@contextmanager
def console_server(data: Path, *options: str) -> Iterator[ConsoleServer]:
    with dev_banner(data, "--quiet", *options) as banner:
        yield ConsoleServer(data, banner)


@pytest.mark.parametrize(
    "subject",
    [
        "logins",
        "people",
        "wallets",
        "approvals",
        "records",
        "forms",
        "policies",
        "development",
        "large",
        "markup",
        "lockout",
    ],
)
def test_in_a_browser(subject: str, server: ConsoleServer, subtests: pytest.Subtests) -> None:
    script = str(HERE / "console" / f"{subject}.mjs")
    drive(script, "", server, subtests, KEYSTEAD_CONSOLE_URL=server.console_url, DATA=str(server.data))


def test_logging_in_at_an_issuer(tmp_path: Path, subtests: pytest.Subtests) -> None:
    issuer = IssuerOnThisMachine(tmp_path)
    options = (
        "--oidc-keys-file",
        str(issuer.keys_file),
        "--console-oidc",
        f"Example={issuer.url}/auth?client_id=console",
    )
    with console_server(tmp_path / "data", *options) as server:
        drive(str(HERE / "console" / "issuer.mjs"), "", server, subtests, **issuer.environment)


def test_types() -> None:
    checked = subprocess.run(
        [node(), PACKAGES / "typescript/bin/tsc", "--project", HERE / "console/tsconfig.json"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert checked.returncode == 0, checked.stdout


def test_what_a_mouse_presses_a_keyboard_presses_too() -> None:
    """What listens to clicks is an element that Tab reaches and Enter presses."""
    static = HERE.parent.parent / "src/keystead/console/static"
    found = {
        f"{path.name}: <{tag}>"
        for path in static.rglob("*.js")
        if "vendor" not in path.parts
        for listening in re.finditer(r"\bon(?:Click|MouseDown)=", path.read_text("utf-8"))
        for tag in re.findall(r"<([a-z]\w*)\b", path.read_text("utf-8")[: listening.start()])[-1:]
    }
    pressable = {f"{path.name}: <{tag}>" for path in static.rglob("*.js") for tag in ("a", "button", "summary")}
    assert found - pressable == {
        "expression_editor.js: <li>"
    }  # an option of a list box, which the arrow keys choose


def test_vendored_files_equal_their_packages(server: ConsoleServer, subtests: pytest.Subtests) -> None:
    drive(str(HERE / "console/vendor.mjs"), "--check", server, subtests)
