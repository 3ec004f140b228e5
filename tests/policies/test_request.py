"""The parts of a request as values of the language."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.policies.request import RequestedActivity, condition_values, visible_params
from keystead.policies.resources import attributes_of
from keystead.primitives.unreadable import Unreadable


def test_params_that_policies_may_see() -> None:
    given: dict[str, Any] = {"user_id": "A", "api_keys": [], "curve_type": None}
    assert visible_params("ACTIVITY_TYPE_CREATE_API_KEYS_V2", given) == {"user_id": "A"}
    assert visible_params("ACTIVITY_TYPE_CREATE_WALLET", {"wallet_name": "w"}) == {}
    assert visible_params("ACTIVITY_TYPE_STAMP_LOGIN", {"public_key": "02"}) == {"session_profile_id": ""}
    assert visible_params("ACTIVITY_TYPE_SIGN_TRANSACTION", {"type": "X"}) == {"type": "X"}
    assert visible_params("ACTIVITY_TYPE_SIGN_TRANSACTION_V2", {"type": "X"}) == {"type": "X"}


def test_what_conditions_see_of_an_activity() -> None:
    values = condition_values(RequestedActivity(type="ACTIVITY_TYPE_APPROVE_ACTIVITY"), {})
    assert values["activity"]["kind"] == "APPROVE_ACTIVITY"
    assert isinstance(values["activity"]["resource"], Unreadable)
    assert isinstance(values["activity"]["action"], Unreadable)
    values = condition_values(RequestedActivity(type="ACTIVITY_TYPE_CREATE_USERS_V4"), {"wallet": 1})
    assert values == {
        "wallet": 1,
        "activity": {
            "type": "ACTIVITY_TYPE_CREATE_USERS_V4",
            "params": {},
            "kind": "CREATE_USERS",
            "resource": "USER",
            "action": "CREATE",
        },
    }


@pytest.mark.parametrize("activity_type", sorted(filter(attributes_of, ACTIVITY_TYPES)))
def test_kind_resource_and_action_are_known(activity_type: str) -> None:
    """Otherwise a DENY policy about another kind would deny it, and an MFA policy would ask for proofs."""
    values = condition_values(RequestedActivity(type=activity_type), {})["activity"]
    assert all(isinstance(values[name], str) and values[name] for name in ("kind", "resource", "action"))
