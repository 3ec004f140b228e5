"""count_activities: how many activities and refusals there are in each period, of any number."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from keystead.operations.bounds import COUNTED_PERIODS_MAX
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, now_ms, refusal, unique
from tests.support.hanging import PATIENCE_S

HOUR_MS = 3_600_000


def counts(caller: Caller, *bounds_ms: int, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.asked("count_activities", boundsMs=list(bounds_ms), **members)["periods"]
    return found


def of(period: dict[str, Any]) -> Counter[tuple[str, str]]:
    named = ((one["activityType"], one["status"], one["count"]) for one in period["activities"])
    return Counter(
        {(type_.removeprefix("ACTIVITY_TYPE_"), status.rpartition("STATUS_")[2]): n for type_, status, n in named}
    )


def test_by_type_and_status(caller: Caller) -> None:
    tenant = new_sub_organization(caller)
    before = now_ms()
    for _ in range(3):
        tenant.result("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    user = tenant.new_user()
    assert user.submit("create_wallet", {"walletName": "x", "accounts": []}).status_code == 403
    deadline = time.monotonic() + PATIENCE_S
    while not counts(tenant, before, before + HOUR_MS)[0]["refusedRequests"] and time.monotonic() < deadline:
        time.sleep(0.05)
    earlier, now, later = counts(tenant, before - HOUR_MS, before, before + HOUR_MS, before + 2 * HOUR_MS)
    assert of(now) == {("CREATE_USER_TAG", "COMPLETED"): 3, ("CREATE_USERS_V4", "COMPLETED"): 1}
    assert [period["refusedRequests"] for period in (earlier, now, later)] == [0, 1, 0]
    assert of(earlier) == of(later) == {}


def test_by_status(caller: Caller) -> None:
    tenant = new_sub_organization(caller)
    begun = now_ms()
    other = tenant.new_user()
    policy = f"approvers.any(user, user.id == '{tenant.user_id}') && approvers.count() > 1"
    tenant.submitted(
        "create_policy",
        {
            "policyName": "tags",
            "effect": "EFFECT_ALLOW",
            "condition": "activity.kind == 'CREATE_USER_TAG'",
            "consensus": policy,
            "notes": "",
        },
    )
    other.submit("create_user_tag", {"userTagName": "x", "userIds": []})
    (waiting,) = counts(tenant, begun, begun + HOUR_MS, filterByStatus=["ACTIVITY_STATUS_CONSENSUS_NEEDED"])
    assert of(waiting) == {("CREATE_USER_TAG", "CONSENSUS_NEEDED"): 1}


def test_a_bound_belongs_to_the_period_that_it_begins(caller: Caller) -> None:
    tenant = new_sub_organization(caller)
    activity = tenant.submitted("create_user_tag", {"userTagName": "x", "userIds": []})
    listed = tenant.asked("list_activities", {"x-client-version": "@turnkey/http"})["activities"]
    assert [one["id"] for one in listed] == [activity["id"]]
    created = listed[0]["createdAt"]
    at_ms = int(created["seconds"]) * 1000 + int(created["nanos"]) // 1_000_000
    before, after = counts(tenant, at_ms - 1, at_ms, at_ms + 1)
    assert (sum(of(before).values()), sum(of(after).values())) == (0, 1)


@pytest.mark.parametrize(
    "bounds", [[], [1], [2, 1], [1, 1], [-1, 1], list(range(COUNTED_PERIODS_MAX + 2)), [0, 2**54]], ids=len
)
def test_refused(caller: Caller, bounds: list[int]) -> None:
    status, text = refusal(caller.ask("count_activities", boundsMs=bounds))
    assert (status, "boundsMs" in text) == (400, True), text


def test_the_most_periods(caller: Caller) -> None:
    assert len(counts(caller, *range(COUNTED_PERIODS_MAX + 1))) == COUNTED_PERIODS_MAX
