"""The package of the client alone: what it needs, and that it works where there is no server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.support.servers import Server
from tools.client_package import write_package

NEEDS = {"btclib-libsecp256k1", "cryptography", "httpx", "msgspec", "tiny-keccak", "uuid-utils"}
"""What the client alone depends on: HTTP, signatures on its curves, JSON."""

CODE = """
import json, sys
from keystead_client import Client, NotFound, generate_api_key

settings = json.loads(sys.stdin.read())
with Client(**settings) as client:
    assert client.whoami().organization_id == settings["organization_id"]
    made = client.create_wallet(wallet_name="made by the client alone", accounts=[])
    print(*[one.wallet_name for one in client.list_wallets().wallets if one.wallet_id == made.wallet_id])
assert not [name for name in sys.modules if name.partition(".")[0] == "keystead"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, out = tmp_path_factory.mktemp("client") / "package", tmp_path_factory.mktemp("out")
    write_package(folder)
    code = f"from setuptools.build_meta import build_wheel; build_wheel({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("keystead_client-*.whl")
    return built


def test_what_it_needs_and_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    needs = {re.split(r"[<>=;\[ ]", each)[0] for each in headers.get_all("Requires-Dist") or []}
    assert needs == NEEDS
    folders = {name.split("/")[1] for name in names if name.startswith("keystead_client/") and name.count("/") > 1}
    assert folders == {"api", "client", "primitives", "stamps"}


def test_it_calls_a_server(wheel: Path, sqlite_server: Server, tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", with_pip=False)
    (site_packages,) = (tmp_path / "environment").glob("lib/python3*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site_packages)
    # A path file of another path file is not read: this environment's own, editable Keystead stays out.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    key = sqlite_server.installation.key
    settings = {
        "base_url": sqlite_server.base_url,
        "api_public_key": key.public_key,
        "api_private_key": key.private_key,
        "organization_id": sqlite_server.installation.organization_id,
    }
    done = subprocess.run(
        [str(tmp_path / "environment/bin/python"), "-c", CODE],
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "made by the client alone\n"), done.stderr
