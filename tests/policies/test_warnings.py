"""Warnings about DENY policies that fail: as worded, and held against evaluation itself in every situation."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from keystead.api.catalogue import activity_kind
from keystead.api.enums import Effect
from keystead.api.records import Policy, Timestamp
from keystead.policies.activity_shapes import Situation, situations
from keystead.policies.evaluation_context import EvaluationContext, EvaluationError
from keystead.policies.grammar import parse
from keystead.policies.namespaces import KEYWORDS, PARAMS, Clause
from keystead.policies.resources import SUBJECTS
from keystead.policies.types import ListOf, MapOf, Scalar, StructOf, Type
from keystead.policies.warnings import Survey, is_settled_by_type, unsafe_denials
from tests.support.policy_fixtures import compiled


def policy(condition: str, effect: Effect = Effect.DENY, policy_id: str = "id") -> Policy:
    born = Timestamp.from_ms(0)
    return Policy(
        policy_id=policy_id,
        policy_name="Big",
        effect=effect,
        created_at=born,
        updated_at=born,
        notes="",
        consensus="",
        condition=condition,
    )


SAFE = [
    "",
    "true",
    "activity.action == 'DELETE'",
    "activity.resource == 'WALLET' && !(activity.action == 'CREATE')",
    "activity.kind == 'EXPORT_WALLET' && wallet.id != 'x'",
    "activity.kind in ['EXPORT_WALLET', 'EXPORT_WALLET_ACCOUNT'] && wallet.id != 'x'",
    "['EXPORT_WALLET', 'EXPORT_WALLET_ACCOUNT'].contains(activity.kind) && wallet.id != 'x'",
    "'EXPORT_WALLET' == activity.kind && wallet.id != 'x'",
    "!(activity.kind != 'EXPORT_WALLET') && wallet.id != 'x'",
    "activity.kind == 'DELETE_WALLETS' && wallets.any(wallet, wallet.label == 'x')",
    "activity.kind == 'DELETE_USERS' && activity.params.user_ids.contains('A')",
    "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2' && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'"
    " && eth.tx.value > 5",
    "activity.kind == 'SIGN_RAW_PAYLOAD' && activity.params.encoding == 'PAYLOAD_ENCODING_EIP712'"
    " && eth.eip_712.primary_type == 'Permit'",
    "false && wallet.id == 'x'",
    "activity.kind == ",
]


@pytest.mark.parametrize("condition", SAFE)
def test_nothing_to_warn_of(condition: str) -> None:
    assert unsafe_denials([policy(condition)]) == []


NOTHING = "DENY policy 'Big' (id): it denies nothing"
WHERE = f"{NOTHING} where its condition fails because"
WARNED: list[tuple[str, list[str]]] = [
    (
        "eth.tx.value > 5",
        [
            f"{WHERE} eth.tx is absent: every kind of activity but ETH_SEND_TRANSACTION and some forms of "
            "SIGN_TRANSACTION"
        ],
    ),
    (
        "activity.kind == 'SIGN_TRANSACTION' && eth.tx.value > 5",
        [f"{WHERE} eth.tx is absent: some forms of SIGN_TRANSACTION"],
    ),
    (
        "activity.resource == 'WALLET' && wallet.id == 'x'",
        [
            f"{WHERE} wallet is absent: CREATE_WALLET, CREATE_WALLET_ACCOUNTS, DELETE_WALLETS, "
            "DELETE_WALLET_ACCOUNTS, IMPORT_WALLET, INIT_IMPORT_WALLET and 2 more kinds of activity"
        ],
    ),
    (
        "activity.params.user_ids.count() > 1",
        [f"{WHERE} activity.params.user_ids is absent: every kind of activity but DELETE_USERS"],
    ),
    (
        "wallet.id == 'a' || private_key.id == 'b'",
        [f"{NOTHING}, for its condition fails on every activity: wallet or private_key is absent"],
    ),
    (
        "activity.action == 'SIGN' && (eth.tx.value > 5 || solana.tx.transfers.any(t, t.amount > 5))",
        [f"{NOTHING} where", f"{NOTHING} where"],
    ),
    (
        "activity.kind == 'ETH_SEND_TRANSACTION' && eth.tx.function_name == 'x'"
        " && eth.tx.contract_call_args['wad'] < 5 && eth.tx.data[0..10] == '0x'",
        [
            f"{WHERE} eth.tx.function_name or eth.tx.contract_call_args[…] or eth.tx.data[…] is absent or out of "
            "range"
        ],
    ),
    (
        "activity.kind == 'SOL_SEND_TRANSACTION'"
        " && solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'route')",
        [f"{WHERE} i.parsed_instruction_data is absent or out of range"],
    ),
    ("['A'].any(x, private_key.id == x)", [f"{WHERE} private_key is absent: some forms of ETH_SEND_TRANSACTION, "]),
    ("'OPS' in private_key.tags", [f"{WHERE} private_key is absent: "]),
]


@pytest.mark.parametrize(("condition", "starts"), WARNED)
def test_warnings(condition: str, starts: list[str]) -> None:
    warnings = unsafe_denials([policy(condition)])
    assert len(warnings) == len(starts)
    for warning, start in zip(warnings, starts, strict=True):
        assert warning.startswith(start)


def test_only_of_deny_policies() -> None:
    assert unsafe_denials([policy("eth.tx.value > 5", Effect.ALLOW)]) == []


def test_where_failing_is_set_to_deny() -> None:
    (warning,) = unsafe_denials([policy("eth.tx.value > 5")], fail_closed=True)
    assert warning.startswith(
        "DENY policy 'Big' (id): it denies everything where its condition fails because eth.tx"
    )


def test_a_policy_without_an_id_of_its_own() -> None:
    (warning,) = unsafe_denials([policy("eth.tx.value > 5", policy_id="Big")])
    assert warning.startswith("DENY policy 'Big': it denies nothing")


SETTLED = [
    ("activity.kind == 'CREATE_USERS' && eth.tx.value > 5", "ACTIVITY_TYPE_CREATE_WALLET", True),
    ("activity.kind == 'CREATE_USERS' && eth.tx.value > 5", "ACTIVITY_TYPE_CREATE_USERS", False),
    ("eth.tx.value > 5", "ACTIVITY_TYPE_CREATE_WALLET", False),
    ("false", "ACTIVITY_TYPE_UPDATE_ROOT_QUORUM", False),
    ("activity.kind == ", "ACTIVITY_TYPE_CREATE_WALLET", False),
]


@pytest.mark.parametrize(("condition", "activity_type", "settled"), SETTLED)
def test_settled_by_type(condition: str, activity_type: str, settled: bool) -> None:
    assert is_settled_by_type(condition, activity_type) is settled


def filled(kind: Type) -> Any:
    """A value of a type, with nothing left out."""
    match kind:
        case StructOf(fields=fields):
            return {name: filled(member) for name, member in fields.items()}
        case ListOf(item=item):
            return [filled(item)]
        case MapOf(value=value):
            return {"key": filled(value)}
        case _:
            values: dict[Scalar, Any] = {Scalar.BOOL: True, Scalar.INT: 7, Scalar.NUMERAL: "7"}
            return values.get(kind, "0xab")


def request_in(situation: Situation) -> dict[str, Any]:
    """A request of this situation: every keyword that it fills, filled."""
    activity_type = situation.known["activity.type"]
    values: dict[str, Any] = {}
    put(values, situation.known)
    params = PARAMS.get(activity_kind(activity_type), {})
    values["activity"]["params"] = {name: filled(kind) for name, kind in params.items()} | values["activity"].get(
        "params", {}
    )
    for path in situation.present:
        if not path.startswith("activity."):
            keyword, _, member = path.partition(".")
            kind = KEYWORDS[Clause.CONDITION][keyword]
            if member:
                assert isinstance(kind, StructOf)
                values.setdefault(keyword, {})[member] = filled(kind.fields[member])
            else:
                values[keyword] = filled(kind)
    return values


def put(values: dict[str, Any], known: Mapping[str, str]) -> None:
    for path, value in known.items():
        *names, last = path.split(".")
        holder = values
        for name in names:
            holder = holder.setdefault(name, {})
        holder[last] = value


ATOMS = [
    "activity.kind == 'SIGN_TRANSACTION'",
    "activity.kind != 'SIGN_RAW_PAYLOAD'",
    "activity.action in ['SIGN', 'EXPORT']",
    "activity.resource == 'WALLET'",
    "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'",
    "activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'",
    "activity.params.encoding in ['PAYLOAD_ENCODING_EIP712', 'PAYLOAD_ENCODING_TEXT_UTF8']",
    "activity.params.user_ids.contains('A')",
    "activity.kind == activity.action",
    "eth.tx.value > 5",
    "eth.tx.to == '0xAB'",
    "eth.eip_712.primary_type == 'Permit'",
    "eth.eip_7702_authorization.nonce == '7'",
    "solana.tx.transfers.all(t, t.amount > 5)",
    "solana.tx.transfers.filter(t, activity.action == 'SIGN').count() > 0",
    "bitcoin.tx.fee > 5 ",
    "tron.tx.fee_limit != 7",
    "tempo.tx.calls.count() == 1",
    "wallet.exported",
    "wallets.any(wallet, wallet.exported)",
    "wallet_account.path_indexes.any(i, i > 5 && private_key.imported)",
    "private_key.tags.contains('0xab')",
    "['SIGN', 'EXPORT'].any(action, activity.action == action)",
    "secret.static_properties['key'] == 'x'",
    "true",
    "false",
]


def written(chance: Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(ATOMS)
    if chance.random() < 0.2:
        return f"!({written(chance, depth - 1)})"
    operands = [written(chance, depth - 1) for _ in range(chance.randint(2, 3))]
    return "(" + chance.choice([" && ", " || "]).join(operands) + ")"


REQUESTS = [(1 << bit, request_in(situation)) for bit, situation in enumerate(situations().each)]


@pytest.mark.parametrize("condition", [*ATOMS, *(written(Random(seed), 3) for seed in range(60))])
def test_as_it_evaluates(condition: str) -> None:
    said = Survey(situations()).of(parse(condition))
    expression = compiled(condition)
    for bit, request in REQUESTS:
        strictly = expression.evaluate(EvaluationContext(request))
        weighed = expression.evaluate_three_valued(EvaluationContext(request)).value
        assert isinstance(strictly, EvaluationError) == bool(said.fails & bit), request
        assert not said.true & bit or weighed is True, request
        assert not said.false & bit or weighed is False, request


def test_situations_are_of_every_kind() -> None:
    assert {situation.kind for situation in situations().each} == set(SUBJECTS)


def test_situations_know_every_keyword() -> None:
    paths = {path.split(".")[0] for path in situations().present}
    assert paths == set(KEYWORDS[Clause.CONDITION])
