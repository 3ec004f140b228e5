"""A database that goes away and returns: 503 meanwhile, nothing half written, and service resumes by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from keystead.storage.schema import migrate
from tests.conftest import MakeDatabase
from tests.support.callers import Caller, answered, refusal
from tests.support.databases import PostgresDatabase, SqliteDatabase
from tests.support.load import NO_TAG_LIMIT, PATH, Load, check_record, integrity, tag_body
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.servers import Installation, Server, bootstrap_installation


def ready_again(server: Server) -> None:
    while not server.is_ready():
        time.sleep(0.02)


def check_unavailable(server: Server) -> None:
    """What callers are told while the database does not answer."""
    caller = server.caller
    responses: list[httpx.Response] = [
        caller.ask("whoami"),
        caller.post(PATH, tag_body(caller)),
        caller.http.get("/readyz"),
    ]
    for response in responses:
        assert (refusal(response)[0], response.json()["code"]) == (503, 14)
    assert caller.http.get("/healthz").status_code == 200


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """One that no other test depends on."""
    with running_postgres() as server:
        yield server


def test_postgres_crashes_and_returns(own_postgres: PostgresServer, start: Callable[..., Server]) -> None:
    url = own_postgres.create_database()
    migrate(url)
    database = PostgresDatabase(url)
    installation = bootstrap_installation(database)
    server = start(installation, **NO_TAG_LIMIT)
    load = Load([server.caller])
    for end in (own_postgres.kill, own_postgres.stop):
        database.close()
        with load:
            load.wait_for(50)
            end()
            load.wait_for_refusals(10)
        check_unavailable(server)
        own_postgres.start()
        ready_again(server)
        assert load.unanswered == []
        assert {response.status_code for _, response in load.refused} == {503}
        load.send_refused_again(server.caller)
        assert load.refused == []
        check_record(database, installation.organization_id, load.acknowledged)
    database.close()
    events = [
        line["event"].partition(":")[0] for line in server.log_lines() if line["event"].startswith("the database ")
    ]
    assert events[:2] == ["the database failed a request", "the database works again"]
    assert (len(events) >= 4, events[-1]) == (True, "the database works again")
    assert "password" not in server.log.read_text()
    assert url.split(":")[2].split("@")[0] not in server.log.read_text()


@pytest.fixture
def sqlite_installation(make_sqlite: MakeDatabase) -> Iterator[Installation]:
    installation = bootstrap_installation(make_sqlite())
    yield installation
    installation.database.close()


def test_sqlite_file_is_taken_away_and_put_back(
    sqlite_installation: Installation, start: Callable[..., Server], tmp_path: Path
) -> None:
    database = sqlite_installation.database
    assert isinstance(database, SqliteDatabase)
    server = start(sqlite_installation)
    caller = server.caller
    kept = caller.submitted("create_user_tag", {"userTagName": "kept", "userIds": []})
    database.close()
    files = list(database.path.parent.glob(f"{database.path.name}*"))
    for path in files:
        path.rename(tmp_path / path.name)
    body = tag_body(caller)
    assert refusal(caller.post(PATH, body))[0] == 503
    check_unavailable(server)
    assert list(database.path.parent.glob(f"{database.path.name}*")) == []
    for path in files:
        (tmp_path / path.name).rename(path)
    ready_again(server)
    assert answered(caller.post(PATH, body))["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert caller.asked("get_activity", activityId=kept["id"])["activity"] == kept
    assert integrity(database) == [("ok",)]


def test_sqlite_file_that_another_process_keeps_locked(
    sqlite_installation: Installation, start: Callable[..., Server]
) -> None:
    """Reads go on; a write waits, then says that it can be sent again; later it can."""
    database = sqlite_installation.database
    caller: Caller = start(sqlite_installation).caller
    body = tag_body(caller)
    database.rows("BEGIN IMMEDIATE")
    assert refusal(caller.post(PATH, body))[0] == 503
    assert caller.asked("whoami")["userId"] == caller.user_id
    database.rows("ROLLBACK")
    assert answered(caller.post(PATH, body))["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
