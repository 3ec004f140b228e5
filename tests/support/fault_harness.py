"""Users under one policy, and an activity that waits for their approvals. It is created again for every race.

Here: the users, and the actions that they can do at the same instant. Not here: the races, and what is checked
afterwards.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, answered, api_key_params, unique, user_params

JITTER_S = 0.004
"""The longest time between the starts of concurrent actions: about as long as one action takes."""


@dataclass(frozen=True)
class PendingActivity:
    """`callers`: the root user, for each server. `people`: users who submit and approve, by name."""

    callers: Sequence[Caller]
    people: dict[str, Caller]
    policy_id: str
    tag_name: str
    activity: Any

    @property
    def root(self) -> Caller:
        return self.callers[0]

    def at(self, name: str, server: int) -> Caller:
        """The user of this name, calling one of the servers."""
        who, there = self.people[name], self.callers[server % len(self.callers)]
        return Caller(there.http, who.organization_id, who.user_id, who.key)


UserAction = Callable[[PendingActivity, int], httpx.Response]
"""A request of a user to a server."""


def create_pending_activity(callers: Sequence[Caller], names: str, needed: int) -> PendingActivity:
    """The first of the people has submitted a tag. `needed` of them must approve it, including the submitter."""
    root = callers[0]
    keys = [generate_api_key() for _ in names]
    made = root.result("create_users", {"users": [user_params(key.public_key) for key in keys]})
    people = {
        name: root.with_key(key, user_id) for name, key, user_id in zip(names, keys, made["userIds"], strict=True)
    }
    counted = " || ".join(f"u.id == '{user_id}'" for user_id in made["userIds"])
    policy = {
        "policyName": unique("policy"),
        "effect": "EFFECT_ALLOW",
        "condition": "activity.kind == 'CREATE_USER_TAG'",
        "consensus": f"approvers.filter(u, {counted}).count() >= {needed}",
    }
    policy_id = root.result("create_policy", policy)["policyId"]
    tag: dict[str, Any] = {"userTagName": unique("tag"), "userIds": []}
    activity = answered(people[names[0]].submit("create_user_tag", tag))["activity"]
    assert activity["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED", activity["status"]
    return PendingActivity(callers, people, policy_id, tag["userTagName"], activity)


def approves(name: str) -> UserAction:
    return lambda pending, server: _vote(pending.at(name, server), "approve_activity", pending)


def rejects(name: str) -> UserAction:
    return lambda pending, server: _vote(pending.at(name, server), "reject_activity", pending)


def _vote(voter: Caller, operation: str, pending: PendingActivity) -> httpx.Response:
    return voter.submit(operation, {"fingerprint": pending.activity["fingerprint"]})


def root_user(operation: str) -> UserAction:
    """Votes as the root user."""
    return lambda pending, server: _vote(pending.callers[server % len(pending.callers)], operation, pending)


def with_another_key(name: str) -> UserAction:
    """Approves with a second credential of the same user, which is created just before."""

    def action(pending: PendingActivity, server: int) -> httpx.Response:
        who, key = pending.at(name, server), generate_api_key()
        added = {"userId": who.user_id, "apiKeys": [api_key_params(key.public_key)]}
        who.submitted("create_api_keys", added)
        return _vote(who.with_key(key, who.user_id), "approve_activity", pending)

    return action


def deletes_policy(pending: PendingActivity, server: int) -> httpx.Response:
    caller = pending.callers[server % len(pending.callers)]
    return caller.submit("delete_policy", {"policyId": pending.policy_id})


def deletes_user(name: str) -> UserAction:
    def action(pending: PendingActivity, server: int) -> httpx.Response:
        caller = pending.callers[server % len(pending.callers)]
        return caller.submit("delete_users", {"userIds": [pending.people[name].user_id]})

    return action


def at_once(pending: PendingActivity, actions: Sequence[UserAction]) -> list[httpx.Response]:
    """Start the actions at almost the same instant, each on another server. Returns their answers."""
    start = threading.Barrier(len(actions))
    delays = [random.uniform(0, JITTER_S) for _ in actions]

    def make(number: int) -> httpx.Response:
        start.wait()
        time.sleep(delays[number])
        return actions[number](pending, number)

    with ThreadPoolExecutor(len(actions)) as threads:
        return list(threads.map(make, range(len(actions))))
