"""Warnings in the log about what an activity changed, while the database answers and while it does not. The lines
of a server are tested with policies (`test_policy_attacks`) and with allow-lists (`test_ip_allowlists`)."""

from __future__ import annotations

import logging

import pytest

from keystead.api.errors import Unavailable
from keystead.organizations.ip_allowlists import EXEMPT
from keystead.organizations.organization import Organization
from keystead.server.activity_warnings import log_activity_warnings
from tests.support.organization_harness import OrganizationHarness

AWAY = Unavailable("the database is away")
ALLOWS_EVERYTHING = {"policyName": "p", "effect": "EFFECT_ALLOW"}


@pytest.mark.parametrize(
    ("operation", "parameters", "error", "expected"),
    [
        ("create_policy", ALLOWS_EVERYTHING, None, "ALLOW policy 'p' ("),
        ("create_policy", ALLOWS_EVERYTHING, AWAY, "no warnings about activity {id}: the database is away"),
        ("create_policy", ALLOWS_EVERYTHING, KeyError("x"), "no warnings about activity {id} because of a defect"),
        ("create_wallet", {"walletName": "w", "accounts": []}, AWAY, None),
    ],
)
def test_lines(
    operation: str,
    parameters: dict[str, object],
    error: Exception | None,
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    people = OrganizationHarness("Root", root=["Root"])
    activity = people.submit("Root", operation, parameters)

    async def away(organization_id: str) -> Organization | None:
        assert error is not None
        raise error

    if error is not None:
        monkeypatch.setattr(people.stores[0], "organization", away)
    caller = people.caller("Root")
    with caplog.at_level(logging.WARNING, logger="keystead"):
        people.run(log_activity_warnings(activity, caller, EXEMPT, "request", people.environments[0]))
    if expected is None:
        assert caplog.messages == []
    else:
        assert caplog.messages[0].startswith(expected.format(id=activity.id))
