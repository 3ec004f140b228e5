"""A network that damages what passes between a server and its PostgreSQL, and a PostgreSQL that refuses work.

What was acknowledged is there, everything else is there once or not at all, and service resumes by itself. Not
here: a database that goes away (`test_outages`), one with a standby (`test_failover`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args
from urllib.parse import urlsplit

import pytest

from tests.conftest import MakeDatabase
from tests.support.callers import answered, refusal
from tests.support.databases import PostgresDatabase
from tests.support.load import NO_TAG_LIMIT, PATH, Load, check_record, tag_body
from tests.support.servers import Installation, Server, bootstrap_installation
from tests.support.tcp_proxy import Damage, tcp_proxy_in_thread

SETTINGS = {**NO_TAG_LIMIT, "database_timeout_s": 1}
_DAMAGED_FOR_S = 1.5


@pytest.fixture
def installation(make_postgres: MakeDatabase) -> Iterator[Installation]:
    made = bootstrap_installation(make_postgres())
    yield made
    made.database.close()


@pytest.mark.parametrize("damage", get_args(Damage))
def test_damaged_connections(damage: Damage, installation: Installation, start: Callable[..., Server]) -> None:
    with tcp_proxy_in_thread(installation.database.url) as proxy:
        server = start(replace(installation, database=PostgresDatabase(proxy.url)), **SETTINGS)
        load = Load([server.caller])
        with load:
            load.wait_for(20)
            proxy.damage(damage)
            time.sleep(_DAMAGED_FOR_S)
            proxy.damage(None)
            load.wait_for(20)
        assert load.unanswered == []
        assert {response.status_code for _, response in load.refused} <= {503}
        for body in [body for body, _ in load.refused]:
            while (response := server.caller.post(PATH, body)).status_code == 503:
                time.sleep(0.05)
            load.acknowledged.append((body, answered(response)["activity"]["id"]))
    check_record(installation.database, installation.organization_id, load.acknowledged)


def test_no_connection_is_left(installation: Installation, start: Callable[..., Server]) -> None:
    """Other programs use the last connections of the server's role. Then they leave."""
    database = installation.database
    role, password = "few_connections", "of-this-test-only"
    name = urlsplit(database.url).path[1:]
    database.rows(f"CREATE ROLE {role} LOGIN PASSWORD '{password}' CONNECTION LIMIT 30")
    for statement in (
        f"ALTER DATABASE {name} OWNER TO {role}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
    ):
        database.rows(statement)
    place = urlsplit(database.url).netloc.rpartition("@")[2]
    url = database.url.replace(urlsplit(database.url).netloc, f"{role}:{password}@{place}")
    try:
        server = start(replace(installation, database=PostgresDatabase(url)), **SETTINGS)
        load = Load([server.caller])
        with load:
            load.wait_for(20)
            database.rows(f"ALTER ROLE {role} CONNECTION LIMIT 0")
            database.rows(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")
            load.wait_for_refusals(20)
            database.rows(f"ALTER ROLE {role} CONNECTION LIMIT 30")
            load.wait_for(20)
        reasons = {refusal(response)[1].partition(";")[0] for _, response in load.refused}
        assert "the database has no connection left: see its max_connections" in reasons
        assert {response.headers["retry-after"] for _, response in load.refused} == {"1"}
        load.send_refused_again(server.caller)
        assert load.refused == []
        check_record(database, installation.organization_id, load.acknowledged)
    finally:
        database.rows(f"ALTER DATABASE {name} OWNER TO postgres")
        database.rows(f"DROP OWNED BY {role}")
        database.rows(f"DROP ROLE {role}")


def test_statements_that_take_too_long(installation: Installation, start: Callable[..., Server]) -> None:
    """Another session locks a table for longer than a statement may take."""
    server = start(installation, **SETTINGS)
    caller = server.caller
    first = tag_body(caller)
    acknowledged = [(first, answered(caller.post(PATH, first))["activity"]["id"])]
    locking = PostgresDatabase(installation.database.url)
    locking.rows("BEGIN")
    locking.rows("LOCK TABLE activity IN ACCESS EXCLUSIVE MODE")
    body = tag_body(caller)
    assert [refusal(caller.post(PATH, body))[0] for _ in range(2)] == [503, 503]
    locking.close()
    while (response := caller.post(PATH, body)).status_code == 503:
        time.sleep(0.05)
    acknowledged.append((body, answered(response)["activity"]["id"]))
    check_record(installation.database, installation.organization_id, acknowledged)
