"""The analysis of conditions by the shapes of activities, against evaluation itself, for every shape."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from keystead.api.catalogue import activity_kind
from keystead.policies.activity_shapes import ACTIVITY_SHAPES, ActivityShape
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, NotApplicable, Unknown
from keystead.policies.language.grammar import parse
from keystead.policies.language.namespaces import CONTROLS, KEYWORDS, PARAMS, Clause
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type
from keystead.policies.linting.condition_analysis import ConditionAnalysis
from keystead.policies.resources import GOVERNED_KINDS, ROOT_ONLY
from tests.support.policy_fixtures import compiled


def filled(kind: Type) -> Any:
    """A value of a type, with nothing left out."""
    match kind:
        case StructOf(fields=fields):
            return {name: filled(member) for name, member in fields.items()}
        case ListOf(item=item):
            return [filled(item)]
        case MapOf(value=value) | NamedByOrganization(value=value):
            return {"key": filled(value)}
        case _:
            values: dict[Scalar, Any] = {Scalar.BOOL: True, Scalar.INT: 7, Scalar.NUMERAL: 7}
            return values.get(kind, "0xab")


def request_in(shape: ActivityShape) -> dict[str, Any]:
    """A request of this shape: every keyword that it fills, filled."""
    activity_type = shape.known["activity.type"]
    values: dict[str, Any] = {}
    put(values, shape.known)
    params = PARAMS.get(activity_kind(activity_type), {})
    values["activity"]["params"] = {name: filled(kind) for name, kind in params.items()} | values["activity"].get(
        "params", {}
    )
    for path in shape.present:
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
    "activity.type != 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'",
    "!(activity.type in ['ACTIVITY_TYPE_SIGN_TRANSACTION', 'ACTIVITY_TYPE_CREATE_USERS_V4'])",
    "['ACTIVITY_TYPE_SIGN_TRANSACTION'].contains(activity.type)",
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


REQUESTS = [(1 << bit, request_in(situation)) for bit, situation in enumerate(ACTIVITY_SHAPES.shapes)]


@pytest.mark.parametrize("condition", [*ATOMS, *(written(Random(seed), 3) for seed in range(60))])
def test_the_analysis_agrees_with_evaluation(condition: str) -> None:
    result = ConditionAnalysis(ACTIVITY_SHAPES).of(parse(condition))
    expression = compiled(condition)
    for bit, request in REQUESTS:
        value = expression.evaluate(EvaluationContext(request), Budget(EXPRESSION_STEPS_MAX))
        assert isinstance(value, NotApplicable) == bool(result.lacking & bit), request
        assert not result.true & ~result.lacking & bit or value is True, request
        assert not result.false & ~result.lacking & bit or value is False, request
        assert not result.unknown & ~result.lacking & bit or isinstance(value, Unknown), request


def test_shapes_are_of_every_kind() -> None:
    assert {shape.kind for shape in ACTIVITY_SHAPES.shapes} == GOVERNED_KINDS.keys() | ROOT_ONLY


def test_shapes_know_every_keyword() -> None:
    paths = {path.split(".")[0] for path in ACTIVITY_SHAPES.present}
    assert paths | {CONTROLS} == set(KEYWORDS[Clause.CONDITION])  # every activity has the controls
