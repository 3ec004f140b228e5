"""Requests of an editor of policies whose cost is in the expressions: explanations, trials, warnings, scopes.

Here: the organizations that this needs, and the requests. Not here: decisions (`costly_decisions`).
"""

from __future__ import annotations

import threading

import httpx

from fuzz.costly_decisions import DENIES_NOTHING
from keystead.operations.policies.policy_trials import TRIED_AT_ONCE
from keystead.organizations.kinds.policies import CHARACTERS_PER_POLICY
from tests.support.callers import Caller, unique
from tests.support.organization_fixtures import RecordIds, policy_params

CONDITION = " || ".join([DENIES_NOTHING] * (CHARACTERS_PER_POLICY.default // len(f"{DENIES_NOTHING} || ")))
"""As long as an expression may be, of parts that are false after a thousand comparisons each."""

_one_at_a_time = threading.Lock()
"""The callers of one organization share its preparation."""

_activities: dict[str, list[str]] = {}
_policies: dict[str, str] = {}


def explanation(caller: Caller, _: RecordIds) -> httpx.Response:
    """Why a long policy says what it says, part by part."""
    activity_ids, policy_id = _prepared(caller)
    return caller.ask("explain_policy", activityId=activity_ids[0], policyId=policy_id)


def trial(caller: Caller, _: RecordIds) -> httpx.Response:
    """A long policy, tried on as many activities as a request may name."""
    activity_ids, policy_id = _prepared(caller)
    return caller.ask(
        "try_policy", activityIds=activity_ids, effect="EFFECT_DENY", condition=CONDITION, policyId=policy_id
    )


def session_profile(caller: Caller, _: RecordIds) -> httpx.Response:
    """The longest scope."""
    return caller.submit("create_session_profile", {"sessionProfileName": unique("profile"), "scope": CONDITION})


def _prepared(caller: Caller) -> tuple[list[str], str]:
    """Activities of the caller's organization, and a policy that is evaluated for each."""
    with _one_at_a_time:
        known = caller.organization_id
        if known not in _policies:
            denial = policy_params(effect="EFFECT_DENY", condition=CONDITION)
            made = caller.result("create_policy", denial)
            _activities[known] = [
                caller.submitted("create_user_tag", {"userTagName": unique("tag"), "userIds": []})["id"]
                for _ in range(TRIED_AT_ONCE)
            ]
            _policies[known] = made["policyId"]
        return _activities[known], _policies[known]
