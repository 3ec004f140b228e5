"""Evaluation: every operator on every type, and what fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.policies.evaluation_context import EvaluationContext, EvaluationError
from tests.support.policy_fixtures import compiled, value_of

BIG = 2**127
VALUES: dict[str, Any] = {
    "activity": {
        "type": "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
        "kind": "SIGN_TRANSACTION",
        "resource": "PRIVATE_KEY",
        "action": "SIGN",
        "params": {"user_ids": ("a", "b"), "otp_length": 6},
    },
    "wallet": {"id": "W1", "label": "héllo", "imported": True, "exported": False},
    "wallets": [{"id": "W1", "imported": True}, {"id": "W2", "imported": False}],
    "wallet_account": {"address": "So1ana", "path_indexes": [44, 501], "path_hardened": [True, False]},
    "private_key": {"id": "P", "tags": [], "label": None},
    "secret": {"static_properties": {"kind": "card"}},
    "eth": {
        "tx": {
            "to": "0xAbCd",
            "data": "0xA9059CBB0001",
            "value": 10,
            "gas": BIG - 1,
            "gas_price": BIG,
            "nonce": "7",
            "contract_call_args": {
                "n": 5,
                "digits": "1000",
                "minus": "-3",
                "big": BIG,
                "huge": str(BIG),
                "text": "hello",
                "address": "0xABcd",
                "flag": True,
                "list": [1, 2, 3],
                "mixed": [1, "x"],
                "calls": [("0xabcd", 0), ("0xabcd", 1)],
                "struct": {"inner": {"n": 1}},
                "null": None,
                "endless": 10**5000,
            },
        },
        "eip_712": {"domain": {"chain_id": 2**256 - 1}, "message": {"amount": "999"}},
        "eip_7702_authorization": {"chain_id": 1, "nonce": BIG, "address": "0xAA"},
    },
    "solana": {"tx": {"transfers": [], "instructions": [{"program_key": "J"}]}},
    "tempo": {"tx": {"calls": [{"input": "0xABCDEF"}]}},
}
FAILS = object()

CASES: list[tuple[str, object]] = [
    ("true", True),
    ("false", False),
    ("!false && !(true && false)", True),
    ("true && true && false", False),
    ("false || false || true", True),
    ("true == true", True),
    ("wallet.imported != wallet.exported", True),
    # integers
    ("1 == 1 && 1 != 2 && 1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2", True),
    ("2 < 1 || 2 > 2 || 1 == 2 || 1 >= 2 || 3 <= 2 || 1 != 1", False),
    (f"eth.tx.gas == {BIG - 1}", True),
    ("eth.tx.gas_price > 0", True),
    ("eth.tx.gas_price != eth.tx.value", True),
    (f"eth.eip_712.domain.chain_id > {BIG - 1}", True),
    ("eth.eip_712.domain.chain_id == eth.tx.value", False),
    ("eth.tx.nonce == 7", FAILS),
    # strings
    ("activity.kind == 'SIGN_TRANSACTION' && 'a' != 'b' && '' == ''", True),
    ("activity.kind == 'sign_transaction'", False),
    ("wallet.label[1] == 'é' && wallet.label[1..3] == 'él' && wallet.label[5..5] == ''", True),
    ("wallet.label[5] == ''", FAILS),
    ("wallet.label[0..6] == ''", FAILS),
    ("wallet.label[3..2] == ''", FAILS),
    ("private_key.label == ''", FAILS),
    # hexadecimal, in either case
    ("eth.tx.to == '0xabcd' && eth.tx.to == '0xABCD'", True),
    ("eth.tx.to != '0xabcd'", False),
    ("eth.tx.to in ['0x00', '0xabcD']", True),
    ("['0x00', '0xabcD'].contains(eth.tx.to)", True),
    ("eth.tx.data[2..10] == 'a9059cbb'", True),
    ("tempo.tx.calls[0].input[2..4] == 'ab'", True),
    ("eth.tx.data[0..10] in ['0xa9059cbb']", True),
    ("wallet_account.address == 'So1ana'", True),
    ("wallet_account.address == 'so1ana'", False),
    ("eth.tx.to in [wallet_account.address, activity.kind]", False),
    # lists
    ("wallets.count() == 2 && wallets.count == 2 && solana.tx.transfers.count() == 0", True),
    ("wallets.any(w, w.imported) && !wallets.all(w, w.imported)", True),
    ("solana.tx.transfers.all(t, t.amount > 5)", True),
    ("solana.tx.transfers.any(t, t.amount > 5)", False),
    ("wallets.filter(w, w.imported).count() == 1", True),
    ("wallets.filter(w, w.imported)[0].id == 'W1'", True),
    ("wallets[0..1].all(w, w.id == 'W1') && wallets[1..2][0].id == 'W2'", True),
    ("wallets[2].id == 'W3'", FAILS),
    ("wallets[0..3].count() == 3", FAILS),
    ("wallets.any(w, w.id == 'W1' && wallets.any(w, w.id == 'W2') && w.id == 'W1')", True),
    ("wallets.all(v, wallets.any(w, w.id == v.id))", True),
    ("[1].all(x, ['W1'].any(x, wallets.any(y, y.id == x) && x == 'W1'))", True),
    ("[1].all(x, ['W1'].any(x, wallets.any(y, y.imported) && x == 'W1') && x == 1)", True),
    ("activity.params.user_ids.contains('b') && 'a' in activity.params.user_ids", True),
    ("private_key.tags.contains('b')", False),
    ("1 in [1, 2] && !(3 in [1, 2]) && true in [true] && !(1 in [])", True),
    ("44 in wallet_account.path_indexes && wallet_account.path_hardened.contains(false)", True),
    ("[1, 2, 3][1] == 2 && [[1, 2].count(), 5].contains(2)", True),
    ("[eth.tx.value, 5].all(n, n >= 5)", True),
    ("['A', 'B'].all(x, x != activity.kind)", True),
    # maps
    ("secret.static_properties['kind'] == 'card'", True),
    ("secret.static_properties['color'] == 'red'", FAILS),
    # values of no fixed type
    ("eth.tx.contract_call_args['n'] < 6 && eth.tx.contract_call_args['n'] in [4, 5]", True),
    ("eth.tx.contract_call_args['digits'] > 999 && 1000 == eth.tx.contract_call_args['digits']", True),
    ("eth.tx.contract_call_args['digits'] == '1000' && eth.tx.contract_call_args['minus'] < 0", True),
    ("eth.tx.contract_call_args['digits'] > eth.eip_712.message['amount']", True),
    ("eth.tx.contract_call_args['digits'] == eth.tx.contract_call_args['n']", False),
    ("eth.tx.contract_call_args['n'] == 'five'", FAILS),
    ("eth.tx.contract_call_args['n'] == '5'", True),
    ("eth.tx.contract_call_args['text'] == 5", FAILS),
    ("eth.tx.contract_call_args['text'] < eth.tx.contract_call_args['text']", FAILS),
    ("eth.tx.contract_call_args['text'] == 'hello' && eth.tx.contract_call_args['text'] != 'HELLO'", True),
    ("eth.tx.contract_call_args['address'] == '0xAbCd'", True),
    ("eth.tx.contract_call_args['address'] in ['0x00', '0xAbCd']", True),
    ("eth.tx.contract_call_args['address'] == eth.tx.to", True),
    ("eth.tx.contract_call_args['big'] > 5", True),
    ("eth.tx.contract_call_args['huge'] > 5", True),
    (f"eth.tx.contract_call_args['huge'] == '{BIG}'", True),
    ("eth.tx.contract_call_args['flag'] && eth.tx.contract_call_args['flag'] == true", True),
    ("eth.tx.contract_call_args['flag'] == 1", FAILS),
    ("eth.tx.contract_call_args['n'] && true", FAILS),
    ("!eth.tx.contract_call_args['text']", FAILS),
    ("eth.tx.contract_call_args['list'].all(n, n > 0)", True),
    ("eth.tx.contract_call_args['list'].filter(n, n > 1).count() == 2", True),
    ("eth.tx.contract_call_args['list'][0] == 1 && eth.tx.contract_call_args['list'][1..3].count() == 2", True),
    ("eth.tx.contract_call_args['list'].contains(3) && 3 in eth.tx.contract_call_args['list']", True),
    ("1 in eth.tx.contract_call_args['mixed']", FAILS),
    ("eth.tx.contract_call_args['list'] == 1", FAILS),
    ("eth.tx.contract_call_args['n'].count() == 1", FAILS),
    ("eth.tx.contract_call_args['text'].all(c, true)", FAILS),
    ("eth.tx.contract_call_args['text'][0] == 'h'", True),
    ("eth.tx.contract_call_args['calls'].all(c, c[0] == '0xABCD' && c[1] <= 1)", True),
    ("eth.tx.contract_call_args['calls'].all(c, c['target'] == '0xabcd')", FAILS),
    ("eth.tx.contract_call_args['calls'][0].target == '0xabcd'", FAILS),
    ("eth.tx.contract_call_args['struct']['inner']['n'] == 1", True),
    ("eth.tx.contract_call_args['struct'].inner.n == 1", True),
    ("eth.tx.contract_call_args['struct'][0] == 1", FAILS),
    ("eth.tx.contract_call_args['null'] == 1", FAILS),
    ("eth.tx.contract_call_args['missing'] == 1", FAILS),
    ("wallets[eth.tx.contract_call_args['list'][0]].id == 'W2'", True),
    ("wallets[eth.tx.contract_call_args['flag']].id == 'W2'", FAILS),
    ("wallets[eth.tx.contract_call_args['endless']].id == 'W2'", FAILS),
    ("wallets[0..eth.tx.contract_call_args['endless']].count() == 1", FAILS),
    ("eth.tx.contract_call_args['endless'] > 1", True),
    ("wallets[eth.tx.contract_call_args['digits']].id == 'W2'", FAILS),
    ("eth.eip_7702_authorization.chain_id == '1' && eth.eip_7702_authorization.chain_id == 1", True),
    ("eth.eip_7702_authorization.chain_id == 'one'", FAILS),
    ("eth.eip_7702_authorization.nonce > 1", True),
    # what is absent fails, whatever stands beside it
    ("bitcoin.tx.fee > 1", FAILS),
    ("eth.tx.function_name == 'x'", FAILS),
    ("true || bitcoin.tx.fee > 1", FAILS),
    ("false && bitcoin.tx.fee > 1", FAILS),
    ("wallets.any(w, w.id == 'W1' || w.label == 'x')", FAILS),
    ("solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'x')", FAILS),
    ("activity.params.endpoint_id == 'x'", FAILS),
]


def evaluated(text: str, values: Mapping[str, Any] = VALUES) -> object:
    value = value_of(text, values)
    return FAILS if isinstance(value, EvaluationError) else value


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_value(text: str, expected: object) -> None:
    assert evaluated(text) is expected


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("true && bitcoin.tx.fee > 1", "bitcoin is absent", 9),
        ("true && eth.tx.function_name == 'x'", "eth.tx.function_name is absent", 16),
        ("eth.tx.nonce > 1", "eth.tx.nonce is not an integer", 8),
        ("wallets[2].id == 'x'", "wallets[2] is out of range: its length is 2", 8),
        ("wallet.label[0..9] == 'x'", "wallet.label[0..9] is out of range: its length is 5", 13),
        ("secret.static_properties['x'] == 'x'", "secret.static_properties['x'] is absent", 25),
        ("eth.tx.contract_call_args['text'] == 5", "a string does not compare with a number", 35),
        ("eth.tx.contract_call_args['flag'] == 5", "a boolean does not compare with a number", 35),
        ("eth.tx.contract_call_args['list'] == 5", "a list does not compare with a number", 35),
        ("eth.tx.contract_call_args['struct'] == 5", "a struct does not compare with a number", 37),
        ("eth.tx.contract_call_args['text']", "eth.tx.contract_call_args[…] is not a boolean", 26),
    ],
)
def test_failure_says_what_and_where(text: str, reason: str, column: int) -> None:
    error = value_of(text, VALUES)
    assert isinstance(error, EvaluationError)
    assert (error.reason, error.at) == (reason, (1, column))


@pytest.mark.parametrize(
    "values",
    [
        {"wallet": None},
        {"wallet": 5},
        {"wallet": "text"},
        {"wallet": []},
        {"wallet": {}},
        {"wallet": {"imported": "yes"}},
        {"wallet": {"imported": 1}},
        {"wallets": {"imported": True}},
        {"wallets": "text"},
        {"wallets": [None]},
        {"wallets": [5]},
        {"wallets": [{"imported": []}]},
    ],
)
def test_values_of_the_wrong_kind_fail(values: Mapping[str, Any]) -> None:
    keyword = next(iter(values))
    text = "wallet.imported" if keyword == "wallet" else "wallets.any(w, w.imported)"
    assert evaluated(text, values) is FAILS


@pytest.mark.parametrize("value", [2**127 - 1, 2**127, 2**255, 2**256 - 1, 2**256, 2**1000, -(2**127) - 1])
def test_integers_are_exact_whatever_their_size(value: int) -> None:
    limit = 2**256 - 2
    for written in (value, str(value)):
        values = {"eth": {"tx": {"value": value, "contract_call_args": {"amount": written}}}}
        for fact in ("eth.tx.value", "eth.tx.contract_call_args['amount']"):
            assert evaluated(f"{fact} > {limit}", values) is (value > limit)
            assert evaluated(f"{fact} == {2**127}", values) is (value == 2**127)
            assert evaluated(f"{fact} in [1, {2**255}]", values) is (value == 2**255)


@pytest.mark.parametrize(
    ("text", "plain", "weighed"),
    [
        ("false && bitcoin.tx.fee > 1", FAILS, False),
        ("true && bitcoin.tx.fee > 1", FAILS, FAILS),
        ("true || bitcoin.tx.fee > 1", FAILS, True),
        ("false || bitcoin.tx.fee > 1", FAILS, FAILS),
        ("!(true || bitcoin.tx.fee > 1)", FAILS, False),
        ("!(bitcoin.tx.fee > 1)", FAILS, FAILS),
        ("[1, 9].any(n, wallets[n].id == 'W2')", FAILS, True),
        ("[0, 9].any(n, wallets[n].id == 'W2')", FAILS, FAILS),
        ("[0, 9].all(n, wallets[n].id == 'W2')", FAILS, False),
        ("[1, 9].all(n, wallets[n].id == 'W2')", FAILS, FAILS),
        ("[1, 9].filter(n, wallets[n].id == 'W2').count() >= 0", FAILS, FAILS),
    ],
)
def test_three_valued(text: str, plain: object, weighed: object) -> None:
    expression = compiled(text)
    value = expression.evaluate(EvaluationContext(VALUES))
    assert (FAILS if isinstance(value, EvaluationError) else value) == plain
    possible = expression.evaluate_three_valued(EvaluationContext(VALUES))
    assert possible == (None if weighed is FAILS else weighed, False)
