"""Concurrent votes while policies and users are deleted: one final status, one execution, one vote of each
user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import httpx
import pytest

from tests.support.callers import Caller, answered, refusal
from tests.support.fault_harness import (
    PendingActivity,
    UserAction,
    approves,
    at_once,
    create_pending_activity,
    deletes_policy,
    deletes_user,
    rejects,
    root_user,
    with_another_key,
)
from tests.support.servers import Server

ROUNDS = 4
COMPLETED, REJECTED, OPEN = (f"ACTIVITY_STATUS_{end}" for end in ("COMPLETED", "REJECTED", "CONSENSUS_NEEDED"))
SELECTIONS = {"approve_activity": "VOTE_SELECTION_APPROVED", "reject_activity": "VOTE_SELECTION_REJECTED"}


class Race(NamedTuple):
    """`people`: letters; the first submits. `actions` start at the same instant. `ends`: allowed statuses."""

    name: str
    people: str
    needed: int
    actions: tuple[UserAction, ...]
    ends: frozenset[str]


RACES = [
    Race("two approve, one is enough", "PAB", 2, (approves("A"), approves("B")), frozenset({COMPLETED})),
    Race("two approve, both are needed", "PAB", 3, (approves("A"), approves("B")), frozenset({COMPLETED})),
    Race("four approve, two are enough", "PABCD", 3, tuple(map(approves, "ABCD")), frozenset({COMPLETED})),
    Race("one approves, one rejects", "PAB", 2, (approves("A"), rejects("B")), frozenset({COMPLETED, REJECTED})),
    Race("all reject", "PABC", 4, tuple(map(rejects, "ABC")), frozenset({REJECTED})),
    Race("the proposer withdraws", "PA", 2, (approves("A"), rejects("P")), frozenset({COMPLETED, REJECTED})),
    Race("one approves twice", "PAB", 3, (approves("A"), approves("A")), frozenset({OPEN})),
    Race("one approves with two keys", "PAB", 3, (approves("A"), with_another_key("A")), frozenset({OPEN})),
    Race(
        "the root user approves, an approver too",
        "PA",
        2,
        (approves("A"), root_user("approve_activity")),
        frozenset({COMPLETED}),
    ),
    Race("the policy is deleted", "PA", 2, (approves("A"), deletes_policy), frozenset({COMPLETED, OPEN})),
    Race("the proposer is deleted", "PAB", 2, (approves("A"), deletes_user("P")), frozenset({COMPLETED, OPEN})),
    Race("an approver is deleted", "PA", 2, (approves("A"), deletes_user("A")), frozenset({COMPLETED, OPEN})),
]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_race(race: Race, processes: int, servers: list[Server]) -> None:
    callers = [server.caller for server in servers[:processes]]
    for _ in range(ROUNDS):
        pending = create_pending_activity(callers, race.people, race.needed)
        responses = at_once(pending, race.actions)
        check(pending, race, responses, [server.caller for server in servers])


def check(pending: PendingActivity, race: Race, responses: list[httpx.Response], readers: Sequence[Caller]) -> None:
    """Whatever the order of the actions: one end, and nobody was told anything else."""
    activity_id = pending.activity["id"]
    seen = [reader.asked("get_activity", activityId=activity_id)["activity"] for reader in readers]
    end = seen[0]["status"]
    assert {one["status"] for one in seen} == {end}
    assert end in race.ends, end
    names = Counter(tag["tagName"] for tag in pending.root.asked("list_user_tags")["userTags"])
    assert names[pending.tag_name] == (end == COMPLETED)
    votes = {vote["userId"]: vote["selection"] for vote in seen[0]["votes"]}
    assert len(votes) == len(seen[0]["votes"])
    assert ("VOTE_SELECTION_REJECTED" in votes.values()) == (end == REJECTED)
    for response in responses:
        check_answer(response, activity_id, end, votes)


def check_answer(response: httpx.Response, activity_id: str, end: str, votes: dict[str, str]) -> None:
    """A vote that was acknowledged is on record; a final status that was told is the end."""
    if response.status_code != 200:
        assert refusal(response)[0] in (400, 401, 403), response.text
        return
    told: Any = answered(response)["activity"]
    if told["id"] != activity_id:
        assert told["status"] == COMPLETED
        return
    assert told["status"] in (OPEN, end)
    cast = {vote["userId"]: vote["selection"] for vote in told["votes"]}
    assert cast.items() <= votes.items()
