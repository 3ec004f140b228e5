"""Examples of the operations on velocity controls, session profiles and policies (`operation_examples`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.organization_fixtures import RecordIds, velocity_control_params

Make = Callable[[RecordIds], dict[str, Any]]

RULE_QUERIES: dict[str, Make] = {
    "get_session_profile": lambda f: {"sessionProfileId": f.kept("session_profile")},
    "get_session_profiles": lambda _: {},
    "get_velocity_control": lambda f: {"velocityControlId": f.kept("velocity_control")},
    "get_velocity_control_usage": lambda f: {
        "velocityControlId": f.kept("velocity_control"),
        "userId": f.user_id,
        "walletId": f.wallet_id,
    },
    "list_policies": lambda _: {},
    "list_velocity_controls": lambda _: {},
}

RULE_SUBMISSIONS: dict[str, Make] = {
    "ACTIVITY_TYPE_CREATE_VELOCITY_CONTROL": lambda _: velocity_control_params(),
    "ACTIVITY_TYPE_DELETE_VELOCITY_CONTROL": lambda f: {"velocityControlId": f.fresh("velocity_control")},
}
