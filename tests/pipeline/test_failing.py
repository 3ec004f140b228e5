"""Activities that are allowed after their parameters became invalid: they fail."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from tests.support.approval_flows import new_user
from tests.support.issuers import ISSUER
from tests.support.organization_harness import OrganizationHarness

FAILING: dict[str, tuple[str, dict[str, Any], str]] = {
    "the name was taken": ("create_wallet", {"walletName": "taken", "accounts": []}, "label must be unique"),
    "the key was taken": ("create_users", {}, "is already an API key in this organization"),
    "the user is gone": ("update_user_name", {"userName": "Daniel"}, "unable to find user"),
    "the identity was taken": ("create_oauth_providers", {}, "oauth provider already exists"),
}


@pytest.mark.parametrize(("operation", "parameters", "why"), FAILING.values(), ids=FAILING.keys())
def test_activities_that_became_impossible(operation: str, parameters: dict[str, Any], why: str) -> None:
    harness = OrganizationHarness("R1", "R2", "R3", "Dan", root=["R1", "R2", "R3"], threshold=2)
    if operation == "create_users":
        parameters = {"users": [new_user(harness)]}
    elif operation != "create_wallet":
        parameters = {**parameters, "userId": harness.user_ids["Dan"]}
    if operation == "create_oauth_providers":
        token = ISSUER.token(harness.clock.ms // 1000)
        parameters = {**parameters, "oauthProviders": [{"providerName": "p", "oidcToken": token}]}
    activity = harness.submit("R1", operation, parameters)
    meanwhile = harness.submit("R1", operation, parameters)
    if operation == "update_user_name":
        meanwhile = harness.submit("R1", "delete_users", {"userIds": [harness.user_ids["Dan"]]})
    assert harness.approve("R2", meanwhile).status is ActivityStatus.COMPLETED
    before = harness.organization
    failed = harness.approve("R3", activity)
    assert failed.status is ActivityStatus.FAILED
    assert failed.failure is not None
    assert why in failed.failure.message
    assert failed.failure.code in (3, 5, 6)
    assert failed.result == {}
    assert harness.organization is before
    assert len(failed.votes) == 2
    assert harness.send("R1", operation, activity.request) == failed
