"""Requests whose cost is in the votes on an activity: a long request that as many users approved as may, each with
an MFA condition that takes many steps.

Here: the organizations that this needs, and the requests. Not here: expensive policies (`costly_decisions`).
"""

from __future__ import annotations

import threading

import httpx

from fuzz.costly_decisions import loops
from keystead.pipeline.bounds import APPROVALS_MAX
from keystead.stamps.signing import generate_api_key
from tests.support.callers import Caller, answered, unique, user_params
from tests.support.organization_fixtures import RecordIds, mfa_policy_params, policy_params

USERS_AT_ONCE = 50
REQUEST_BYTES = 900_000

_one_at_a_time = threading.Lock()
"""The callers of one organization share its preparation."""

_activities: dict[str, str] = {}
"""The id of the activity, by organization."""


def approved_activity(caller: Caller, _: RecordIds) -> httpx.Response:
    """The activity with all its votes, each with its user; then the MFA conditions of all approvers, which are
    evaluated for each vote, too."""
    activity_id = _prepared(caller)
    answered(caller.ask("get_activity", activityId=activity_id))
    return caller.ask("get_mfa_status", activityId=activity_id)


def _prepared(caller: Caller) -> str:
    with _one_at_a_time:
        if caller.organization_id not in _activities:
            _activities[caller.organization_id] = _approved(caller)
        return _activities[caller.organization_id]


def _approved(caller: Caller) -> str:
    """The id of the activity. The approvals are cheap, because the users get their MFA policies afterwards."""
    users: list[Caller] = []
    for _ in range(APPROVALS_MAX // USERS_AT_ONCE):
        keys = [generate_api_key() for _ in range(USERS_AT_ONCE)]
        made = caller.result("create_users", {"users": [user_params(key.public_key) for key in keys]})
        users += [caller.with_key(key, id_) for key, id_ in zip(keys, made["userIds"], strict=True)]
    everybody = f"approvers.count() > {len(users)}"
    caller.submitted(
        "create_policy", policy_params(condition="activity.kind == 'CREATE_WALLET'", consensus=everybody)
    )
    submitter, *others = users
    body = submitter.submit_body("create_wallet", {"walletName": unique("wallet"), "accounts": []})
    padded = body[:-1] + b" " * REQUEST_BYTES + b"}"
    activity = answered(submitter.post("/public/v1/submit/create_wallet", padded))["activity"]
    for user in others:
        answered(user.submit("approve_activity", {"fingerprint": activity["fingerprint"]}))
    for number, user in enumerate(users):
        costly = mfa_policy_params(user.user_id, [{"type": "AUTHENTICATION_TYPE_PASSKEY"}])
        condition = f"{number} > 0 && '{'x' * 800}' != '' && !({loops('abc', 'a != 0')})"
        caller.submitted("create_mfa_policy", costly | {"condition": condition})
    return str(activity["id"])
