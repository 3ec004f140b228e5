"""The parts of a request as values of the language."""

from __future__ import annotations

from typing import Any

from keystead.policies.request import RequestedActivity, condition_values, visible_params


def test_params_that_policies_may_see() -> None:
    given: dict[str, Any] = {"user_id": "A", "api_keys": [], "curve_type": None}
    assert visible_params("ACTIVITY_TYPE_CREATE_API_KEYS_V2", given) == {"user_id": "A"}
    assert visible_params("ACTIVITY_TYPE_CREATE_WALLET", {"wallet_name": "w"}) == {}
    assert visible_params("ACTIVITY_TYPE_STAMP_LOGIN", {"public_key": "02"}) == {"session_profile_id": ""}
    assert visible_params("ACTIVITY_TYPE_SIGN_TRANSACTION", {"type": "X"}) == {"type": "X"}
    assert visible_params("ACTIVITY_TYPE_SIGN_TRANSACTION_V2", {"type": "X"}) == {"type": "X"}


def test_an_activity_without_kind_has_none_in_conditions() -> None:
    values = condition_values(RequestedActivity(type="ACTIVITY_TYPE_APPROVE_ACTIVITY"), {})
    assert set(values["activity"]) == {"type", "params"}
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
