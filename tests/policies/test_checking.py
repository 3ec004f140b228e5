"""The static check: which expressions are accepted, and the message for each refused one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.syntax import ExpressionRefused
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type
from tests.support.policy_fixtures import compiled

CONDITION, CONSENSUS, TIME = Clause.CONDITION, Clause.CONSENSUS, Clause.TIME

ACCEPTED = [
    (CONSENSUS, "true"),
    (CONSENSUS, "approvers.any(user, user.email == 'a@b.c' || user.alias == 'Ana')"),
    (CONSENSUS, "approvers.filter(u, u.tags.contains('t')).count >= 2"),
    (CONSENSUS, "approvers[0].id in ['A', 'B'] && approvers[0..1].all(u, 'OPS' in u.tags)"),
    (CONSENSUS, "credentials.any(c, c.type == 'X' && c.credential_id == 'y' && c.user_id == 'z')"),
    (CONSENSUS, "approvers.all(u, credentials.any(c, c.user_id == u.id && c.public_key == '02'))"),
    (CONDITION, "activity.kind in []"),
    (CONDITION, "wallets.all(wallet, wallet.label == 'x')"),
    (CONDITION, "wallet.imported == true && !wallet.exported"),
    (CONDITION, "wallet_account.path_indexes[0] == 44 && wallet_account.path_hardened[0]"),
    (CONDITION, "private_key.tags.contains('t') && private_key.label[0] == 'a'"),
    (CONDITION, "secret.static_properties['kind'] == 'card'"),
    (CONDITION, "secret.static_properties[activity.kind] == activity.action"),
    (CONDITION, "eth.tx.from == '0xA' && eth.tx.value < eth.tx.gas"),
    (CONDITION, "eth.tx.contract_call_args['a']['b'][0][1..2].all(x, x == 1)"),
    (CONDITION, "eth.tx.contract_call_args['a'].b == true && eth.tx.contract_call_args['flag']"),
    (CONDITION, "eth.eip_712.domain.chain_id == 1 && eth.eip_712.domain.chain_id > eth.tx.chain_id"),
    (CONDITION, "eth.eip_712.message['a'] in [1, 2] && eth.eip_712.message['b'].count() == 1"),
    (CONDITION, "eth.eip_712.message['a'] == eth.tx.to && eth.eip_712.message['a'] <= 5"),
    (CONDITION, "eth.eip_7702_authorization.chain_id == '1' && eth.eip_7702_authorization.nonce < 2"),
    (CONDITION, "eth.eip_7702_authorization.chain_id in ['1', '8453']"),
    (CONDITION, "eth.tx.to in [wallet_account.address, '0xab', activity.kind]"),
    (CONDITION, "solana.tx.instructions[0].accounts.any(a, a.signer && !a.writable)"),
    (CONDITION, "solana.tx.instructions[0].parsed_instruction_data.named_accounts['to'] == 'R'"),
    (CONDITION, "solana.tx.instructions[0].parsed_instruction_data.named_account['to'] == 'R'"),
    (CONDITION, "solana.tx.instructions[0].parsed_instruction_data.program_call_args['n'] < 5"),
    (CONDITION, "solana.tx.spl_transfers.all(t, t.signers.contains(t.owner))"),
    (CONDITION, "tron.tx.contract[0].owner.keys.all(k, k.weight > 0) && tron.tx.contract[0].lock"),
    (CONDITION, "bitcoin.tx.locktime.type == 'Blocks' && bitcoin.tx.inputs[0].vout == 0"),
    (CONDITION, "tempo.tx.calls[0].input[2..10] == 'A9059CBB' && tempo.tx.valid_after == 0"),
    (CONDITION, "activity.params.claim.leaves.all(l, l.leaf_id == 'x') && activity.params.otp_length == 6"),
    (CONDITION, "activity.params.signatures[0].derivation.static_deposit.index == 0"),
    (TIME, "time.now >= Timestamp('2026-09-01T06:00:00.5z') || !CronSpan('* * * * *', '1m', 'UTC')"),
    (TIME, "Timestamp('2026-09-01T06:00:00Z') == Timestamp('2026-09-01T06:00:00-00:00')"),
    (TIME, "time.now in [Timestamp('2026-09-01T06:00:00Z')]"),
]


@pytest.mark.parametrize(("clause", "text"), ACCEPTED)
def test_accepted(clause: Clause, text: str) -> None:
    compiled(text, clause)


REFUSED = [
    (CONDITION, "activity", 1, "expected a boolean as the whole expression, found a struct"),
    (CONDITION, "1", 1, "expected a boolean as the whole expression, found an integer"),
    (CONDITION, "wallets", 1, "found a list (each item a struct)"),
    (CONDITION, "[]", 1, "found an empty list"),
    (CONDITION, "activity.kind && true", 10, "expected a boolean as an operand of `&&`, found a string"),
    (CONDITION, "true || 1", 9, "expected a boolean as an operand of `||`, found an integer"),
    (CONDITION, "!'a'", 2, "expected a boolean as the operand of `!`, found a string"),
    (CONDITION, "wallets.any(w, w.label)", 18, "expected a boolean as the predicate of `any`"),
    (CONDITION, "foo == 1", 1, "field does not exist: foo: a condition expression knows activity,"),
    (CONDITION, "eth.tx.foo == 1", 8, "field does not exist: eth.tx.foo"),
    (CONDITION, "activity.params.foo == 1", 17, "field does not exist: activity.params.foo"),
    (CONDITION, "wallets[0].foo == 1", 12, "field does not exist: wallets[0].foo"),
    (CONDITION, "wallets.any(w, w.foo)", 18, "field does not exist: wallets[…].foo"),
    (CONDITION, "wallets.id == 'a'", 9, "field does not exist: wallets.id"),
    (CONDITION, "activity.kind.length == 1", 15, "field does not exist: activity.kind.length"),
    (CONDITION, "wallets.any(w, true) && w.id == 'a'", 25, "field does not exist: w"),
    (CONDITION, "approvers.count() > 1", 1, "approvers is known to consensus expressions only"),
    (CONDITION, "time.now == time.now", 1, "time is known to time expressions only"),
    (CONSENSUS, "activity.kind == 'a'", 1, "activity is known to condition expressions only"),
    (TIME, "wallet.id == 'a'", 1, "wallet is known to condition expressions only"),
    (CONDITION, "Timestamp('2026-09-01T06:00:00Z') == 1", 1, "Timestamp can be called in time expressions only"),
    (CONSENSUS, "CronSpan('* * * * *', '1m', 'UTC')", 1, "CronSpan can be called in time expressions only"),
    (CONDITION, "1 == 'a'", 3, "`==` cannot compare an integer with a string"),
    (CONDITION, "activity.kind < 'a'", 15, "`<` cannot compare a string with a string"),
    (CONDITION, "true > false", 6, "`>` cannot compare a boolean with a boolean"),
    (CONDITION, "eth.eip_712.message['a'] < 'b'", 26, "`<` cannot compare a value known at evaluation only"),
    (CONDITION, "eth.eip_712.message['a'] == wallets", 26, "`==` cannot compare"),
    (CONDITION, "wallets == wallets", 9, "`==` cannot compare a list"),
    (CONDITION, "wallet == wallet", 8, "`==` cannot compare a struct"),
    (CONDITION, "eth.eip_7702_authorization.nonce == true", 34, "`==` cannot compare"),
    (CONDITION, "eth.eip_7702_authorization.nonce == wallet.label", 34, "`==` cannot compare"),
    (CONDITION, "eth.eip_7702_authorization.nonce in private_key.tags", 34, "cannot"),
    (CONDITION, "eth.tx.value == '3'", 14, "`==` cannot compare an integer with a string"),
    (CONDITION, "eth.tx.value in ['3']", 14, "cannot"),
    (CONDITION, "eth.tx.value < '3'", 14, "`<` cannot compare an integer with a string"),
    (CONDITION, "wallet_account.path_indexes.contains('3')", 29, "cannot"),
    (CONDITION, "eth.tx.data == 3", 13, "`==` cannot compare"),
    (CONDITION, "activity.kind in ['a', 1]", 24, "the items of a list are of one type"),
    (CONDITION, "1 in [wallet]", 7, "a list literal holds numbers, strings or booleans, not a struct"),
    (CONDITION, "1 in ['a']", 3, "an integer cannot be in a list whose items are each a string"),
    (CONDITION, "activity.kind in 'abc'", 18, "in is a function of lists, and 'abc' is a string"),
    (CONDITION, "wallets.contains('a')", 9, "a string cannot be in a list whose items are each a struct"),
    (
        CONDITION,
        "activity.kind.contains('a')",
        10,
        "contains is a function of lists, and activity.kind is a string",
    ),
    (CONDITION, "activity.count() == 1", 1, "count is a function of lists, and activity is a struct"),
    (CONDITION, "eth.tx.contract_call_args.all(a, true)", 8, "all is a function of lists, and"),
    (CONDITION, "wallet['id'] == 'a'", 7, "a struct has no `[…]`"),
    (CONDITION, "eth.tx.value[0] == 1", 13, "an integer has no `[…]`"),
    (CONDITION, "wallets['a'].id == 'a'", 9, "expected an integer between `[` and `]`, found a string"),
    (CONDITION, "wallets[true].id == 'a'", 9, "expected an integer between `[` and `]`, found a boolean"),
    (CONDITION, "secret.static_properties[0] == 'a'", 26, "expected a string between `[` and `]`"),
    (CONDITION, "secret.static_properties.kind == 'a'", 26, "is a map: its values are written ['kind']"),
    (CONDITION, "wallet[0..1] == 'a'", 7, "a struct has no `[…..…]`"),
    (CONDITION, "activity.kind['a'..1] == 'a'", 15, "expected an integer on either side of `..`"),
    (TIME, "time.now", 6, "expected a boolean as the whole expression, found a timestamp"),
    (TIME, "time.now < 5", 10, "`<` cannot compare a timestamp with an integer"),
    (TIME, "time.now < Timestamp('now')", 22, "expected a timestamp such as"),
    (TIME, "time.now < Timestamp('2026-02-30T00:00:00Z')", 22, "no such date or time"),
    (TIME, "CronSpan('* * * *', '1h', 'UTC')", 10, "expected five fields"),
    (TIME, "CronSpan('* * * * *', '8d', 'UTC')", 23, "up to 7d"),
    (TIME, "CronSpan('* * * * *', '1h', 'Mars/Base')", 29, "expected the name of a time zone"),
]


@pytest.mark.parametrize(("clause", "text", "column", "reason"), REFUSED)
def test_refused(clause: Clause, text: str, column: int, reason: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        compiled(text, clause)
    assert refused.value.reason.startswith("Expression cannot be evaluated: ")
    assert reason in refused.value.reason
    assert refused.value.place == (1, column)


SCALARS = {
    Scalar.BOOL: "{}",
    Scalar.INT: "{} >= 0",
    Scalar.STRING: "{} != ''",
    Scalar.ACTIVITY_TYPE: "{} != ''",
    Scalar.HEX: "{} != ''",
    Scalar.ADDRESS: "{} != ''",
    Scalar.NUMERAL: "{} == '1'",
    Scalar.TIMESTAMP: "{} == {}",
    Scalar.DYNAMIC: "{} == 1",
}


def paths(path: str, kind: Type) -> list[str]:
    """An expression about everything that can be reached from here."""
    match kind:
        case ListOf(item=item):
            return [f"{path}.count() == 0", *paths(f"{path}[0]", item)]
        case MapOf(value=value):
            return paths(f"{path}['a']", value)
        case NamedByOrganization(value=value):
            return paths(f"{path}.daily", value)
        case StructOf(fields=fields):
            return [text for name, field in fields.items() for text in paths(f"{path}.{name}", field)]
        case _:
            return [SCALARS[kind].replace("{}", path)]


NUMBERS = (Scalar.INT, Scalar.NUMERAL, Scalar.TIMESTAMP)


def leaves(path: str, kind: Type) -> Iterator[tuple[str, Type]]:
    """Every scalar that can be reached from here."""
    match kind:
        case ListOf(item=item):
            yield f"{path}.count()", Scalar.INT
            yield from leaves(f"{path}[0]", item)
        case MapOf(value=value):
            yield from leaves(f"{path}['a']", value)
        case StructOf(fields=fields):
            for name, field in fields.items():
                yield from leaves(f"{path}.{name}", field)
        case _:
            yield path, kind


LEAVES = [
    (clause, path, kind)
    for clause, keywords in KEYWORDS.items()
    for keyword, declared in keywords.items()
    for path, kind in leaves(keyword, declared)
    if kind is not Scalar.DYNAMIC
]


def compared(path: str, literal: str) -> Iterator[str]:
    """A fact and a literal in every place where the language compares two values."""
    for one, other in ((path, literal), (literal, path)):
        yield from (f"{one} {operator} {other}" for operator in ("==", "!=", "<", "<=", ">", ">="))
        yield from (f"{one} in [{other}]", f"[{one}].contains({other})", f"!({one} in [{other}, {other}])")
        yield f"[{one}, {other}].count() == 2"
        for function in ("any(x, x == {})", "all(x, {} != x)", "filter(x, x in [{}]).count() == 0"):
            yield f"[{one}].{function.format(other)}"
        yield from (f"(true || {one} == {other})", f"[true].any(y, [{one}].any(x, y && x == {other}))")


@pytest.mark.parametrize(("clause", "path", "kind"), LEAVES)
def test_no_operator_compares_a_number_with_a_string(clause: Clause, path: str, kind: Type) -> None:
    for literal in ("'x'", "''", "'03'", "'-1'", "'1.0'") if kind in NUMBERS else ("3", "0"):
        for text in compared(path, literal):
            with pytest.raises(ExpressionRefused):
                compiled(text, clause)
    if kind is Scalar.INT:
        for text in compared(path, "'3'"):
            with pytest.raises(ExpressionRefused):
                compiled(text, clause)


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (clause, text)
        for clause, keywords in KEYWORDS.items()
        for keyword, kind in keywords.items()
        for text in paths(keyword, kind)
    ],
)
def test_every_field_can_be_used(clause: Clause, text: str) -> None:
    compiled(text, clause)
