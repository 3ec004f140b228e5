"""A primary with a synchronous standby: whatever happens to the primary, what was acknowledged is on the standby.

Here: the loss of the primary, and of the standby. Not here: one server that goes away and returns (`test_outages`),
a network that breaks (`test_networks`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from keystead.storage.schema import migrate
from tests.support.callers import answered, refusal
from tests.support.databases import PostgresDatabase
from tests.support.load import NO_TAG_LIMIT, PATH, Load, check_record, tag_body
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.servers import Installation, Server, bootstrap_installation

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")

SETTINGS = {**NO_TAG_LIMIT, "database_timeout_s": 2}


@dataclass
class Cluster:
    """`url` names both hosts, the first one first."""

    first: PostgresServer
    second: PostgresServer
    url: str

    @property
    def database_name(self) -> str:
        return self.url.rpartition("/")[2]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_postgres() as first:
        url = first.create_database()
        migrate(url)
        second = PostgresServer.standby_of(first, 1)
        second.start()
        try:
            yield Cluster(first, second, url.replace(f":{first.port}/", f":{first.port},127.0.0.1:{second.port}/"))
        finally:
            first.thaw_if_running()
            second.thaw_if_running()
            second.kill()


@pytest.fixture
def installation(cluster: Cluster) -> Iterator[Installation]:
    made = bootstrap_installation(PostgresDatabase(cluster.url))
    yield made
    made.database.close()


def send_until_answered(server: Server, bodies: list[bytes]) -> list[tuple[bytes, str]]:
    """Send each body again, as a client does after 503; each with the id of its activity."""
    done: list[tuple[bytes, str]] = []
    for body in bodies:
        while (response := server.caller.post(PATH, body)).status_code == 503:
            assert response.headers["retry-after"] == "1"
            time.sleep(0.05)
        done.append((body, answered(response)["activity"]["id"]))
    return done


@pytest.mark.parametrize("lost", ["killed", "frozen"])
def test_primary_is_lost_and_the_standby_promoted(
    lost: str, cluster: Cluster, installation: Installation, start: Callable[..., Server]
) -> None:
    """Every acknowledged activity is there; every other one is there once or not at all, and once after it was sent
    again. Service returns by itself, while the lost host is still the first one of the URL."""
    server = start(installation, **SETTINGS)
    load = Load([server.caller])
    installation.database.close()
    with load:
        load.wait_for(100)
        {"killed": cluster.first.kill, "frozen": cluster.first.freeze}[lost]()
        load.wait_for_refusals(8)
        cluster.second.promote()
        load.wait_for(100)
    assert {response.status_code for _, response in load.refused} == {503}
    again = send_until_answered(server, [body for body, _ in load.refused] + load.unanswered)
    standby = PostgresDatabase(cluster.second.url(cluster.database_name))
    check_record(standby, installation.organization_id, load.acknowledged + again)
    standby.close()
    events = [
        line["event"].partition(":")[0] for line in server.log_lines() if line["event"].startswith("the database ")
    ]
    assert (events[0], events[-1]) == ("the database failed a request", "the database works again")


def test_commits_that_no_standby_has_are_not_acknowledged(
    cluster: Cluster, installation: Installation, start: Callable[..., Server]
) -> None:
    """While the standby is frozen, a commit waits for it: its caller gets 503, also for the same bytes again. When
    the standby returns, they are answered. If the primary is lost instead, the standby does them, once."""
    server = start(installation, **SETTINGS)
    caller = server.caller
    done: list[tuple[bytes, str]] = []
    for end in (None, cluster.first.kill):
        cluster.second.freeze()
        body = tag_body(caller)
        responses: list[httpx.Response] = [caller.post(PATH, body) for _ in range(2)]
        assert [refusal(response)[0] for response in responses] == [503, 503]
        assert caller.asked("whoami")["userId"] == caller.user_id  # reads go on
        if end is not None:
            end()
        cluster.second.thaw()
        if end is not None:
            cluster.second.promote()
        done += send_until_answered(server, [body])
    assert send_until_answered(server, [body for body, _ in done]) == done
    installation.database.close()
    standby = PostgresDatabase(cluster.second.url(cluster.database_name))
    check_record(standby, installation.organization_id, done)
    standby.close()
