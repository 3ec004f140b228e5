"""A session that was ended on one server is ended on the other as soon as the first has answered.

Two server processes over one database, by a clock that the test moves. Both have answered the session before, so
both have its user's record in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest

from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, refusal, unique
from tests.support.moved_clock import MovedClock
from tests.support.servers import Server, bootstrap_installation, running
from tests.support.sessions import logged_in

ROUNDS = 3
EXPIRING_KEYS_MAX = 10


@pytest.fixture(scope="module")
def clock(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> MovedClock:
    return MovedClock(tmp_path_factory.mktemp("clock") / "clock")


@pytest.fixture(scope="module")
def two(
    make_database: MakeDatabase, clock: MovedClock, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    installation, logs = bootstrap_installation(make_database()), tmp_path_factory.mktemp("two")
    with ExitStack() as stack:
        yield [stack.enter_context(running(installation, logs / name, None, clock)) for name in ("a", "b")]
    installation.database.close()


def _login_that_invalidates(user: Caller, root: Caller, clock: MovedClock) -> None:
    logged_in(user, invalidateExisting=True)


def _ten_more_logins(user: Caller, root: Caller, clock: MovedClock) -> None:
    for _ in range(EXPIRING_KEYS_MAX):
        logged_in(user)


def _expiry(user: Caller, root: Caller, clock: MovedClock) -> None:
    clock.advance(900)


def _deletion_of_the_key(user: Caller, root: Caller, clock: MovedClock) -> None:
    keys = root.asked("get_api_keys", userId=user.user_id)["apiKeys"]
    ids = [key["apiKeyId"] for key in keys if key["credential"]["type"] == "CREDENTIAL_TYPE_LOGIN"]
    root.submitted("delete_api_keys", {"userId": user.user_id, "apiKeyIds": ids})


def _deletion_of_the_user(user: Caller, root: Caller, clock: MovedClock) -> None:
    root.submitted("delete_users", {"userIds": [user.user_id]})


def _deletion_of_the_organization(user: Caller, root: Caller, clock: MovedClock) -> None:
    root.submitted("delete_sub_organization", {"deleteWithoutExport": True})


End = Callable[[Caller, Caller, MovedClock], None]
GONE = "could not find public key in organization or its parent organization"
EXPIRED = "Unauthenticated desc = expired api key publicKey"
ENDS: list[tuple[End, int, str]] = [
    (_login_that_invalidates, 401, GONE),
    (_ten_more_logins, 401, GONE),
    (_expiry, 401, EXPIRED),
    (_deletion_of_the_key, 401, GONE),
    (_deletion_of_the_user, 401, GONE),
    (_deletion_of_the_organization, 404, GONE),
]


@pytest.mark.parametrize(("end", "status", "text"), ENDS, ids=[end.__name__.lstrip("_") for end, *_ in ENDS])
def test_a_session_ends_at_both(end: End, status: int, text: str, two: list[Server], clock: MovedClock) -> None:
    """By turns at either server."""
    for number in range(ROUNDS):
        here, there = (two[(number + offset) % 2] for offset in range(2))
        root = new_sub_organization(here.caller)
        user = root.new_user()
        session = logged_in(user)
        elsewhere = replace(session, http=there.http)
        for caller in (session, elsewhere):
            assert caller.ask("whoami").status_code == 200
        end(user, root, clock)
        for caller in (elsewhere, session):
            for answer in _tried(caller):
                told = refusal(answer)
                assert (told[0], text in told[1]) == (status, True), told


def _tried(session: Caller) -> list[httpx.Response]:
    """A query, a submission and a refresh of the session."""
    tag = {"userTagName": unique("tag"), "userIds": []}
    login = {"publicKey": generate_api_key().public_key}
    return [session.ask("whoami"), session.submit("create_user_tag", tag), session.submit("stamp_login", login)]


def _ten_more_read_only_sessions(user: Caller, root: Caller, clock: MovedClock) -> None:
    for _ in range(EXPIRING_KEYS_MAX):
        user.submitted("create_read_only_session", {})


def _hour(user: Caller, root: Caller, clock: MovedClock) -> None:
    clock.advance(3_600)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (_ten_more_read_only_sessions, 401),
        (_hour, 401),
        (_deletion_of_the_user, 401),
        (_deletion_of_the_organization, 404),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).lstrip("_"),
)
def test_a_read_only_session_ends_at_both(end: End, status: int, two: list[Server], clock: MovedClock) -> None:
    here, there = two
    root = new_sub_organization(here.caller)
    user = root.new_user()
    headers = {"X-Session": user.result("create_read_only_session", {})["session"]}

    def asked(server: Server) -> httpx.Response:
        return server.http.post("/public/v1/query/whoami", content=user.query_body(), headers=headers)

    assert [asked(server).status_code for server in two] == [200, 200]
    end(user, root, clock)
    assert [asked(server).status_code for server in (there, here)] == [status, status]
