"""Velocity controls through HTTP: what a limit lets through, what counts, what a denial says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.operations.test_signing_policies import call, ethereum, payload
from tests.support.callers import SDK_FORM, Caller, answered, refusal, unique
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT, mfa_policy_params, policy_params
from tests.support.servers import Server

USDC, OTHER, FRIEND = "0x" + "a0" * 20, "0x" + "b0" * 20, "0x" + "0d" * 20
NATIVE = {"caip19": "eip155:1/slip44:60", "decimals": "0"}
TOKEN = {"caip19": f"eip155:1/erc20:{USDC}", "decimals": "0"}
SUM, COUNT = "VELOCITY_CONTROL_AGGREGATION_METHOD_SUM", "VELOCITY_CONTROL_AGGREGATION_METHOD_COUNT"
AT_MOST = "VELOCITY_CONTROL_AGGREGATION_OPERATOR_LESS_THAN_OR_EQUAL"
UNLIMITED = (1 << 256) - 1


def control_params(**changed: Any) -> dict[str, Any]:
    """A limit of 10 on the native coin and a token, in a day, for the organization."""
    aggregation = {
        "method": SUM,
        "operator": AT_MOST,
        "threshold": "10",
        "window": {"rolling": {"duration": "86400"}},
        "groupBy": {"organization": {}},
    }
    source = changed.pop("source", {"chainAssetTransfer": {"definition": [NATIVE, TOKEN]}})
    identifier = changed.pop("identifier", None) or unique("c").replace(" ", "_")
    return {
        "name": unique("limit"),
        "identifier": identifier,
        "dataSource": source,
        "aggregation": {**aggregation, **changed},
    }


def transfer(to: str, amount: int) -> bytes:
    return call("transfer(address,uint256)", to, amount)


class Spender:
    """A user whom one policy allows to sign what a control leaves."""

    def __init__(self, root: Caller, **changed: Any) -> None:
        self.root = root
        wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]})
        self.wallet_id, (self.address,) = wallet["walletId"], wallet["addresses"]
        params = control_params(**changed)
        self.identifier = params["identifier"]
        self.control_id = root.result("create_velocity_control", params)["velocityControlId"]
        self.user = root.new_user()
        self.allow(f"controls.{self.identifier}")

    def allow(self, condition: str) -> str:
        consensus = f"approvers.any(user, user.id == '{self.user.user_id}')"
        params = policy_params(condition=condition, consensus=consensus)
        policy_id: str = self.root.result("create_policy", params)["policyId"]
        return policy_id

    def sign(self, asked: dict[str, Any], by: Caller | None = None) -> Any:
        name = "sign_transaction" if "unsignedTransaction" in asked else "sign_raw_payload"
        return (by or self.user).submit(name, {"signWith": self.address, **asked}, SDK_FORM)

    def used(self, **named: Any) -> str:
        usage = self.root.asked("get_velocity_control_usage", velocityControlId=self.control_id, **named)
        return str(usage["used"])


def test_a_limit_holds_under_concurrency(server: Server) -> None:
    """Of 40 at once, each of 1, exactly 10 are signed."""
    spender = Spender(server.caller)
    friends = [f"0x{number:040x}" for number in range(1000, 1020)]  # the same bytes would be the same activity
    moves = [move for to in friends for move in (ethereum(to, 1), ethereum(USDC, 0, transfer(to, 1)))]
    with ThreadPoolExecutor(16) as threads:
        statuses = list(threads.map(lambda asked: spender.sign(asked).status_code, moves))
    assert sorted(statuses) == [200] * 10 + [403] * 30
    assert spender.used() == "10"
