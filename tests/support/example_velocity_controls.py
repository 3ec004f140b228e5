"""Examples of the operations on velocity controls (`operation_examples`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.organization_fixtures import RecordIds, velocity_control_params

Make = Callable[[RecordIds], dict[str, Any]]

VELOCITY_QUERIES: dict[str, Make] = {
    "get_velocity_control": lambda f: {"velocityControlId": f.kept("velocity_control")},
    "get_velocity_control_usage": lambda f: {
        "velocityControlId": f.kept("velocity_control"),
        "userId": f.user_id,
        "walletId": f.wallet_id,
    },
    "list_velocity_controls": lambda _: {},
}

VELOCITY_SUBMISSIONS: dict[str, Make] = {
    "ACTIVITY_TYPE_CREATE_VELOCITY_CONTROL": lambda _: velocity_control_params(),
    "ACTIVITY_TYPE_DELETE_VELOCITY_CONTROL": lambda f: {"velocityControlId": f.fresh("velocity_control")},
}
