"""The databases of earlier releases are migrated to this version, on both stores, and used as before.

A server of this version also goes on while a newer release migrates its database, if that only adds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from keystead.keys import master_key
from keystead.stamps.signing import api_key_of, generate_api_key
from keystead.storage import migrations, schema
from keystead.storage.migrations import newest
from keystead.storage.schema import migrate
from keystead.storage.statements import SQL
from tests.conftest import ENGINES, StartServer
from tests.releases.databases import Facts, listed_ids, postgres_database, releases, sqlite_database
from tests.support.callers import Caller
from tests.support.commands import run_keystead
from tests.support.databases import Database
from tests.support.hanging import PATIENCE_S
from tests.support.postgres import PostgresServer


class Kept(NamedTuple):
    """A release's database that a test has for itself, not yet migrated."""

    facts: Facts
    database: Database


@pytest.fixture(
    params=[(folder, engine) for folder in releases() for engine in ENGINES],
    ids=lambda one: "-".join((one[0].name, one[1])),
)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    folder, engine = request.param
    if engine == "sqlite":
        database = sqlite_database(folder, tmp_path / "kept.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        database = postgres_database(folder, server.create_database())
    yield Kept(Facts.of(folder, engine), database)
    database.close()


def test_a_release_is_migrated_and_used(kept: Kept, start: StartServer, tmp_path: Path) -> None:
    facts, database = kept
    assert migrate(database.url) is (newest() > 1)
    counts = database.counts()
    # Migration 6 adds a look-up for each verified contact, and nothing else.
    accounts = database.rows("SELECT value FROM lookup WHERE kind LIKE 'account_%' ORDER BY value")
    assert accounts == database.rows("SELECT value FROM lookup WHERE kind LIKE 'verified_%' ORDER BY value")
    counts["lookup"] -= len(accounts)
    # Migration 8 deletes the counts of codes of an earlier form.
    kept_tables = facts.rows.keys() - {"instance", "one_time_code_count"}
    assert {table: counts[table] for table in kept_tables} == {table: facts.rows[table] for table in kept_tables}
    assert counts["one_time_code_count"] == 0
    master_key.create(tmp_path / "master.key", facts.installation(database).master_key)
    assert keystead("check", database, "--master-key-file", tmp_path / "master.key")[-1] == "No problem found."
    server = start(facts.installation(database))
    root = server.caller
    assert listed_ids(root) == facts.activity_ids
    assert waiting_ids(root), "one waits for an approval"
    login = {"publicKey": (session := generate_api_key()).public_key, "expirationSeconds": "600"}
    root.submitted("stamp_login", login)
    person = root.with_key(session, facts.user_id)
    for sign_with in (facts.address, facts.private_key_id):
        assert signature_by(person, sign_with)
    assert person.asked("list_wallet_accounts", walletId=facts.wallet_id)["accounts"]
    holder = root.with_key(api_key_of(facts.holder_private_key), facts.holder_id)
    rejected = holder.submit("reject_activity", {"fingerprint": facts.waiting_fingerprint}).json()["activity"]
    assert rejected["status"] == "ACTIVITY_STATUS_REJECTED"
    child = root.with_key(api_key_of(facts.child_private_key), facts.child_user_id, facts.child_id)
    child.submitted("create_wallet", {"walletName": "Later", "accounts": []})
    assert keystead("check", database, "--master-key-file", tmp_path / "master.key")[-1] == "No problem found."


ADDITIVE = """CREATE TABLE later (organization_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (id));
ALTER TABLE activity ADD COLUMN later TEXT;
ALTER TABLE record ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
"""


def test_this_version_goes_on_after_a_migration_that_only_adds(
    kept: Kept, start: StartServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A newer release migrates the database while a server of this version runs. That server goes on, and others of
    its version still start. What reads everything refuses: it would not see what the newer release wrote."""
    facts, database = kept
    migrate(database.url)
    server = start(facts.installation(database))
    with monkeypatch.context() as newer:
        newer_release(newer, tmp_path, ADDITIVE)
        assert migrate(database.url)
    assert server.http.get("/readyz").status_code == 200
    server.caller.submitted("create_wallet", {"walletName": "Later", "accounts": []})
    assert signature_by(server.caller, facts.address)
    server.stop()
    server.start()
    assert signature_by(server.caller, facts.private_key_id)
    assert keystead("migrate", database)[-1].startswith("Nothing to do")
    master_key.create(tmp_path / "master.key", facts.installation(database).master_key)
    assert "newer than this version" in refused("check", database, "--master-key-file", tmp_path / "master.key")


def test_a_migration_that_older_servers_cannot_bear_stops_them(
    kept: Kept, start: StartServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts, database = kept
    migrate(database.url)
    server = start(facts.installation(database))
    with monkeypatch.context() as newer:
        newer_release(newer, tmp_path, f"-- oldest server: {newest() + 1:04}\n{ADDITIVE}")
        assert migrate(database.url)
    deadline = time.monotonic() + PATIENCE_S
    while (answer := server.http.get("/readyz")).status_code == 200:  # it looks once a second
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "newer than this version" in answer.text
    server.stop()
    with pytest.raises(RuntimeError, match="newer than this version"):
        server.start()
    assert "newer than this version" in refused("migrate", database)


def test_records_of_a_newer_version_are_not_passed_over(kept: Kept, start: StartServer) -> None:
    """They may say what is forbidden. Other organizations go on."""
    facts, database = kept
    migrate(database.url)
    database.rows(
        f"UPDATE record SET kind = 'later' WHERE organization_id = '{facts.child_id}' AND kind = 'profile'"
    )
    server = start(facts.installation(database))
    child = server.caller.with_key(api_key_of(facts.child_private_key), facts.child_user_id, facts.child_id)
    answer = child.ask("whoami")
    assert answer.status_code == 503, answer.text
    assert "a newer version of Keystead wrote a record of the kind 'later'" in answer.text
    assert signature_by(server.caller, facts.address)


def newer_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sql: str) -> None:
    """From now on this process has one more migration."""
    folder = shutil.copytree(SQL, tmp_path / "sql")
    for dialect in ("sqlite", "postgresql"):
        (folder / dialect / f"{newest() + 1:04}_later.sql").write_text(sql)
    known = migrations.migrations
    monkeypatch.setattr(schema, "migrations", lambda dialect: known(dialect, folder))


def waiting_ids(root: Caller) -> list[str]:
    found = root.asked("list_activities", filterByStatus=["ACTIVITY_STATUS_CONSENSUS_NEEDED"])["activities"]
    return [activity["id"] for activity in found]


def signature_by(caller: Caller, sign_with: str) -> str:
    payload = {"payload": "ab" * 32, "encoding": "PAYLOAD_ENCODING_HEXADECIMAL"}
    signed = caller.result(
        "sign_raw_payload", {"signWith": sign_with, **payload, "hashFunction": "HASH_FUNCTION_NO_OP"}
    )
    return str(signed["r"] + signed["s"])


def keystead(command: str, database: Database, *arguments: str | Path) -> list[str]:
    done = _run(command, database, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def refused(command: str, database: Database, *arguments: str | Path) -> str:
    done = _run(command, database, *arguments)
    assert done.returncode == 1, done.stdout
    return done.stderr


def _run(command: str, database: Database, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "KEYSTEAD_DATABASE_URL": database.url}
    return run_keystead(command, *arguments, environment=environment, timeout=PATIENCE_S)
