"""Submissions and votes as text, one line for each step: the user, the step, the expected status.

    Ana create_policy: CONSENSUS_NEEDED
    Ben approves: COMPLETED
    Cy create_policy: denied

A vote is on the newest activity. `Ana/passkey approves` stamps with another credential of Ana's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keystead.api.errors import ServiceError
from keystead.pipeline.activity import RecordedActivity
from tests.support.organization_harness import OrganizationHarness, public_key

Params = Callable[[OrganizationHarness], dict[str, Any]]


def _api_key(harness: OrganizationHarness) -> dict[str, Any]:
    label = f"key {harness.ids.next}"
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}


def new_user(harness: OrganizationHarness) -> dict[str, Any]:
    return {
        "userName": f"user {harness.ids.next}",
        "apiKeys": [_api_key(harness)],
        "authenticators": [],
        "oauthProviders": [],
        "userTags": [],
    }


ASKED: dict[str, Params] = {
    "create_wallet": lambda c: {"walletName": f"wallet {c.ids.next}", "accounts": []},
    "create_policy": lambda c: {
        "policyName": f"policy {c.ids.next}",
        "effect": "EFFECT_ALLOW",
        "condition": "false",
    },
    "create_users": lambda c: {"users": [new_user(c)]},
    "create_user_tag": lambda c: {"userTagName": f"tag {c.ids.next}", "userIds": []},
    "update_organization_name": lambda c: {"organizationName": f"name {c.ids.next}"},
    "create_sub_organization": lambda c: {
        "subOrganizationName": f"sub {c.ids.next}",
        "rootQuorumThreshold": 1,
        "rootUsers": [{name: value for name, value in new_user(c).items() if name != "userTags"}],
    },
}
"""Valid parameters for each operation."""


def own_key(harness: OrganizationHarness, name: str) -> dict[str, Any]:
    """An API key for this person."""
    return {"userId": harness.user_ids[name], "apiKeys": [_api_key(harness)]}


def run_steps(harness: OrganizationHarness, steps: str) -> RecordedActivity | None:
    """Run the steps in order and compare each status. Returns the last activity."""
    newest: RecordedActivity | None = None
    for line in filter(None, map(str.strip, steps.splitlines())):
        step, _, expected = line.rpartition(": ")
        who, _, what = step.partition(" ")
        name, _, key = who.partition("/")
        try:
            newest = _done(harness, name, key, what, newest)
            found = newest.status.removeprefix("ACTIVITY_STATUS_")
        except ServiceError as refused:
            found = _said(refused)
        assert found == expected, f"{line}: {found}"
    return newest


def _done(
    harness: OrganizationHarness, name: str, key: str, what: str, newest: RecordedActivity | None
) -> RecordedActivity:
    if what in ("approves", "rejects"):
        assert newest is not None
        return harness.approve(name, newest, key) if what == "approves" else harness.reject(name, newest, key)
    if what == "adds own key":
        return harness.submit(name, "create_api_keys", own_key(harness, name), key)
    if what == "deletes own key":
        user = harness.user(name)
        gone = {"userId": user.user_id, "apiKeyIds": [user.api_keys[-1].api_key_id]}
        return harness.submit(name, "delete_api_keys", gone, key)
    if what.startswith("adds a key of "):
        return harness.submit(name, "create_api_keys", own_key(harness, what.rpartition(" ")[2]), key)
    return harness.submit(name, what, ASKED[what](harness), key)


def _said(refused: ServiceError) -> str:
    if refused.http_status != 403:
        return str(refused.http_status)
    assert refused.details is not None
    explicitly = str(refused.details[0]["message"]).startswith("The following policies denied")
    return "denied by policy" if explicitly else "denied"
