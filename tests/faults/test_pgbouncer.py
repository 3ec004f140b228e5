"""Two servers behind PgBouncer in transaction mode, which gives each of their transactions any session."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keystead.keys import master_key
from keystead.storage.schema import migrate, pending_migrations
from tests.conftest import MakeDatabase
from tests.support.callers import Caller
from tests.support.commands import run_keystead
from tests.support.databases import Database, PostgresDatabase
from tests.support.load import NO_TAG_LIMIT, Load, check_record
from tests.support.pgbouncer import PgBouncer, needs_pgbouncer, running_pgbouncer
from tests.support.postgres import PostgresServer
from tests.support.servers import Server, bootstrap_installation

pytestmark = needs_pgbouncer

SESSIONS = 8
"""Fewer than the connections of two servers, so that they share sessions."""

StartServer = Callable[..., Server]


@pytest.fixture
def direct(make_postgres: MakeDatabase) -> Iterator[Database]:
    database = make_postgres()
    yield database
    database.close()


@pytest.fixture
def pooler(direct: Database) -> Iterator[PgBouncer]:
    with running_pgbouncer(direct.url, sessions=SESSIONS) as pooler:
        yield pooler


def test_a_database_is_migrated_through_it(postgres: PostgresServer) -> None:
    with running_pgbouncer(postgres.create_database(), sessions=1) as pooler:
        assert migrate(pooler.url)
        assert pending_migrations(pooler.url) == ()


def signed(caller: Caller, address: str, number: int) -> str:
    parameters = {
        "signWith": address,
        "payload": f"{number:064x}",
        "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }
    return str(caller.result("sign_raw_payload", parameters)["r"])


def test_two_servers(direct: Database, pooler: PgBouncer, start: StartServer) -> None:
    """Changes of one organization on both, signatures and lists; the pooler ends in the middle, and returns."""
    installation = bootstrap_installation(PostgresDatabase(pooler.url))
    servers = [start(installation, **NO_TAG_LIMIT) for _ in range(2)]
    load = Load([server.caller for server in servers], threads=12)
    with load:
        load.wait_for(100)
        pooler.kill()
        load.wait_for_refusals(20)
        pooler.start()
        load.wait_for(100)
    assert load.unanswered == []
    assert {response.status_code for _, response in load.refused} == {503}
    load.send_refused_again(servers[0].caller)
    assert load.refused == []
    check_record(direct, installation.organization_id, load.acknowledged)
    of_servers = "application_name = 'keystead' AND datname = current_database()"
    assert 0 < len(direct.rows(f"SELECT 1 FROM pg_stat_activity WHERE {of_servers}")) <= SESSIONS
    account = {
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": "m/44'/60'/0'/0/0",
        "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
    }
    made = servers[0].caller.result("create_wallet", {"walletName": "one", "accounts": [account]})
    callers = [server.caller for server in servers] * 20
    with ThreadPoolExecutor(8) as threads:
        signatures = threads.map(signed, callers, itertools.repeat(made["addresses"][0]), range(1, 41))
        assert len(set(signatures)) == len(callers)
        lists = list(threads.map(lambda caller: caller.asked("list_user_tags"), callers))
    assert all(listed == lists[0] for listed in lists)


def test_commands(direct: Database, pooler: PgBouncer, start: StartServer, tmp_path: Path) -> None:
    """What an operator runs goes through it while a server serves."""
    key, database = tmp_path / "master.key", ("--database-url", pooler.url)
    installation = bootstrap_installation(PostgresDatabase(pooler.url))
    master_key.create(key, installation.master_key)
    start(installation).caller.submitted("create_wallet", {"walletName": "one", "accounts": []})
    assert "No problem found." in keystead("check", *database, "--master-key-file", key)
    assert "PostgreSQL" in keystead("status", *database)
    assert "no migration" in keystead("migrate", "--check", *database)
    keystead("backup", "--made", *database)
    assert "last backup  none" not in keystead("status", *database)


def test_an_organization_is_made_and_its_master_key_rotated(
    direct: Database, pooler: PgBouncer, tmp_path: Path
) -> None:
    key, later = tmp_path / "master.key", tmp_path / "later.key"
    database = ("--database-url", pooler.url)
    made = ("--organization-name", "Example", "--credentials", tmp_path / "root.json", "--master-key-file", key)
    assert "Example" in keystead("init", *made, *database)
    master_key.create(later)
    rotate = ("keys", "rotate-master", "--master-key-file", key, "--new-master-key-file", later)
    assert "1 of 1 data keys" in keystead(*rotate, *database)
    assert "No problem found." in keystead("check", *database, "--master-key-file", later)


def keystead(*words: str | Path) -> str:
    """What a command prints that succeeds."""
    done = run_keystead(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_sessions_stay_as_they_were(direct: Database, pooler: PgBouncer, start: StartServer) -> None:
    """Nothing is set for a session and no statement is prepared in it: the next transaction may be of others."""
    installation = replace(bootstrap_installation(direct), database=PostgresDatabase(pooler.url))
    server = start(installation, **NO_TAG_LIMIT)
    with Load([server.caller]) as load:
        load.wait_for(50)
    names = ("statement_timeout", "idle_in_transaction_session_timeout", "jit")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    unchanged = direct.rows(f"SELECT {asked}")[0]
    prepared = "(SELECT count(*) FROM pg_prepared_statements WHERE name <> '')"
    found = asyncio.run(of_every_session(pooler.url, f"SELECT {asked}, {prepared}"))
    assert set(found) == {(*unchanged, 0)}


async def of_every_session(url: str, sql: str) -> list[tuple[Any, ...]]:
    """The answers of as many sessions as there can be: their transactions overlap."""
    connections = [await asyncpg.connect(url, statement_cache_size=0) for _ in range(SESSIONS)]
    found = []
    for connection in connections:
        await connection.execute("BEGIN")
        found.append(tuple(await connection.fetchrow(sql)))
    for connection in connections:
        await connection.close()
    return found
