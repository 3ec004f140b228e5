"""A full disk: clear refusals, nothing partly written, and normal service after there is room again."""

from __future__ import annotations

import json
import os
import resource
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import MakeDatabase
from tests.support.callers import Caller, answered, refusal
from tests.support.databases import SqliteDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.load import integrity
from tests.support.organization_fixtures import interface_params
from tests.support.servers import Installation, Server, bootstrap_installation

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")
PATH = "/public/v1/submit/create_smart_contract_interface"
LARGE = json.dumps([{"type": "function", "name": f"f{secrets.token_hex(120)}"} for _ in range(1_100)])
"""At random, so that it takes as much room in the database."""


@pytest.fixture
def installation(make_sqlite: MakeDatabase) -> Iterator[Installation]:
    """PostgreSQL has a disk of its own, and its errors are those of a database that goes away."""
    installation = bootstrap_installation(make_sqlite())
    yield installation
    installation.database.close()


def large_body(caller: Caller) -> bytes:
    return caller.submit_body("create_smart_contract_interface", interface_params(smartContractInterface=LARGE))


def test_full_disk(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation)
    caller, database = server.caller, installation.database
    assert isinstance(database, SqliteDatabase)
    answered(caller.post(PATH, large_body(caller)))
    log_of_the_database = Path(f"{database.path}-wal")
    server.limit_files(log_of_the_database.stat().st_size + 100_000)
    before = database.counts()
    bodies = [large_body(caller) for _ in range(3)]
    for body in bodies:
        status, message = refusal(caller.post(PATH, body))
        assert (status, "sending the same request again is safe" in message) == (503, True), message
    for _ in range(3):
        assert caller.asked("whoami")["userId"] == caller.user_id
        status, message = refusal(server.http.get("/readyz"))
        assert (status, message.startswith("not ready: the database did not do this")) == (503, True), message
    assert database.counts() == before
    assert "works again" not in server.log.read_text(), "it only reads"
    server.limit_files(-1)
    deadline = time.monotonic() + PATIENCE_S
    while server.http.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert server.log.read_text().count("the database works again") == 1
    for body in bodies:
        assert answered(caller.post(PATH, body))["activity"]["status"] == "ACTIVITY_STATUS_COMPLETED"
    assert database.counts()["activity"] == before["activity"] + 3
    assert integrity(database) == [("ok",)]
    assert len(caller.asked("list_smart_contract_interfaces")["smartContractInterfaces"]) == 4
    assert server.stop() == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_log_that_cannot_be_written(installation: Installation, start: Callable[..., Server]) -> None:
    """Requests are answered all the same, on a connection that stays open."""
    server = start(installation)
    assert server.stop() == 0
    server.start(log=Path("/dev/full"))
    caller = server.caller
    for number in range(300):
        assert caller.asked("whoami")["userId"] == caller.user_id
        if number % 100 == 0:
            caller.submitted("create_user_tag", {"userTagName": str(number), "userIds": []})
