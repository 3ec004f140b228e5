"""`check_installation`: silent about everything that servers write, and a line for each kind of damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keystead.keys.sealing import MasterKey
from keystead.operations import CATALOGUE
from keystead.server.installation.checking import Checked, check_installation
from keystead.storage.store import DatabaseStore
from tests.conftest import MakeDatabase, StartServer
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM
from tests.support.databases import Database, SqliteDatabase
from tests.support.example_codes import code_params
from tests.support.issuers import taking_tokens
from tests.support.operation_examples import SUBMISSIONS, submitter
from tests.support.organization_fixtures import create_records
from tests.support.servers import Installation, bootstrap_installation, running


def checked(database: Database, master: MasterKey, *, finish: bool = False) -> tuple[list[str], Checked]:
    """The problems, and what was checked."""
    problems: list[str] = []

    async def check(store: DatabaseStore) -> Checked:
        return await check_installation(
            store, master, problem=problems.append, progress=lambda _: None, finish=finish
        )

    return problems, database.with_store(check)


@pytest.fixture
def development(make_database: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_database(), mode="dev")
    yield installation
    installation.database.close()


def test_what_servers_write_has_no_problem(development: Installation, start: StartServer, tmp_path: Path) -> None:
    """After an activity of every type, while the server runs. Its database is not shared: other tests write rows
    that no server would."""
    server = start(development, **taking_tokens(tmp_path))
    caller, record_ids = server.caller, create_records(server.caller)
    for activity_type, example in SUBMISSIONS.items():
        operation = CATALOGUE.of_type(activity_type)
        assert operation is not None
        by = submitter(activity_type, caller)
        assert by.submit(operation.name, example(record_ids), SDK_FORM, type=activity_type).status_code == 200
    database = server.installation.database
    problems, found = checked(database, server.installation.master_key)
    assert problems == []
    counts = database.counts()
    assert found.organizations == counts["organization"]
    assert found.sealed_values > counts["sealed_secret"] > 5


@pytest.fixture(scope="module")
def whole(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation with a record of each kind, whose server has ended."""
    installation = bootstrap_installation(make_sqlite())
    with running(installation, tmp_path_factory.mktemp("server") / "log") as server:
        create_records(server.caller)
        server.caller.submitted("init_otp", code_params("somebody@example.com"))
        new_sub_organization(server.caller).submitted("delete_sub_organization", {"deleteWithoutExport": True})
    yield installation
    installation.database.close()


DAMAGES = {
    "UPDATE sealed_secret SET ciphertext = zeroblob(60)": "it was changed, or belongs to another record",
    "UPDATE sealed_secret SET record_id = 'other' WHERE purpose = 'wallet-mnemonic'": "is missing",
    "DELETE FROM sealed_secret": "(wallet-mnemonic) is missing",
    "DELETE FROM wallet_account": "look-up of wallet_account_address",
    "UPDATE wallet_account SET wallet_id = 'other', body = replace(CAST(body AS TEXT), wallet_id, 'other')": (
        "belongs to no wallet on record"
    ),
    "DELETE FROM lookup WHERE kind = 'public_key'": "the look-up of public_key of",
    "UPDATE lookup SET value = 'other' WHERE kind = 'organization_name'": "which is not on record",
    "UPDATE lookup SET parent_id = 'other'": "stored under another parent",
    "UPDATE record SET version = version + 1000": "its newest record has version",
    "UPDATE organization SET parent_id = 'other'": "its row names the parent other",
    "UPDATE one_time_code SET body = replace(CAST(body AS TEXT), id, '00000000-0000-7000-8000-000000000000')": (
        "is damaged: its columns and its body differ"
    ),
    "UPDATE outgoing_message SET body = x'7b'": "is damaged: its columns and its body differ",
    "UPDATE wallet_account SET address = 'other'": "is damaged: its columns and its body differ",
    "UPDATE record SET body = x'7b' WHERE kind = 'user'": "its records cannot be read",
    "UPDATE record SET kind = 'later' WHERE kind = 'user'": "a newer version of Keystead wrote a record",
    "DELETE FROM record": "its records cannot be read: organization",
    "DELETE FROM record WHERE kind = 'data_key'": "has no profile or no data key",
    "DELETE FROM organization": "is not on record, and has rows in ",
    "DELETE FROM activity": "lacks the activity of its activity_id",
    "DELETE FROM vote": "lacks the vote of its submitter_id",
    "DELETE FROM instance WHERE name = 'proof_key'": "the installation has no proof_key",
    "UPDATE instance SET value = (SELECT value FROM instance WHERE name = 'proof_key') WHERE name = 'bundle_key'": (
        "sealed bundle-key: it was changed"
    ),
}


def copied(whole: Installation, copy: Path, statement: str) -> SqliteDatabase:
    """A copy of its database, changed by a statement."""
    assert isinstance(whole.database, SqliteDatabase)
    with (
        closing(sqlite3.connect(whole.database.path)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        assert target.execute(statement).rowcount
        target.commit()
    return SqliteDatabase(copy)


@pytest.mark.parametrize("statement", DAMAGES)
def test_damage_is_reported(statement: str, whole: Installation, tmp_path: Path) -> None:
    problems, found = checked(copied(whole, tmp_path / "copy.db", statement), whole.master_key)
    assert any(DAMAGES[statement] in problem for problem in problems), problems
    assert found.problems == len(problems)


def test_another_master_key_opens_nothing(whole: Installation) -> None:
    problems, found = checked(whole.database, MasterKey.generate())
    assert found.sealed_values == 0
    assert any("data-key" in problem for problem in problems)


LEFT_BY_EARLIER_RELEASES = {
    "webhook_lease": (
        "(organization_id, endpoint_id, revision, expires_at_ms, body) SELECT organization_id, 'e', 1, 9, x'7b7d'"
    ),
    "sealed_secret": (
        "(organization_id, record_id, purpose, key_id, ciphertext) SELECT organization_id, 'r', 'p', 'k', x'00'"
    ),
    "lookup": (
        "(kind, value, parent_id, organization_id, holder_id, is_exclusive) "
        "SELECT 'email', 'v', 'parent', organization_id, 'h', 0"
    ),
}


@pytest.mark.parametrize("table", LEFT_BY_EARLIER_RELEASES)
def test_what_is_left_of_a_deleted_organization(table: str, whole: Installation, tmp_path: Path) -> None:
    """A server of an earlier release deletes no row of tables that it does not know. The check says so, or deletes
    them."""
    finished = copied(whole, tmp_path / "finished.db", "UPDATE schema_version SET version = version")
    assert checked(finished, whole.master_key, finish=True)[0] == []
    gone = "FROM record WHERE kind = 'profile' AND json_extract(body, '$.deleted')"
    row = (
        LEFT_BY_EARLIER_RELEASES[table]
        .replace("SELECT id", "SELECT organization_id")
        .replace(", id,", ", organization_id,")
    )
    with closing(sqlite3.connect(finished.path)) as connection:
        assert connection.execute(f"INSERT INTO {table} {row} {gone}").rowcount == 1
        connection.commit()
    (problem,), _ = checked(finished, whole.master_key)
    assert f"it is deleted, and has rows in {table}; `keystead check --finish-deletions`" in problem
    assert finished.counts()[table]
    before = finished.counts()
    assert checked(finished, whole.master_key, finish=True)[0] == []
    assert finished.counts() == before | {table: before[table] - 1}
    finished.close()
