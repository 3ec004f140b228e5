"""Refused requests on record: who was refused, what, when and why; bounded, kept for a setting's days."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keystead.api.errors import InvalidRequest, Unavailable
from keystead.organizations.organization import Organization
from keystead.organizations.refused_requests import RefusedRequest
from keystead.server.http.messages import CallerAddress, HttpRequest
from keystead.server.logs import RequestLine
from keystead.server.refused_requests import RECORDED_MAX, RefusedRequests
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, answered, api_key_params, refusal, unique
from tests.support.commit_samples import an_organization
from tests.support.hanging import PATIENCE_S
from tests.support.moved_clock import MovedClock
from tests.support.servers import bootstrap_installation, running

DAYS = 3
CONSOLE = {"x-client-version": "keystead-console"}


class Refusing(NamedTuple):
    root: Caller
    clock: MovedClock


@pytest.fixture(scope="module")
def refusing(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refusing]:
    folder: Path = tmp_path_factory.mktemp("refusals")
    clock = MovedClock(folder / "clock")
    installation = bootstrap_installation(make_database())
    with running(installation, folder / "log", {"refused_requests_days": DAYS}, clock) as server:
        yield Refusing(server.caller, clock)
    installation.database.close()


def listed(caller: Caller, **options: Any) -> list[dict[str, Any]]:
    asked = caller.asked("list_refused_requests", SDK_FORM, paginationOptions={"limit": "100", **options})
    found: list[dict[str, Any]] = asked["refusedRequests"]
    return found


def recorded(caller: Caller, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The newest refusal that fits, once it is written."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for one in listed(caller):
            if wanted(one):
                return one
        time.sleep(0.05)
    raise AssertionError(listed(caller))


def test_who_what_when_and_why(refusing: Refusing) -> None:
    user = refusing.root.new_user(userName=unique("Ann"))
    response = user.submit("create_wallet", {"walletName": "x", "accounts": []})
    (detail,) = response.json()["details"]
    found = recorded(refusing.root, lambda one: one["userId"] == user.user_id)
    assert found["userName"].startswith("Ann")
    assert (found["operation"], found["status"], found["count"]) == ("create_wallet", 403, 1)
    assert found["reason"] == response.json()["message"]
    assert found["requestId"] == response.headers["x-request-id"]
    assert found["activityId"] == detail["activityId"]
    assert found["address"] == "127.0.0.1"
    assert abs(int(found["at"]["seconds"]) - refusing.clock.now_ms() // 1000) < 60
    evaluations = refusing.root.asked("get_policy_evaluations", activityId=found["activityId"])
    assert len(evaluations["policyEvaluations"]) == 1


def test_what_is_malformed_or_missing_is_listed_too(refusing: Refusing) -> None:
    user = refusing.root.new_user()
    assert user.submit("create_wallet", {"walletName": 5, "accounts": []}).status_code == 400
    assert user.ask("get_wallet", walletId=user.user_id).status_code == 404
    missing = recorded(refusing.root, lambda one: one["userId"] == user.user_id)
    assert (missing["operation"], missing["status"]) == ("get_wallet", 404)


def test_a_key_that_has_expired_is_its_users(refusing: Refusing) -> None:
    user, short = refusing.root.new_user(), generate_api_key()
    key = api_key_params(short.public_key, expirationSeconds="30")
    refusing.root.submitted("create_api_keys", {"userId": user.user_id, "apiKeys": [key]})
    refusing.clock.advance(31)
    expired = user.with_key(short, user.user_id)
    assert "expired api key" in refusal(expired.ask("list_wallets"))[1]
    found = recorded(refusing.root, lambda one: one["userId"] == user.user_id)
    assert (found["operation"], found["status"], found["code"]) == ("list_wallets", 401, "API_KEY_EXPIRED")


def test_a_stamp_of_nobody_is_not_listed(refusing: Refusing) -> None:
    stranger = refusing.root.with_key(generate_api_key(), refusing.root.user_id)
    assert stranger.ask("list_wallets").status_code == 401
    marker = refusing.root.new_user()
    assert marker.submit("create_wallet", {"walletName": "x", "accounts": []}).status_code == 403
    recorded(refusing.root, lambda one: one["userId"] == marker.user_id)
    assert all(one["userId"] for one in listed(refusing.root))


def test_queries_of_the_console_are_left_out_and_submissions_are_not(refusing: Refusing) -> None:
    user = refusing.root.new_user()
    assert user.ask("get_activity", CONSOLE, activityId=user.user_id).status_code == 404
    assert user.submit("create_wallet", {"walletName": "x", "accounts": []}, CONSOLE).status_code == 403
    recorded(refusing.root, lambda one: one["userId"] == user.user_id)
    assert [one["operation"] for one in listed(refusing.root) if one["userId"] == user.user_id] == ["create_wallet"]


def test_pages_and_other_organizations(refusing: Refusing) -> None:
    tenant = new_sub_organization(refusing.root)
    stranger = tenant.new_user()
    for name in ("one", "two", "three"):
        assert stranger.submit("create_wallet", {"walletName": name, "accounts": []}).status_code == 403
    recorded(tenant, lambda _: len(listed(tenant)) == 3)
    assert all(one["userId"] != stranger.user_id for one in listed(refusing.root))
    whole = [one["id"] for one in listed(tenant)]
    (first,) = [one["id"] for one in listed(tenant, limit="1")]
    rest = [one["id"] for one in listed(tenant, after=first)]
    assert [first, *rest] == whole == sorted(whole, reverse=True)


def test_they_are_kept_for_the_days_of_the_setting(refusing: Refusing) -> None:
    user = refusing.root.new_user()
    assert user.submit("create_wallet", {"walletName": "x", "accounts": []}).status_code == 403
    recorded(refusing.root, lambda one: one["userId"] == user.user_id)
    refusing.clock.advance(DAYS * 24 * 3_600 + 60)
    assert listed(refusing.root) == []
    answered(refusing.root.ask("whoami"))


# What a process records


NOW_MS = 1_800_000_000_000


class Written:
    """A store that answers, or does not, and keeps what is written."""

    def __init__(self) -> None:
        self.rows: list[RefusedRequest] = []
        self.answers = True

    async def organization(self, organization_id: str) -> Organization | None:
        return an_organization() if organization_id == "organization" else None

    @property
    def refused_requests(self) -> Written:
        return self

    async def write(self, organization_id: str, refused: Sequence[RefusedRequest]) -> None:
        if not self.answers:
            raise Unavailable("the database does not answer")
        self.rows += refused


class Clock:
    ms = NOW_MS

    def now_ms(self) -> int:
        return self.ms


def noted(refusals: RefusedRequests, organization_id: str = "organization", status: int = 400) -> None:
    line = RequestLine(
        time="",
        request_id="r",
        client="192.0.2.1",
        method="POST",
        path="/public/v1/submit/create_wallet",
        organization_id=organization_id,
        user_id="somebody",
        status=status,
    )
    request = HttpRequest(method="POST", path=line.path, client=CallerAddress("192.0.2.1"), headers=[], body=b"")
    refusals.note(InvalidRequest("no " * 1_000), None, request, line)


def test_many_in_a_minute_are_counted_together() -> None:
    store, clock = Written(), Clock()
    refusals = RefusedRequests(store, clock, days=1)
    for _ in range(RECORDED_MAX + 40):
        noted(refusals)
    asyncio.run(refusals.write())
    assert len(store.rows) == RECORDED_MAX
    assert {len(row.reason) for row in store.rows} == {500}
    clock.ms += 60_000
    asyncio.run(refusals.write())
    others = store.rows[-1]
    assert (others.count, others.user_id) == (40, "")
    assert sum(row.count for row in store.rows) == RECORDED_MAX + 40
    noted(refusals)
    asyncio.run(refusals.write())
    assert store.rows[-1].count == 1


def test_what_could_not_be_written_is_written_later() -> None:
    store = Written()
    refusals = RefusedRequests(store, Clock(), days=1)
    noted(refusals)
    store.answers = False
    with pytest.raises(Unavailable):
        asyncio.run(refusals.write())
    store.answers = True
    noted(refusals)
    asyncio.run(refusals.write())
    assert len(store.rows) == 2


@pytest.mark.parametrize(
    ("days", "organization_id", "status"),
    [(0, "organization", 400), (1, "organization", 503), (1, "", 400), (1, "deleted", 400)],
)
def test_not_recorded(days: int, organization_id: str, status: int) -> None:
    store = Written()
    refusals = RefusedRequests(store, Clock(), days)
    noted(refusals, organization_id, status)
    asyncio.run(refusals.write())
    assert store.rows == []
