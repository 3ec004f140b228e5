"""The console in a real browser against `keystead dev`, its JavaScript under `tsc`, its copies of npm packages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keystead.client.credentials import credentials_in
from tests.compatibility.scripts import drive, node

HERE = Path(__file__).parent


class ConsoleServer:
    """A development server with the link that it printed."""

    def __init__(self, data: Path, banner: str) -> None:
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
    command = [sys.executable, "-m", "keystead", "dev", "--port", "0", "--data", str(tmp_path / "data"), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        banner = ""
        while "client.getWallets" not in banner:  # the banner's last line but one
            line = process.stdout.readline()
            assert line, banner
            banner += line
        try:
            yield ConsoleServer(tmp_path / "data", banner)
        finally:
            process.terminate()


@pytest.mark.parametrize("subject", ["logins", "approvals", "records", "forms", "policies", "development", "large"])
def test_in_a_browser(subject: str, server: ConsoleServer, subtests: pytest.Subtests) -> None:
    drive(str(HERE / "console" / f"{subject}.mjs"), "", server, subtests, KEYSTEAD_CONSOLE_URL=server.console_url)


def test_types() -> None:
    checked = subprocess.run(
        [node(), HERE / "node_modules/typescript/bin/tsc", "--project", HERE / "console/tsconfig.json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout


def test_vendored_files_equal_their_packages(server: ConsoleServer, subtests: pytest.Subtests) -> None:
    drive(str(HERE / "console/vendor.mjs"), "--check", server, subtests)
