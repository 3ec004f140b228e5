"""`keystead keys`: what clients are told of the key that signs bundles."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx
import pytest

from keystead.cli.development.folder import DevelopmentFolder
from keystead.keys import master_key
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.commands import run_keystead
from tests.support.hanging import PATIENCE_S
from tests.support.servers import Installation, Server, bootstrap_installation
from tests.support.terminal import Terminal

KEY = generate_api_key(seed=b"a key for the banner")


def test_bundle_signer_is_what_the_server_tells(
    sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation: Installation = sqlite_server.installation
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", installation.master_key.secret_text())
    printed = terminal.run("keys", "bundle-signer", "--database-url", installation.database.url)
    assert (printed.code, printed.err) == (0, "")
    told = json.loads(printed.out)
    assert told == httpx.get(f"{sqlite_server.base_url}/bundle-signer", timeout=PATIENCE_S).json()
    signing, composite = bytes.fromhex(told["signingPublicKey"]), bytes.fromhex(told["compositePublicKey"])
    assert (len(signing), len(composite), signing[0], composite[0]) == (65, 130, 4, 4)
    assert composite.endswith(signing)
    assert told["compositePublicKey"] == told["compositePublicKey"].lower()


def test_every_key_is_told_with_its_use(
    sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation: Installation = sqlite_server.installation
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", installation.master_key.secret_text())
    printed = terminal.run("keys", "list", "--database-url", installation.database.url)
    assert (printed.code, printed.err) == (0, "")
    answer = httpx.get(f"{sqlite_server.base_url}/installation-keys", timeout=PATIENCE_S)
    assert json.loads(printed.out) == answer.json()
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert {key["name"] for key in answer.json()["keys"]} >= {"bundle_key", "session_key", "verification_key"}


def test_bundle_signer_of_a_development_folder(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needs no argument where `keystead dev` keeps its data."""
    monkeypatch.chdir(tmp_path)
    with DevelopmentFolder(Path(".keystead")) as folder:
        folder.prepare("a seed")
    printed = terminal.run("keys", "bundle-signer")
    assert (printed.code, printed.err) == (0, "")
    assert json.loads(printed.out) == json.loads(terminal.run("keys", "bundle-signer", "--data", ".keystead").out)
    assert (tmp_path / ".keystead" / ".gitignore").read_text() == "*\n"


def test_without_a_database(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", "11" * 32)
    printed = terminal.run("keys", "bundle-signer", "--database-url", "sqlite:////nowhere/at/all.db")
    assert printed.code == 1
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


@pytest.mark.one_engine
def test_rotation_reads_the_variable_of_the_old_key(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    """As `init`, `serve` and `check` do. It still names the key of the servers, which may be the new one by now."""
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    installation = bootstrap_installation(make_sqlite())
    master_key.create(old, installation.master_key)
    key_id = master_key.create(new).key_id
    command = ("keys", "rotate-master", "--new-master-key-file", new)
    for named, code, says in (
        (new, 1, f"both master keys are the same, {key_id}"),
        (old, 0, f"under master key {key_id}"),
    ):
        environment = {"KEYSTEAD_DATABASE_URL": installation.database.url, "KEYSTEAD_MASTER_KEY_FILE": str(named)}
        done = run_keystead(*command, environment={**os.environ, **environment})
        assert done.returncode == code, done.stderr
        assert says in done.stdout + done.stderr


def test_the_page_is_for_reading(sqlite_server: Server) -> None:
    assert sqlite_server.http.post("/bundle-signer").status_code == 405
    assert sqlite_server.http.head("/bundle-signer").status_code == 200
