"""Examples of the operations on rules: policies, velocity controls, session profiles, IP allow-lists
(`operation_examples`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.organization_fixtures import RecordIds, velocity_control_params

Make = Callable[[RecordIds], dict[str, Any]]


def _ip_allowlist() -> dict[str, Any]:
    """An allow-list of the organization. It is not enforced, so that the other tests still have access."""
    rules = [{"cidr": "192.0.2.0/24", "label": "office"}, {"cidr": "2001:db8::/48"}]
    return {"rules": rules, "enabled": False, "onEvaluationError": "DENY"}


RULE_QUERIES: dict[str, Make] = {
    "check_ip_allowlist": lambda _: {"setIpAllowlist": {"rules": [{"cidr": "192.0.2.0/24"}], "enabled": True}},
    "get_ip_allowlist": lambda _: {"publicKey": "02" * 33},
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
    "ACTIVITY_TYPE_SET_IP_ALLOWLIST": lambda _: _ip_allowlist(),
    "ACTIVITY_TYPE_REMOVE_IP_ALLOWLIST": lambda f: {"publicKey": f.fresh("ip_allowlist")},
    "ACTIVITY_TYPE_CREATE_VELOCITY_CONTROL": lambda _: velocity_control_params(),
    "ACTIVITY_TYPE_DELETE_VELOCITY_CONTROL": lambda f: {"velocityControlId": f.fresh("velocity_control")},
}
