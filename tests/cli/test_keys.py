"""`keystead keys`: what clients are told of the key that signs bundles."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.cli.terminal import Terminal
from tests.servers import Installation, Server


def test_bundle_signer_is_what_the_server_tells(
    sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation: Installation = sqlite_server.installation
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", installation.master_key.secret_text())
    printed = terminal.run("keys", "bundle-signer", "--database-url", installation.database.url)
    assert (printed.code, printed.err) == (0, "")
    told = json.loads(printed.out)
    assert told == httpx.get(f"{sqlite_server.base_url}/bundle-signer").json()
    signing, composite = bytes.fromhex(told["signingPublicKey"]), bytes.fromhex(told["compositePublicKey"])
    assert (len(signing), len(composite), signing[0], composite[0]) == (65, 130, 4, 4)
    assert composite.endswith(signing)
    assert told["compositePublicKey"] == told["compositePublicKey"].lower()


def test_without_a_database(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYSTEAD_MASTER_KEY", "11" * 32)
    printed = terminal.run("keys", "bundle-signer", "--database-url", "sqlite:////nowhere/at/all.db")
    assert printed.code == 1
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


def test_the_page_is_for_reading(sqlite_server: Server) -> None:
    assert sqlite_server.http.post("/bundle-signer").status_code == 405
    assert sqlite_server.http.head("/bundle-signer").status_code == 200
