"""Velocity controls through HTTP: what a limit lets through, what counts, what a denial says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from solders.pubkey import Pubkey

from tests.operations.test_signing_chains import BITCOIN, FRIEND, SOLANA, TRON, bitcoin, pays, solana
from tests.operations.test_signing_policies import AUTHORIZED, call, ethereum, payload
from tests.support.callers import SDK_FORM, Caller, answered, refusal, unique
from tests.support.organization_fixtures import (
    ETHEREUM_ACCOUNT,
    mfa_policy_params,
    policy_params,
    private_key_params,
    session_profile_params,
    velocity_control_params,
)
from tests.support.servers import Installation, Server

USDC, ROUTER = "0x" + "a0" * 20, "0x" + "b0" * 20
NATIVE = {"caip19": "eip155:1/slip44:60", "decimals": "0"}
TOKEN = {"caip19": f"eip155:1/erc20:{USDC}", "decimals": "0"}
PREFIX = "VELOCITY_CONTROL_AGGREGATION_"
COUNT = f"{PREFIX}METHOD_COUNT"
UNLIMITED = (1 << 256) - 1
SOURCE = {"chainAssetTransfer": {"definition": [NATIVE, TOKEN]}}

_serial = itertools.count(1)


def payee() -> str:
    """An address that nothing else pays to: equal bytes would be the same activity."""
    return f"0x{next(_serial):040x}"


def control_params(source: Any = SOURCE, **aggregation: Any) -> dict[str, Any]:
    """A limit of 10 on the native coin and a token, in a day, for the organization."""
    return velocity_control_params(**{"threshold": "10", **aggregation}) | {"dataSource": source}


def pay(amount: int, **changed: Any) -> dict[str, Any]:
    return ethereum(payee(), amount, **changed)


def on_token(signature: str, *values: Any) -> dict[str, Any]:
    return ethereum(USDC, 0, call(signature, *values))


def typed(primary_type: str, members: str, message: dict[str, Any], chain: Any = 1) -> dict[str, Any]:
    """Typed data for the token. `members`: as `address to,uint256 value`."""
    fields = [dict(zip(("type", "name"), member.split(" "), strict=True)) for member in members.split(",")]
    domain = [{"name": "verifyingContract", "type": "address"}]
    values: dict[str, Any] = {"verifyingContract": USDC}
    if chain is not None:
        domain.append({"name": "chainId", "type": "uint256"})
        values["chainId"] = chain
    types = {"EIP712Domain": domain, primary_type: fields}
    document = {"types": types, "primaryType": primary_type, "domain": values, "message": message}
    return payload(json.dumps(document), encoding="PAYLOAD_ENCODING_EIP712")


def authorization(kind: str, to: str, value: int, **changed: Any) -> dict[str, Any]:
    """EIP-3009, as an x402 payment signs it."""
    members = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
    nonce = "0x" + f"{next(_serial):064x}"
    message = {
        "from": payee(),
        "to": to,
        "value": str(value),
        "validAfter": "0",
        "validBefore": "9",
        "nonce": nonce,
    }
    return typed(kind, members, message, **changed)


def permit(value: int) -> dict[str, Any]:
    members = "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline"
    message = {"owner": payee(), "spender": payee(), "value": str(value), "nonce": "0", "deadline": "9"}
    return typed("Permit", members, message)


class Spender:
    """A user whom one policy allows to do what a control leaves."""

    def __init__(self, root: Caller, source: Any = SOURCE, **aggregation: Any) -> None:
        self.root = root
        wallet = root.result("create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]})
        self.wallet_id, (self.address,) = wallet["walletId"], wallet["addresses"]
        params = control_params(source, **aggregation)
        self.identifier = params["identifier"]
        self.control_id = root.result("create_velocity_control", params)["velocityControlId"]
        self.user = root.new_user()
        self.policy_id = self.allow(f"controls.{self.identifier}")

    def allow(self, condition: str, user: Caller | None = None) -> str:
        consensus = f"approvers.any(user, user.id == '{(user or self.user).user_id}')"
        params = policy_params(condition=condition, consensus=consensus)
        return str(self.root.result("create_policy", params)["policyId"])

    def sign(self, asked: dict[str, Any], by: Caller | None = None, sign_with: str = "") -> httpx.Response:
        name = "sign_transaction" if "unsignedTransaction" in asked else "sign_raw_payload"
        return (by or self.user).submit(name, {"signWith": sign_with or self.address, **asked}, SDK_FORM)

    def usage(self, **named: Any) -> Any:
        return self.root.asked("get_velocity_control_usage", velocityControlId=self.control_id, **named)

    def used(self, **named: Any) -> str:
        return str(self.usage(**named)["used"])


def test_a_limit_holds_under_concurrency(server: Server) -> None:
    """40 requests at once, each for 1: exactly 10 are signed."""
    spender = Spender(server.caller)
    moves = [move for _ in range(20) for move in (pay(1), on_token("transfer(address,uint256)", payee(), 1))]
    with ThreadPoolExecutor(16) as threads:
        statuses = list(threads.map(lambda asked: spender.sign(asked).status_code, moves))
    assert sorted(statuses) == [200] * 10 + [403] * 30
    assert spender.used() == "10"


OWN = "own"
"""Stands for the address that signs."""

COUNTED = [
    ("native value", lambda own: pay(3), "3"),
    ("native value on another chain", lambda own: pay(3, chain_id=5), "0"),
    ("native value to itself", lambda own: ethereum(own, 3), "0"),
    ("transfer", lambda own: on_token("transfer(address,uint256)", payee(), 3), "3"),
    ("transfer to itself", lambda own: on_token("transfer(address,uint256)", own, 3), "0"),
    (
        "a token that is not listed",
        lambda own: ethereum(ROUTER, 0, call("transfer(address,uint256)", payee(), 3)),
        "0",
    ),
    (
        "native value and a transfer",
        lambda own: ethereum(USDC, 2, call("transfer(address,uint256)", payee(), 3)),
        "5",
    ),
    ("transferFrom", lambda own: on_token("transferFrom(address,address,uint256)", payee(), payee(), 3), "3"),
    ("transferFrom to itself", lambda own: on_token("transferFrom(address,address,uint256)", payee(), own, 3), "0"),
    ("approve", lambda own: on_token("approve(address,uint256)", payee(), 3), "3"),
    ("increaseAllowance", lambda own: on_token("increaseAllowance(address,uint256)", payee(), 3), "3"),
    ("approve nothing", lambda own: on_token("approve(address,uint256)", payee(), 0), "0"),
    ("burn", lambda own: on_token("burn(uint256)", 3), "3"),
    ("EIP-2612", lambda own: permit(3), "3"),
    ("EIP-3009 transfer", lambda own: authorization("TransferWithAuthorization", payee(), 3), "3"),
    ("EIP-3009 receive", lambda own: authorization("ReceiveWithAuthorization", payee(), 3), "3"),
    ("EIP-3009 for any chain", lambda own: authorization("TransferWithAuthorization", payee(), 3, chain=None), "3"),
    ("EIP-3009 on another chain", lambda own: authorization("TransferWithAuthorization", payee(), 3, chain=5), "0"),
]


@pytest.mark.one_engine
@pytest.mark.parametrize(("made", "used"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_what_counts(made: Any, used: str, server: Server) -> None:
    spender = Spender(server.caller)
    assert spender.sign(made(spender.address)).status_code == 200
    assert spender.used() == used


BEYOND = [
    ("above", lambda: pay(11)),
    ("an unlimited approval", lambda: on_token("approve(address,uint256)", payee(), UNLIMITED)),
    ("an unlimited permit", lambda: permit(UNLIMITED)),
    ("an unknown call", lambda: ethereum(ROUTER, 0, bytes.fromhex("deadbeef"))),
    ("a raw digest", lambda: payload(f"{next(_serial):064x}")),
    ("unknown typed data", lambda: typed("Order", "address maker", {"maker": payee()})),
    ("an authorization of code", lambda: AUTHORIZED),
]


@pytest.mark.one_engine
@pytest.mark.parametrize("made", [row[1] for row in BEYOND], ids=[row[0] for row in BEYOND])
def test_what_is_beyond_or_unknown_is_not_allowed_and_is_denied(made: Any, server: Server) -> None:
    spender = Spender(server.caller)
    response = spender.sign(made())
    status, message = refusal(response)
    assert (status, f"({spender.identifier})" in message) == (403, True)
    (told,) = response.json()["details"][0]["velocityControls"]
    assert (told["used"], told["remaining"], told["threshold"]) == ("0", "10", "10")
    # Something else allows it, and a denial says what it does not.
    spender.allow("activity.kind in ['SIGN_TRANSACTION', 'SIGN_RAW_PAYLOAD']")
    denial = policy_params(condition=f"!controls.{spender.identifier}", effect="EFFECT_DENY")
    denial_id = spender.root.result("create_policy", denial)["policyId"]
    assert "policies denied" in spender.sign(made()).json()["details"][0]["message"]
    spender.root.submitted("delete_policy", {"policyId": denial_id})
    assert spender.sign(made()).status_code == 200
    spender.root.submitted("delete_policy", {"policyId": spender.policy_id})


@pytest.mark.one_engine
def test_tokens_of_several_decimals_are_summed_exactly(server: Server) -> None:
    source = {
        "chainAssetTransfer": {
            "definition": [{**TOKEN, "decimals": "6"}, {"caip19": f"eip155:1/erc20:{ROUTER}", "decimals": "18"}]
        }
    }
    spender = Spender(server.caller, source, threshold="150.000000000000000001")
    transfer = "transfer(address,uint256)"
    assert spender.sign(ethereum(USDC, 0, call(transfer, payee(), 149_999_999))).status_code == 200
    assert spender.sign(ethereum(ROUTER, 0, call(transfer, payee(), 10**12 + 2))).status_code == 403
    assert spender.sign(ethereum(ROUTER, 0, call(transfer, payee(), 10**12 + 1))).status_code == 200
    assert spender.usage() == {
        "used": "150.000000000000000001",
        "threshold": "150.000000000000000001",
        "remaining": "0",
        "freesAt": spender.usage()["freesAt"],
    }


OPERATORS = [
    ("LESS_THAN", [1, 1], [True, False]),
    ("LESS_THAN_OR_EQUAL", [2, 1], [True, False]),
    ("EQUAL", [1, 2], [False, True]),
    ("GREATER_THAN_OR_EQUAL", [1, 2], [False, True]),
    ("GREATER_THAN", [2, 3], [False, True]),
]


@pytest.mark.one_engine
@pytest.mark.parametrize(("operator", "amounts", "expected"), OPERATORS, ids=[row[0] for row in OPERATORS])
def test_operators(operator: str, amounts: list[int], expected: list[bool], server: Server) -> None:
    """The sum with the activity under decision, compared with 2."""
    spender = Spender(server.caller, threshold="2", operator=f"{PREFIX}OPERATOR_{operator}")
    assert [spender.sign(pay(amount)).status_code == 200 for amount in amounts] == expected


@pytest.mark.one_engine
def test_groups(server: Server) -> None:
    root = server.caller
    by_user, by_wallet = (Spender(root, groupBy={by: {}}, window={"infinite": {}}) for by in ("user", "wallet"))
    friend = root.new_user()
    for spender in (by_user, by_wallet):
        spender.allow(f"controls.{spender.identifier}", friend)
        assert spender.sign(pay(7)).status_code == 200
    assert by_user.sign(pay(7), friend).status_code == 200
    assert by_user.sign(pay(7)).status_code == 403
    assert by_user.used(userId=friend.user_id) == by_user.used(userId=by_user.user.user_id) == "7"
    assert by_user.used() == "0"  # the root user, who asks
    assert by_wallet.sign(pay(7), friend).status_code == 403
    key = root.result("create_private_keys", {"privateKeys": [private_key_params()]})["privateKeys"][0]
    assert by_wallet.sign(pay(7), sign_with=key["privateKeyId"]).status_code == 200
    assert by_wallet.used(walletId=by_wallet.wallet_id) == by_wallet.used(walletId=key["privateKeyId"]) == "7"
    assert refusal(root.ask("get_velocity_control_usage", velocityControlId=by_wallet.control_id))[0] == 400


@pytest.mark.one_engine
def test_counts_of_transfers_and_of_executions(server: Server) -> None:
    root = server.caller
    transfers = Spender(root, method=COUNT, threshold="1")
    assert transfers.sign(ethereum(ROUTER, 0, call("transfer(address,uint256)", payee(), 1))).status_code == 200
    assert [transfers.sign(pay(500)).status_code for _ in range(2)] == [200, 403]
    created = {"activityExecution": {"filter": {"activity": [{"activityType": "ACTIVITY_TYPE_CREATE_POLICY"}]}}}
    executions = Spender(root, created, method=COUNT, threshold="2")
    used = int(executions.used())  # its own policy, made by the root user, of a later version of the type
    assert used == 1
    assert [executions.user.submit("create_policy", policy_params()).status_code for _ in range(2)] == [200, 403]
    assert executions.sign(pay(1)).status_code == 200  # it is not counted, and the limit holds without it
    assert executions.used() == "2"


@pytest.mark.one_engine
def test_a_filter_by_type_means_all_versions(server: Server) -> None:
    types = {"activity": [{"activityType": "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD"}]}
    spender = Spender(server.caller, {"chainAssetTransfer": {"definition": [TOKEN], "filter": types}})
    assert spender.sign(permit(3)).status_code == 200
    assert spender.sign(on_token("transfer(address,uint256)", payee(), 300)).status_code == 200
    assert spender.used() == "3"


CHAINS = [
    (
        "solana",
        SOLANA,
        "TRANSACTION_TYPE_SOLANA",
        solana(pays(FRIEND)),
        "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/slip44:501",
        "1",
    ),
    (
        "solana, to itself",
        SOLANA,
        "TRANSACTION_TYPE_SOLANA",
        solana(pays(Pubkey.from_string(SOLANA))),
        "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/slip44:501",
        "0",
    ),
    (
        "bitcoin",
        BITCOIN,
        "TRANSACTION_TYPE_BITCOIN",
        bitcoin(500),
        "bip122:000000000019d6689c085ae165831e93/slip44:0",
        "200000",
    ),
    ("tron", TRON, "TRANSACTION_TYPE_TRON", None, "tron:0x2b6653dc/slip44:195", None),
]


def test_who_is_bound(server: Server) -> None:
    """The root quorum signs beyond a limit, and what it signs counts."""
    spender = Spender(server.caller)
    assert spender.sign(pay(100), spender.root).status_code == 200
    assert spender.used() == "100"
    assert spender.sign(pay(1)).status_code == 403


def test_approvals_that_arrive_late(server: Server) -> None:
    """Two activities wait for the same approval; what is left is enough for one."""
    spender = Spender(server.caller)
    root, second = spender.root, spender.root.new_user()
    root.submitted("delete_policy", {"policyId": spender.policy_id})
    both = " && ".join(f"approvers.any(u, u.id == '{each.user_id}')" for each in (spender.user, second))
    params = policy_params(condition=f"controls.{spender.identifier}", consensus=both)
    root.result("create_policy", params)
    waiting = [answered(spender.sign(pay(7)))["activity"] for _ in range(2)]
    assert {each["status"] for each in waiting} == {"ACTIVITY_STATUS_CONSENSUS_NEEDED"}
    assert spender.used() == "0"
    votes = [second.submit("approve_activity", {"fingerprint": each["fingerprint"]}) for each in waiting]
    assert [vote.status_code for vote in votes] == [200, 403]
    assert f"({spender.identifier})" in refusal(votes[1])[1]
    assert spender.used() == "7"


def test_repeated_bytes_count_once(server: Server) -> None:
    spender = Spender(server.caller)
    body = spender.user.submit_body("sign_transaction", {"signWith": spender.address, **pay(6)})
    path = "/public/v1/submit/sign_transaction"
    first, second = (answered(spender.user.post(path, body))["activity"]["id"] for _ in range(2))
    assert (first == second, spender.used()) == (True, "6")


REFUSED = [
    ("an operator that is not one", {"operator": f"{PREFIX}OPERATOR_NOT"}, {}, "operator"),
    ("39 digits", {"threshold": "1" * 39}, {}, "threshold"),
    ("39 digits with a point", {"threshold": "1" * 38 + ".1"}, {}, "threshold"),
    ("19 fractional digits", {"threshold": "1." + "1" * 19}, {}, "threshold"),
    ("a negative threshold", {"threshold": "-1"}, {}, "threshold"),
    ("two windows", {"window": {"infinite": {}, "rolling": {"duration": "1"}}}, {}, "exactly one"),
    ("no window", {"window": {}}, {}, "exactly one"),
    ("no duration", {"window": {"rolling": {"duration": "0"}}}, {}, "duration"),
    ("two groups", {"groupBy": {"user": {}, "wallet": {}}}, {}, "exactly one"),
    (
        "a reserved phase",
        {},
        {"chainAssetTransfer": {"definition": [NATIVE], "phase": {"submission": {}}}},
        "reserved",
    ),
    ("no asset", {}, {"chainAssetTransfer": {"definition": []}}, "definition"),
    (
        "another name of an asset",
        {},
        {"chainAssetTransfer": {"definition": [{**NATIVE, "caip19": "eip155:01/slip44:60"}]}},
        "eip155:N/erc20",
    ),
    (
        "an NFT",
        {},
        {"chainAssetTransfer": {"definition": [{**NATIVE, "caip19": f"eip155:1/erc721:{USDC}"}]}},
        "eip155:N/erc20",
    ),
    (
        "an asset twice",
        {},
        {"chainAssetTransfer": {"definition": [TOKEN, {**TOKEN, "caip19": TOKEN["caip19"].replace("a0", "A0")}]}},
        "listed, too",
    ),
    ("decimals above 255", {}, {"chainAssetTransfer": {"definition": [{**NATIVE, "decimals": "256"}]}}, "decimals"),
    (
        "an unknown activity",
        {},
        {"activityExecution": {"filter": {"activity": [{"activityType": "ACTIVITY_TYPE_X"}]}}},
        "ACTIVITY_TYPE_X",
    ),
]


@pytest.mark.one_engine
@pytest.mark.parametrize(
    ("aggregation", "source", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused_controls(aggregation: Any, source: Any, said: str, server: Server) -> None:
    status, message = refusal(
        server.caller.submit("create_velocity_control", control_params(source or SOURCE, **aggregation))
    )
    assert (status, said in message) == (400, True), message


@pytest.mark.one_engine
def test_identifiers(server: Server) -> None:
    root = server.caller
    params = control_params()
    root.submitted("create_velocity_control", params)
    again = root.submit("create_velocity_control", params | {"name": unique("limit")})
    assert refusal(again)[0] in (400, 409)
    for identifier in ("", "1a", "a-b", "a b", "true", "in", "x" * 65):
        assert refusal(root.submit("create_velocity_control", params | {"identifier": identifier}))[0] == 400


@pytest.mark.one_engine
def test_a_control_that_is_named_stays_and_an_unknown_one_cannot_be_named(server: Server) -> None:
    root = server.caller
    user = root.new_user()
    named = control_params()
    control_id = root.result("create_velocity_control", named)["velocityControlId"]
    condition = f"controls.{named['identifier']}"
    mfa = mfa_policy_params(user.user_id, [{"type": "AUTHENTICATION_TYPE_API_KEY"}])
    rules = [
        ("create_policy", policy_params(condition=condition), "policyId", "delete_policy", {}),
        (
            "create_mfa_policy",
            mfa | {"condition": condition},
            "mfaPolicyId",
            "delete_mfa_policy",
            {"userId": user.user_id},
        ),
    ]
    for operation, parameters, id_name, deletion, further in rules:
        wrong = {**parameters, "condition": "controls.nothing_like_it"}
        status, message = refusal(root.submit(operation, wrong))
        assert (status, "controls.nothing_like_it" in message) == (400, True)
        made = root.result(operation, parameters)[id_name]
        status, message = refusal(root.submit("delete_velocity_control", {"velocityControlId": control_id}))
        assert (status, "cannot be deleted" in message) == (400, True), message
        root.submitted(deletion, {id_name: made, **further})
    assert (
        refusal(root.submit("create_session_profile", session_profile_params("controls.nothing_like_it")))[0] == 400
    )
    root.submitted("delete_velocity_control", {"velocityControlId": control_id})
    assert refusal(root.ask("get_velocity_control", velocityControlId=control_id))[0] == 404


@pytest.mark.one_engine
def test_reading_controls(server: Server) -> None:
    spender = Spender(server.caller)
    control = spender.root.asked("get_velocity_control", velocityControlId=spender.control_id)["velocityControl"]
    assert control["identifier"] == spender.identifier
    assert control["aggregation"]["groupBy"] == {"organization": {}}
    assert control["organizationId"] == spender.root.organization_id
    assert set(control["createdAt"]) == {"seconds", "nanos"}
    assert control in spender.root.asked("list_velocity_controls")["velocityControls"]


@pytest.mark.one_engine
def test_the_record_and_the_explanation_say_what_is_left(server: Server) -> None:
    spender = Spender(server.caller)
    assert spender.sign(pay(7)).status_code == 200
    refused = spender.sign(pay(4)).json()["details"][0]["activityId"]
    (evaluation,) = spender.root.asked("get_policy_evaluations", activityId=refused)["policyEvaluations"]
    (own,) = [each for each in evaluation["policyEvaluations"] if each["policyId"] == spender.policy_id]
    for said in ("at most 10 in 24 hours", "7 is used", "adds 4", "3 remains"):
        assert said in own["reason"], own
    spender.root.submitted("delete_policy", {"policyId": spender.policy_id})
    consensus = f"approvers.any(u, u.id == '{spender.user.user_id}') && approvers.count() > 1"
    params = policy_params(condition=f"controls.{spender.identifier}", consensus=consensus)
    policy_id = spender.root.result("create_policy", params)["policyId"]
    waiting = answered(spender.sign(pay(1)))["activity"]["id"]
    clauses = spender.root.asked("explain_policy", activityId=waiting, policyId=policy_id)["explainedClauses"]
    ((part,),) = [each["parts"] for each in clauses if each["clause"] == "condition"]
    (value,) = part["values"]
    assert value["path"] == f"controls.{spender.identifier}"
    assert "7 is used, this activity adds 1, 3 remains" in value["value"]
    spender.root.submitted("delete_policy", {"policyId": policy_id})  # its consensus counts everybody


@pytest.mark.one_engine
def test_mfa_conditions_read_controls(server: Server) -> None:
    """A second step is needed above the limit."""
    spender = Spender(server.caller)
    spender.root.submitted("delete_policy", {"policyId": spender.policy_id})
    spender.allow("activity.action == 'SIGN'")
    methods = [{"type": "AUTHENTICATION_TYPE_PASSKEY"}]
    mfa = mfa_policy_params(spender.user.user_id, methods) | {"condition": f"!controls.{spender.identifier}"}
    spender.root.submitted("create_mfa_policy", mfa)
    statuses = [answered(spender.sign(pay(amount)))["activity"]["status"] for amount in (10, 1)]
    assert statuses == ["ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"]
    assert spender.used() == "10"


@pytest.mark.one_engine
def test_their_number_is_limited(installation: Installation, start: Callable[..., Server]) -> None:
    root = start(installation, limit_velocity_controls=1).caller
    root.submitted("create_velocity_control", control_params())
    status, message = refusal(root.submit("create_velocity_control", control_params()))
    assert (status, "velocity controls: 1 of 1 are in use" in message) == (429, True), message
    assert len(root.asked("list_velocity_controls")["velocityControls"]) == 1
