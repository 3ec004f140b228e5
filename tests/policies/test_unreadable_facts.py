"""What policies make of parts that a transaction lacks or that nobody can resolve: for every fact of every chain.

The transactions are read by their parsers. A DENY policy about any value of an unreadable fact denies, an MFA
condition asks for proofs, an ALLOW policy allows nothing, and a session profile does not cover it.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from msgspec.structs import replace

from keystead.chains.bitcoin.facts import BitcoinTransaction
from keystead.chains.ethereum.facts import AuthorizationFacts, EthereumTransaction, TempoTransaction, TypedDataFacts
from keystead.chains.solana.facts import SolanaTransaction
from keystead.chains.tron.facts import TronTransaction
from keystead.pipeline.mfa import MfaConditions
from keystead.policies.authorize import Rule, Verdict, authorize
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext, Unknown
from keystead.policies.language.expression import Expression, compile_stored
from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.types import TEXTS, ListOf, MapOf, Scalar, StructOf, Type
from keystead.policies.policy import mfa_condition_source, scope_source
from keystead.policies.request import RequestedActivity, condition_values
from keystead.primitives.unreadable import Unreadable
from tests.support.partial_transactions import partial_transactions
from tests.support.policy_fixtures import allow, compiled, deny, request

TRANSACTIONS = partial_transactions()
SIGN = "SIGN_TRANSACTION_V2"
DECLARED: Mapping[str, Any] = {
    "eth.tx": EthereumTransaction,
    "eth.eip_712": TypedDataFacts,
    "eth.eip_7702_authorization": AuthorizationFacts,
    "tempo.tx": TempoTransaction,
    "solana.tx": SolanaTransaction,
    "bitcoin.tx": BitcoinTransaction,
    "tron.tx": TronTransaction,
}


# Which facts may be unreadable


def declared_unreadable(declared: Any, path: str) -> Iterator[str]:
    """The paths of the facts that are declared as Unreadable or something else; [] for an item."""
    if is_typeddict(declared):
        for name, kind in get_type_hints(declared).items():
            yield from declared_unreadable(kind, f"{path}.{name}")
    elif get_origin(declared) in (types.UnionType, Union):
        for kind in get_args(declared):
            if kind is Unreadable:
                yield path
            else:
                yield from declared_unreadable(kind, path)
    elif get_origin(declared) in (list, dict):
        yield from declared_unreadable(get_args(declared)[-1], f"{path}[]")
    elif declared is Any:
        yield path


def unreadable_paths(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Unreadable):
        yield path
    elif isinstance(value, Mapping):
        is_map = path.endswith(("named_account", "named_accounts", "contract_call_args", "call_args", "message"))
        for name, inner in value.items():
            yield from unreadable_paths(inner, f"{path}[]" if is_map else f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from unreadable_paths(inner, f"{path}[]")


def test_each_fact_that_may_be_unreadable_is_so_in_some_transaction_and_no_other() -> None:
    declared = {path for root, kind in DECLARED.items() for path in declared_unreadable(kind, root)}
    seen = {
        path
        for keywords in TRANSACTIONS.values()
        for chain, members in keywords.items()
        for member, facts in members.items()
        for path in unreadable_paths(facts, f"{chain}.{member}")
    }
    arguments = "solana.tx.instructions[].parsed_instruction_data.program_call_args[]"
    always_read = {"eth.tx.contract_call_args[]", "eth.eip_712.message[]"}
    of_all_chains = {re.sub(r".*\.movements", "movements", path) for path in seen - {f"{arguments}[]"}}
    assert of_all_chains == {re.sub(r".*\.movements", "movements", path) for path in declared - always_read}


# What policies make of them


def typed_values(kind: Type, value: Any, path: str) -> Iterator[tuple[str, Type, Any]]:
    """Each fact inside this one that is unreadable or a leaf, as an expression writes it, with its type."""
    match kind:
        case _ if isinstance(value, Unreadable):
            yield path, kind, value
        case StructOf(fields=fields):
            for name, inner in value.items():
                yield from typed_values(fields[name], inner, f"{path}.{name}")
        case ListOf(item=item):
            for position, inner in enumerate(value):
                yield from typed_values(item, inner, f"{path}[{position}]")
        case MapOf(value=item):
            for name, inner in value.items():
                yield from typed_values(item, inner, f"{path}['{name}']")
        case Scalar.DYNAMIC if isinstance(value, list):
            for position, inner in enumerate(value):
                yield from typed_values(kind, inner, f"{path}[{position}]")
        case _:
            yield path, kind, value


def facts_of(keywords: Mapping[str, Any]) -> Iterator[tuple[str, Type, Any]]:
    for chain, members in keywords.items():
        kind = KEYWORDS[Clause.CONDITION][chain]
        assert isinstance(kind, StructOf)
        for member, facts in members.items():
            yield from typed_values(kind.fields[member], facts, f"{chain}.{member}")


def about_any_value(path: str, kind: Type) -> Iterator[str]:
    """Conditions about a value of this fact, in every form that the language has."""
    match kind:
        case StructOf(fields=fields):
            for name, field in fields.items():
                yield from about_any_value(f"{path}.{name}", field)
        case MapOf(value=value):
            yield from about_any_value(f"{path}['x']", value)
        case ListOf(item=item):
            yield from (f"{path}.count() > 0", f"{path}.count() == 0", f"{path}[0..1].count() == 1")
            yield from (f"{path}.any(x, true)", f"{path}.all(x, true)", f"{path}.filter(x, true).count() >= 0")
            yield from about_any_value(f"{path}[0]", item)
        case Scalar.BOOL:
            yield from (path, f"!{path}", f"{path} == true", f"{path} != true", f"{path} in [true]")
        case Scalar.INT | Scalar.NUMERAL:
            for operator in ("==", "!=", "<", "<=", ">", ">="):
                yield from (f"{path} {operator} 77", f"77 {operator} {path}", f"!({path} {operator} 77)")
            yield from (f"{path} in [76, 77]", f"[76, 77].contains({path})", f"!({path} in [77])")
            yield from (f"[{path}, 76].contains(77)", f"[{path}].any(x, x == 77)", f"[77].all(x, x == {path})")
        case Scalar.DYNAMIC:
            yield from about_any_value(path, Scalar.INT)
            yield from about_any_value(path, Scalar.STRING)
            yield from (path, f"!{path}", f"{path}.any(x, x == 7)", f"{path}.count() == 0", f"{path}['x'] == 1")
        case _:
            assert kind in TEXTS
            yield from (
                f"{path} == 'v'",
                f"{path} != 'v'",
                f"'v' == {path}",
                f"!({path} == 'v')",
                f"!({path} != 'v')",
            )
            yield from (f"!!({path} == 'v')", f"({path} == 'v') == false", f"({path} != 'v') != true")
            yield from (f"{path} in ['u', 'v']", f"['u', 'v'].contains({path})", f"!({path} in ['v'])")
            yield from (f"[{path}, 'u'].contains('v')", f"[{path}].any(x, x == 'v')", f"['v'].all(x, x != {path})")
            yield from (f"{path}[0..1] == 'v'", f"{path}[0] != 'v'", f"{path} == {path}")


def through_its_list(path: str, kind: Type) -> Iterator[str]:
    """Conditions about the items of the list that has this fact: DENY is silent only if no item could match."""
    before, bracket, after = path.rpartition("[")
    position, _, field = after.partition("]")
    if bracket and position.isdigit() and kind in TEXTS and "[" not in field:
        yield from (f"{before}.any(i, i{field} == 'v')", f"!{before}.all(i, i{field} != 'v')")
        yield from (
            f"{before}.filter(i, i{field} == 'v').count() > 0",
            f"!({before}.any(i, i{field} != 'w') == false)",
        )


UNREADABLE = [
    pytest.param(keywords, path, kind, id=f"{name} · {path}")
    for name, keywords in TRANSACTIONS.items()
    for path, kind, value in facts_of(keywords)
    if isinstance(value, Unreadable)
]


@pytest.mark.parametrize(("keywords", "path", "kind"), UNREADABLE)
def test_no_value_of_an_unreadable_fact_is_known(keywords: Mapping[str, Any], path: str, kind: Type) -> None:
    values = condition_values(RequestedActivity(type=f"ACTIVITY_TYPE_{SIGN}"), keywords)
    for condition in about_any_value(path, kind):
        assert isinstance(
            compiled(condition).evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX)), Unknown
        ), condition
    for condition in through_its_list(path, kind):
        assert compiled(condition).evaluate(EvaluationContext(values), Budget(EXPRESSION_STEPS_MAX)) is not False, (
            condition
        )


@pytest.mark.parametrize(("keywords", "path", "kind"), UNREADABLE)
def test_what_is_unknown_denies_asks_for_proofs_and_allows_nothing(
    keywords: Mapping[str, Any], path: str, kind: Type
) -> None:
    values = condition_values(RequestedActivity(type=f"ACTIVITY_TYPE_{SIGN}"), keywords)
    for condition in list(about_any_value(path, kind))[:6]:
        denial = authorize(*request("A", SIGN, [deny(condition), allow()], resources=keywords))
        assert (denial.verdict, denial.policy_ids) == (Verdict.DENY_EXPLICIT, ("P0",)), condition
        assert path.rpartition(".")[2].partition("[")[0] in (denial.evaluations[0].reason or ""), condition
        assert (
            authorize(*request("A", SIGN, [allow(condition)], resources=keywords)).verdict is Verdict.DENY_IMPLICIT
        )
        compiled_condition = compile_stored(mfa_condition_source(condition))
        assert MfaConditions({condition: compiled_condition}, [values]).where(condition) == 1, condition
        asked, policies = request("A", SIGN, [allow()], resources=keywords)
        in_session = replace(asked, scope=Expression(scope_source(condition)))
        assert authorize(in_session, policies).rule is Rule.SESSION_SCOPE, condition


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_readable_fact_denies_by_its_value_alone(name: str) -> None:
    """Otherwise the tests above could hold because everything is unknown."""
    keywords = TRANSACTIONS[name]
    seen = 0
    for path, _, value in facts_of(keywords):
        if isinstance(value, bool | int | str):
            literal = f"'{value}'" if isinstance(value, str) else str(value).lower()
            for operator, verdict in (("==", Verdict.DENY_EXPLICIT), ("!=", Verdict.ALLOW)):
                asked = request("A", SIGN, [deny(f"{path} {operator} {literal}"), allow()], resources=keywords)
                assert authorize(*asked).verdict is verdict, path
            seen += 1
    assert seen > 1


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_the_documented_literal_of_an_unreadable_fact(name: str) -> None:
    keywords = TRANSACTIONS[name]
    for path, kind, value in facts_of(keywords):
        if isinstance(value, Unreadable) and value.literal is not None:
            literal = f"'{value.literal}'" if kind in TEXTS else str(value.literal)
            for condition in (
                f"{path} == {literal}",
                f"{literal} == {path}",
                f"!({path} != {literal})",
                f"{path} in [{literal}]",
                f"[{literal}].contains({path})",
                *([f"{path} == '{value.literal}'"] if kind is Scalar.NUMERAL else []),
            ):
                asked = request("A", SIGN, [allow(condition)], resources=keywords)
                assert authorize(*asked).verdict is Verdict.ALLOW, condition
            asked = request("A", SIGN, [deny(f"{path} != {literal}"), allow()], resources=keywords)
            assert authorize(*asked).verdict is Verdict.ALLOW, path
