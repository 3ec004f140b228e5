"""Requests whose cost is in the policies of the organization: the most expensive policies, evaluated for every
activity of users who are not members of the root quorum.

Here: the organizations that this needs, and the requests. Not here: making such policies (`worst_requests`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import httpx

from tests.support.callers import Caller, answered
from tests.support.organization_fixtures import RecordIds, policy_params

WAITING = 100
"""Activities that wait: as many as a page has at most."""

_one_at_a_time = threading.Lock()
"""The callers of one organization share its preparation."""

_users: dict[tuple[str, Callable[[Caller, str], Caller]], Caller] = {}


def loops(variables: str, inner: str) -> str:
    """`inner` for every combination of ten numbers for each variable."""
    condition = inner
    for variable in variables:
        condition = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({variable}, {condition})"
    return condition


DENIES_NOTHING = "!(" + loops("abc", "activity.params.encoding == 'x' || a != 0") + ")"
_COUNTS_NOBODY = "!(" + loops("ab", "u.id == 'x' || a != 0") + ")"


def costly_decision(caller: Caller, records: RecordIds) -> httpx.Response:
    """A user signs, and the policies take more steps than a decision has."""
    return _prepared(caller, _signing_user, records.private_key_id).submit(
        "sign_raw_payload", _payload(records.private_key_id)
    )


def costly_list(caller: Caller, records: RecordIds) -> httpx.Response:
    """A user lists activities that wait. For each, the server finds out whether the user may vote on it."""
    reader = _prepared(caller, _reader_of_waiting, records.private_key_id)
    return reader.ask("list_activities", paginationOptions={"limit": str(WAITING)})


def _prepared(caller: Caller, prepare: Callable[[Caller, str], Caller], private_key_id: str) -> Caller:
    """The user that `prepare` makes, once for each organization; over the caller's connection."""
    known = (caller.organization_id, prepare)
    with _one_at_a_time:
        if known not in _users:
            _users[known] = prepare(caller, private_key_id)
    return replace(_users[known], http=caller.http)


def _signing_user(caller: Caller, _: str) -> Caller:
    denial = policy_params(effect="EFFECT_DENY", condition=" || ".join([DENIES_NOTHING] * 30))
    caller.submitted("create_policies", {"policies": [denial | {"policyName": str(n)} for n in range(4)]})
    return caller.new_user()


def _reader_of_waiting(caller: Caller, private_key_id: str) -> Caller:
    """The activities wait for the second member of the root quorum. The policies take nearly all steps that a
    decision and the search for further approvals have."""
    denial = policy_params(effect="EFFECT_DENY", condition=" || ".join([DENIES_NOTHING] * 15))
    counting = policy_params(condition="true", consensus=f"approvers.any(u, {_COUNTS_NOBODY})")
    policies = [denial | {"policyName": str(n)} for n in range(2)] + [counting]
    caller.submitted("create_policies", {"policies": policies})
    reader, second = caller.new_user(), caller.new_user()
    caller.submitted("update_root_quorum", {"threshold": 2, "userIds": [caller.user_id, second.user_id]})
    for number in range(WAITING):
        signing = _payload(private_key_id) | {"payload": str(number)}
        activity = answered(caller.submit("sign_raw_payload", signing))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    return reader


def _payload(private_key_id: str) -> dict[str, str]:
    return {
        "signWith": private_key_id,
        "payload": "hello",
        "encoding": "PAYLOAD_ENCODING_TEXT_UTF8",
        "hashFunction": "HASH_FUNCTION_KECCAK256",
    }
