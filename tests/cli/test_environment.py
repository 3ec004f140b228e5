"""`keystead env`: settings to paste, under the names that published examples read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from keystead.cli.development.environment import Format, client_settings, settings_text
from keystead.client.credentials import Credentials
from tests.support.terminal import Terminal

CREDENTIALS = Credentials(
    base_url="http://localhost:8080",
    organization_id="0199a8f2-0000-7000-8000-000000000001",
    api_public_key="02" + "ab" * 32,
    api_private_key="cd" * 32,
)
VARIABLES = {
    "BASE_URL": CREDENTIALS.base_url,
    "ORGANIZATION_ID": CREDENTIALS.organization_id,
    "API_PUBLIC_KEY": CREDENTIALS.api_public_key,
    "API_PRIVATE_KEY": CREDENTIALS.api_private_key,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    members = {
        "baseUrl": CREDENTIALS.base_url,
        "organizationId": CREDENTIALS.organization_id,
        "apiPublicKey": CREDENTIALS.api_public_key,
        "apiPrivateKey": CREDENTIALS.api_private_key,
    }
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(members))
    return path


def test_the_names_that_examples_read() -> None:
    settings = client_settings(CREDENTIALS)
    for prefix in ("", "KEYSTEAD_", "TURNKEY_"):
        assert {name: settings[prefix + name] for name in VARIABLES} == VARIABLES
    for prefix in ("NEXT_PUBLIC_", "VITE_"):
        assert settings[f"{prefix}BASE_URL"] == CREDENTIALS.base_url
        assert settings[f"{prefix}ORGANIZATION_ID"] == CREDENTIALS.organization_id


def test_no_page_gets_the_private_key() -> None:
    """Bundlers put variables with these prefixes into pages."""
    settings = client_settings(CREDENTIALS)
    public = {name: value for name, value in settings.items() if name.startswith(("NEXT_PUBLIC_", "VITE_"))}
    assert len(public) == 4
    assert CREDENTIALS.api_private_key not in public.values()


def test_dotenv_is_the_default(terminal: Terminal, file: Path) -> None:
    printed = terminal.run("env", "--credentials", str(file))
    lines = dict(line.split("=", 1) for line in printed.out.splitlines())
    assert lines == {name: f'"{value}"' for name, value in client_settings(CREDENTIALS).items()}


def test_json(terminal: Terminal, file: Path) -> None:
    printed = terminal.run("env", "--credentials", str(file), "--format", "json")
    assert json.loads(printed.out) == client_settings(CREDENTIALS)


def test_a_shell_can_evaluate_the_settings() -> None:
    script = settings_text(CREDENTIALS, Format.SHELL) + 'printf "%s %s" "$API_PRIVATE_KEY" "$KEYSTEAD_BASE_URL"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown == f"{CREDENTIALS.api_private_key} {CREDENTIALS.base_url}"


def test_tkcli_gets_its_files(tmp_path: Path) -> None:
    """A stand-in for tkcli prints its arguments: what is checked are the files and the flags."""
    tool = tmp_path / "turnkey"
    tool.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    tool.chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}{os.pathsep}{Path(shutil.which('sh') or '').parent}"}
    script = settings_text(CREDENTIALS, Format.TKCLI)
    run = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, text=True, check=True)
    keys = tmp_path / ".config" / "turnkey" / "keys"
    assert (keys / "keystead.private").read_text() == CREDENTIALS.api_private_key
    assert (keys / "keystead.private").stat().st_mode & 0o77 == 0
    assert (keys / "keystead.public").read_text() == CREDENTIALS.api_public_key
    arguments = run.stdout.splitlines()
    flags = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    assert arguments[0] == "request"
    assert flags["--host"] == "localhost:8080"
    assert flags["--key-name"] == "keystead"
    assert flags["--organization"] == CREDENTIALS.organization_id
    assert json.loads(flags["--body"]) == {"organizationId": CREDENTIALS.organization_id}
