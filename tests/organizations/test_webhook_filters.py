"""Filters of a subscription: which events pass, and which texts are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.organizations.webhooks.filters import check_filters, filters_of

ORGANIZATION = "5f1c5c3e-5f0a-4c39-9d4c-0a4c4e1f2a3b"
OTHER = "6f1c5c3e-5f0a-4c39-9d4c-0a4c4e1f2a3b"
WALLET = "ACTIVITY_TYPE_CREATE_WALLET"


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({}, True),
        ({"activityTypes": [WALLET]}, True),
        ({"activityTypes": ["ACTIVITY_TYPE_CREATE_USERS_V3", WALLET]}, True),
        ({"activityTypes": ["ACTIVITY_TYPE_CREATE_USERS_V3"]}, False),
        ({"activityTypes": [f"{WALLET}_V7"]}, True),
        ({"activityTypes": [f"{WALLET}_ACCOUNTS"]}, False),
        ({"activityTypes": []}, False),
        ({"statuses": ["ACTIVITY_STATUS_COMPLETED"]}, True),
        ({"statuses": ["ACTIVITY_STATUS_FAILED"]}, False),
        ({"organizationIds": [ORGANIZATION]}, True),
        ({"organizationIds": [OTHER]}, False),
        ({"activityTypes": [WALLET], "statuses": ["ACTIVITY_STATUS_FAILED"]}, False),
        ({"activityTypes": None}, True),
    ],
)
def test_matching_events(filters: dict[str, Any], passes: bool) -> None:
    text = json.dumps(filters)
    check_filters(text, "f")
    assert filters_of(text).matches(WALLET, ActivityStatus.COMPLETED, ORGANIZATION) is passes


@pytest.mark.parametrize("text", [None, ""])
def test_no_filters(text: str | None) -> None:
    check_filters(text, "f")
    assert filters_of(text).matches(WALLET, ActivityStatus.COMPLETED, ORGANIZATION)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "null",
        '{"activityType": "x"}',
        '{"activityTypes": "x"}',
        '{"activityTypes": [1]}',
        '{"statuses": ["COMPLETED"]}',
        '{"organizationIds": ["x"]}',
        "\ud800",
        "[" * 5_000,
        json.dumps({"activityTypes": ["x"] * 101}),
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid webhook filters: field `f`"):
        check_filters(text, "f")
