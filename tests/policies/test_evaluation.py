"""Evaluation: every operator on every type, and on values that are unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keystead.policies.language.evaluation_context import NotApplicable, Unknown
from keystead.primitives.unreadable import Unreadable
from tests.support.policy_fixtures import value_of

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
UNKNOWN, NOT_APPLICABLE = "unknown", "not applicable"

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
    ("eth.tx.nonce == 7", UNKNOWN),
    # strings
    ("activity.kind == 'SIGN_TRANSACTION' && 'a' != 'b' && '' == ''", True),
    ("activity.kind == 'sign_transaction'", False),
    ("wallet.label[1] == 'é' && wallet.label[1..3] == 'él' && wallet.label[5..5] == ''", True),
    ("wallet.label[5] == ''", UNKNOWN),
    ("wallet.label[0..6] == ''", UNKNOWN),
    ("wallet.label[3..2] == ''", UNKNOWN),
    ("private_key.label == ''", UNKNOWN),
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
    ("wallets[2].id == 'W3'", UNKNOWN),
    ("wallets[0..3].count() == 3", UNKNOWN),
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
    ("secret.static_properties['color'] == 'red'", UNKNOWN),
    # values of no fixed type
    ("eth.tx.contract_call_args['n'] < 6 && eth.tx.contract_call_args['n'] in [4, 5]", True),
    ("eth.tx.contract_call_args['digits'] > 999 && 1000 == eth.tx.contract_call_args['digits']", UNKNOWN),
    ("eth.tx.contract_call_args['digits'] == '1000' && eth.tx.contract_call_args['minus'] < 0", UNKNOWN),
    ("eth.tx.contract_call_args['digits'] > eth.eip_712.message['amount']", UNKNOWN),
    ("eth.tx.contract_call_args['digits'] == eth.tx.contract_call_args['n']", UNKNOWN),
    ("eth.tx.contract_call_args['n'] == 'five'", UNKNOWN),
    ("eth.tx.contract_call_args['n'] == '5'", UNKNOWN),
    ("eth.tx.contract_call_args['text'] == 5", UNKNOWN),
    ("eth.tx.contract_call_args['text'] < eth.tx.contract_call_args['text']", UNKNOWN),
    ("eth.tx.contract_call_args['text'] == 'hello' && eth.tx.contract_call_args['text'] != 'HELLO'", True),
    ("eth.tx.contract_call_args['address'] == '0xAbCd'", True),
    ("eth.tx.contract_call_args['address'] in ['0x00', '0xAbCd']", True),
    ("eth.tx.contract_call_args['address'] == eth.tx.to", True),
    ("eth.tx.contract_call_args['big'] > 5", True),
    ("eth.tx.contract_call_args['huge'] > 5", UNKNOWN),
    (f"eth.tx.contract_call_args['huge'] == '{BIG}'", True),
    ("eth.tx.contract_call_args['flag'] && eth.tx.contract_call_args['flag'] == true", True),
    ("eth.tx.contract_call_args['flag'] == 1", UNKNOWN),
    ("eth.tx.contract_call_args['n'] && true", UNKNOWN),
    ("!eth.tx.contract_call_args['text']", UNKNOWN),
    ("eth.tx.contract_call_args['list'].all(n, n > 0)", True),
    ("eth.tx.contract_call_args['list'].filter(n, n > 1).count() == 2", True),
    ("eth.tx.contract_call_args['list'][0] == 1 && eth.tx.contract_call_args['list'][1..3].count() == 2", True),
    ("eth.tx.contract_call_args['list'].contains(3) && 3 in eth.tx.contract_call_args['list']", True),
    ("1 in eth.tx.contract_call_args['mixed']", True),
    ("eth.tx.contract_call_args['list'] == 1", UNKNOWN),
    ("eth.tx.contract_call_args['n'].count() == 1", UNKNOWN),
    ("eth.tx.contract_call_args['text'].all(c, true)", UNKNOWN),
    ("eth.tx.contract_call_args['text'][0] == 'h'", True),
    ("eth.tx.contract_call_args['calls'].all(c, c[0] == '0xABCD' && c[1] <= 1)", True),
    ("eth.tx.contract_call_args['calls'].all(c, c['target'] == '0xabcd')", UNKNOWN),
    ("eth.tx.contract_call_args['calls'][0].target == '0xabcd'", UNKNOWN),
    ("eth.tx.contract_call_args['struct']['inner']['n'] == 1", True),
    ("eth.tx.contract_call_args['struct'].inner.n == 1", True),
    ("eth.tx.contract_call_args['struct'][0] == 1", UNKNOWN),
    ("eth.tx.contract_call_args['null'] == 1", UNKNOWN),
    ("eth.tx.contract_call_args['missing'] == 1", UNKNOWN),
    ("wallets[eth.tx.contract_call_args['list'][0]].id == 'W2'", True),
    ("wallets[eth.tx.contract_call_args['flag']].id == 'W2'", UNKNOWN),
    ("wallets[eth.tx.contract_call_args['endless']].id == 'W2'", UNKNOWN),
    ("wallets[0..eth.tx.contract_call_args['endless']].count() == 1", UNKNOWN),
    ("eth.tx.contract_call_args['endless'] > 1", True),
    ("wallets[eth.tx.contract_call_args['digits']].id == 'W2'", UNKNOWN),
    ("eth.eip_7702_authorization.chain_id == '1' && eth.eip_7702_authorization.chain_id == 1", True),
    ("eth.eip_7702_authorization.nonce > 1", True),
    # what is absent fails, whatever stands beside it
    ("bitcoin.tx.fee > 1", NOT_APPLICABLE),
    ("eth.tx.function_name == 'x'", UNKNOWN),
    ("true || bitcoin.tx.fee > 1", NOT_APPLICABLE),
    ("false && bitcoin.tx.fee > 1", NOT_APPLICABLE),
    ("wallets.any(w, w.id == 'W1' || w.label == 'x')", True),
    ("solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'x')", UNKNOWN),
    ("activity.params.endpoint_id == 'x'", NOT_APPLICABLE),
]


def evaluated(text: str, values: Mapping[str, Any] = VALUES) -> object:
    match value_of(text, values):
        case Unknown():
            return UNKNOWN
        case NotApplicable():
            return NOT_APPLICABLE
        case value:
            return value


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_value(text: str, expected: object) -> None:
    assert evaluated(text) is expected


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("true && bitcoin.tx.fee > 1", "bitcoin.tx is absent", 17),
        ("true && eth.tx.function_name == 'x'", "eth.tx.function_name is absent", 16),
        ("eth.tx.nonce > 1", "eth.tx.nonce is not an integer", 8),
        ("wallets[2].id == 'x'", "wallets[2] is out of range: its length is 2", 8),
        ("wallet.label[0..9] == 'x'", "wallet.label[0..9] is out of range: its length is 5", 13),
        ("secret.static_properties['x'] == 'x'", "secret.static_properties['x'] is absent", 25),
        (
            "eth.tx.contract_call_args['text'] == 5",
            "eth.tx.contract_call_args['text']: a string does not compare with a number",
            35,
        ),
        (
            "5 != eth.tx.contract_call_args['flag']",
            "eth.tx.contract_call_args['flag']: a number does not compare with a boolean",
            3,
        ),
        (
            "eth.tx.contract_call_args['list'] in [5]",
            "eth.tx.contract_call_args['list']: a list does not compare with a number",
            35,
        ),
        ("eth.tx.contract_call_args['text']", "eth.tx.contract_call_args['text'] is not a boolean", 26),
    ],
)
def test_what_is_unknown_and_where(text: str, reason: str, column: int) -> None:
    value = value_of(text, VALUES)
    assert isinstance(value, Unknown | NotApplicable)
    assert (value.reason, value.at) == (reason, (1, column))


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
def test_values_of_the_wrong_kind_are_unknown(values: Mapping[str, Any]) -> None:
    keyword = next(iter(values))
    text = "wallet.imported" if keyword == "wallet" else "wallets.any(w, w.imported)"
    assert evaluated(text, values) is UNKNOWN


@pytest.mark.parametrize("value", [2**127 - 1, 2**127, 2**255, 2**256 - 1, 2**256, 2**1000, -(2**127) - 1])
def test_integers_are_exact_whatever_their_size(value: int) -> None:
    limit = 2**256 - 2
    values = {"eth": {"tx": {"value": value, "contract_call_args": {"amount": value}}}}
    for fact in ("eth.tx.value", "eth.tx.contract_call_args['amount']"):
        assert evaluated(f"{fact} > {limit}", values) is (value > limit)
        assert evaluated(f"{fact} == {2**127}", values) is (value == 2**127)
        assert evaluated(f"{fact} in [1, {2**255}]", values) is (value == 2**255)


# Unreadable values

LOOKED_UP = Unreadable("it is in a table", literal="TABLE")
MINT = Unreadable("a Transfer does not name it")
PARTLY: dict[str, Any] = {
    "wallet": {"id": "W1", "label": Unreadable("lost"), "imported": Unreadable("lost"), "exported": False},
    "wallets": Unreadable("lost"),
    "private_key": {"id": "P", "tags": ["a", Unreadable("lost")]},
    "eth": {
        "tx": {
            "value": 5,
            "to": Unreadable("it creates a contract", literal=""),
            "contract_call_args": {
                "none": Unreadable("the option is absent"),
                "some": [1, Unreadable("the option is absent"), 3],
            },
            "function_name": Unreadable("no interface"),
        }
    },
    "solana": {
        "tx": {
            "account_keys": ["A", LOOKED_UP],
            "spl_transfers": [
                {"to": "A", "amount": 1, "token_mint": "M", "signers": []},
                {"to": LOOKED_UP, "amount": 2, "token_mint": MINT, "signers": ["S", LOOKED_UP]},
            ],
            "instructions": [
                {"program_key": "J", "parsed_instruction_data": {"instruction_name": "route"}},
                {"program_key": "K", "parsed_instruction_data": Unreadable("no interface")},
            ],
        }
    },
    "tempo": {"tx": {"valid_before": Unreadable("none is set", literal=0)}},
}
FIRST, SECOND = "solana.tx.spl_transfers[0]", "solana.tx.spl_transfers[1]"
ALL = "solana.tx.spl_transfers"
KNOWN_M, PERHAPS_M = f"{ALL}.filter(t, t.token_mint == 'M')", f"{ALL}.filter(t, t.token_mint == 'N')"

KLEENE: list[tuple[str, object]] = [
    # comparisons
    (f"{SECOND}.token_mint == 'M'", UNKNOWN),
    (f"{SECOND}.token_mint != 'M'", UNKNOWN),
    (f"{SECOND}.token_mint == ''", UNKNOWN),
    (f"{SECOND}.token_mint == {SECOND}.token_mint", UNKNOWN),
    (f"!({SECOND}.token_mint == 'M')", UNKNOWN),
    (f"!!({SECOND}.token_mint != 'M')", UNKNOWN),
    (f"({SECOND}.token_mint == 'M') == false", UNKNOWN),
    (f"({SECOND}.token_mint == 'M') != true", UNKNOWN),
    ("eth.tx.contract_call_args['none'] > 5", UNKNOWN),
    ("eth.tx.contract_call_args['missing'] > 5", UNKNOWN),
    ("wallet.imported", UNKNOWN),
    ("!wallet.imported", UNKNOWN),
    ("wallet.label[0] == 'x' || wallet.label[0..1] == 'x'", UNKNOWN),
    ("eth.tx.function_name == 'approve'", UNKNOWN),
    # the literal that the documentation has for it
    (f"{SECOND}.to == 'TABLE'", True),
    (f"'TABLE' == {SECOND}.to", True),
    (f"{SECOND}.to != 'TABLE'", False),
    (f"!({SECOND}.to == 'TABLE')", False),
    (f"{SECOND}.to == 'A'", UNKNOWN),
    (f"{SECOND}.to != 'A'", UNKNOWN),
    (f"{SECOND}.to == {SECOND}.to", UNKNOWN),
    (f"{SECOND}.to == solana.tx.account_keys[0]", UNKNOWN),
    (f"{SECOND}.to in ['A', 'TABLE']", True),
    (f"{SECOND}.to in ['A', 'B']", UNKNOWN),
    (f"['A', 'TABLE'].contains({SECOND}.to)", True),
    (f"['A', 'B'].contains({SECOND}.to)", UNKNOWN),
    (f"{SECOND}.to[0..5] == 'TABLE'", UNKNOWN),
    (f"{SECOND}.to[0] == 'T'", UNKNOWN),
    (f"[{SECOND}.to, 'B'].contains('TABLE')", True),
    (f"[{SECOND}.to, 'B'].contains('B')", True),
    (f"[{SECOND}.to, 'B'].contains('C')", UNKNOWN),
    (f"[{SECOND}.to, 'B'].any(x, x == 'TABLE')", True),
    (f"[{SECOND}.to, 'B'][0] == 'TABLE'", True),
    ("eth.tx.to == ''", True),
    ("eth.tx.to != ''", False),
    ("eth.tx.to == '0xab'", UNKNOWN),
    ("tempo.tx.valid_before == 0 && !(tempo.tx.valid_before != 0)", True),
    ("tempo.tx.valid_before in [0, 5]", True),
    ("tempo.tx.valid_before > 5", UNKNOWN),
    ("tempo.tx.valid_before >= 0", UNKNOWN),
    ("secret.static_properties['TABLE'] == 'TABLE'", NOT_APPLICABLE),
    # membership
    ("solana.tx.account_keys.contains('A')", True),
    ("solana.tx.account_keys.contains('B')", UNKNOWN),
    ("'TABLE' in solana.tx.account_keys", True),
    ("'B' in solana.tx.account_keys", UNKNOWN),
    ("'a' in private_key.tags", True),
    ("!('b' in private_key.tags)", UNKNOWN),
    (f"{SECOND}.to in solana.tx.account_keys", UNKNOWN),
    (f"{SECOND}.token_mint in []", False),
    ("eth.tx.contract_call_args['some'].contains(3) && 1 in eth.tx.contract_call_args['some']", True),
    ("eth.tx.contract_call_args['some'].contains(2)", UNKNOWN),
    ("eth.tx.contract_call_args['none'] in [1, 2]", UNKNOWN),
    ("eth.tx.value in [5, eth.tx.contract_call_args['none']]", True),
    ("eth.tx.value in [6, eth.tx.contract_call_args['none']]", UNKNOWN),
    # any and all
    (f"{ALL}.any(t, t.token_mint == 'M')", True),
    (f"{ALL}.any(t, t.token_mint == 'N')", UNKNOWN),
    (f"{ALL}.all(t, t.token_mint == 'M')", UNKNOWN),
    (f"{ALL}.all(t, t.token_mint == 'N')", False),
    (f"{ALL}.any(t, t.amount == 2 && t.token_mint == 'M')", UNKNOWN),
    (f"{ALL}.any(t, t.amount == 3 && t.token_mint == 'M')", False),
    (f"{ALL}.any(t, t.signers.any(s, s == 'S'))", True),
    (f"{ALL}.any(t, t.signers.any(s, s == 'T'))", UNKNOWN),
    (f"{ALL}.any(t, t.signers.any(s, s == 'TABLE'))", True),
    ("solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'route')", True),
    ("solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'swap')", UNKNOWN),
    (
        "solana.tx.instructions.any(i, i.program_key == 'J'"
        " && i.parsed_instruction_data.instruction_name == 'swap')",
        False,
    ),
    ("wallets.any(w, true)", UNKNOWN),
    ("wallets.all(w, true)", UNKNOWN),
    ("wallets.count() >= 0", UNKNOWN),
    ("wallets[0].id == 'W1'", UNKNOWN),
    ("wallets[0..0].count() == 0", UNKNOWN),
    ("wallets.filter(w, true).count() >= 0", UNKNOWN),
    # filtered lists
    (f"{KNOWN_M}.count() >= 1", True),
    (f"{KNOWN_M}.count() >= 2", UNKNOWN),
    (f"{KNOWN_M}.count() > 2", False),
    (f"{KNOWN_M}.count() == 1", UNKNOWN),
    (f"{KNOWN_M}.count() != 1", UNKNOWN),
    (f"{KNOWN_M}.count() == 0", False),
    (f"0 != {KNOWN_M}.count()", True),
    (f"2 >= {KNOWN_M}.count()", True),
    (f"{KNOWN_M}.count() <= {ALL}.count()", True),
    (f"{KNOWN_M}.count() == {ALL}.count()", UNKNOWN),
    (f"{KNOWN_M}.count() > {PERHAPS_M}.count()", UNKNOWN),
    (f"{PERHAPS_M}.count() < 2", True),
    (f"[{KNOWN_M}.count(), 7].contains(7)", True),
    (f"{KNOWN_M}.count() in [1, 2]", UNKNOWN),
    (f"{KNOWN_M}[0].amount == 1", True),
    (f"{KNOWN_M}[1].amount == 2", UNKNOWN),
    (f"{KNOWN_M}[0..1].all(t, t.amount == 1)", True),
    (f"{KNOWN_M}[0..2].count() == 2", UNKNOWN),
    (f"{PERHAPS_M}[0].amount == 2", UNKNOWN),
    (f"{KNOWN_M}.any(t, t.amount == 1)", True),
    (f"{KNOWN_M}.any(t, t.amount == 2)", UNKNOWN),
    (f"{KNOWN_M}.any(t, t.amount == 3)", False),
    (f"{KNOWN_M}.all(t, t.amount <= 2)", True),
    (f"{KNOWN_M}.all(t, t.amount == 1)", UNKNOWN),
    (f"{KNOWN_M}.all(t, t.amount == 2)", False),
    (f"{KNOWN_M}.filter(t, t.amount == 2).count() <= 1", True),
    (f"{KNOWN_M}.filter(t, t.amount == 2).count() == 1", UNKNOWN),
    (f"{KNOWN_M}.filter(t, t.amount == 3).count() == 0", True),
    ("private_key.tags.filter(x, x == 'a').contains('a')", True),
    ("private_key.tags.filter(x, x != 'c').contains('c')", UNKNOWN),
    # junctions
    ("true || wallet.imported", True),
    ("wallet.imported || true", True),
    ("false || wallet.imported", UNKNOWN),
    ("wallet.imported || wallet.exported", UNKNOWN),
    ("false && wallet.imported", False),
    ("wallet.imported && false", False),
    ("true && wallet.imported", UNKNOWN),
    ("wallet.imported && !wallet.imported", UNKNOWN),
    ("!(wallet.imported || true)", False),
    # a keyword that the activity does not have, whatever else is there
    ("true || bitcoin.tx.fee > 1", NOT_APPLICABLE),
    ("wallet.imported || bitcoin.tx.fee > 1", NOT_APPLICABLE),
    ("wallets.any(w, bitcoin.tx.fee > 1)", NOT_APPLICABLE),
    ("wallet.label == secret.static_properties['x']", NOT_APPLICABLE),
    ("[1].filter(x, false).any(x, bitcoin.tx.fee > x)", NOT_APPLICABLE),
    ("eth.eip_712.primary_type == 'x'", NOT_APPLICABLE),
]


@pytest.mark.parametrize(("text", "expected"), KLEENE)
def test_unreadable_values(text: str, expected: object) -> None:
    assert evaluated(text, PARTLY) is expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{SECOND}.token_mint == 'M'", f"{SECOND}.token_mint is unknown: a Transfer does not name it"),
        (
            f"{ALL}.any(t, t.token_mint == 'N')",
            "solana.tx.spl_transfers[…].token_mint is unknown: a Transfer does not name it",
        ),
        (
            f"{PERHAPS_M}.count() == 1",
            "solana.tx.spl_transfers[…].token_mint is unknown: a Transfer does not name it",
        ),
        (
            "solana.tx.instructions[1].parsed_instruction_data.instruction_name == 'x'",
            "solana.tx.instructions[1].parsed_instruction_data is unknown: no interface",
        ),
        ("'B' in solana.tx.account_keys", "solana.tx.account_keys[…] is unknown: it is in a table"),
        (
            "eth.tx.contract_call_args['none'] == 1",
            "eth.tx.contract_call_args['none'] is unknown: the option is absent",
        ),
        ("wallets.any(w, w.id == 'x')", "wallets is unknown: lost"),
    ],
)
def test_the_field_and_the_reason_are_named(text: str, reason: str) -> None:
    value = value_of(text, PARTLY)
    assert isinstance(value, Unknown)
    assert value.reason == reason
