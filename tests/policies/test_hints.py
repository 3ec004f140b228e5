"""The hints for a refused expression: for habits from other languages, and for misspelt names."""

from __future__ import annotations

import pytest

from keystead.policies.language.expression import Expression, ExpressionSource
from keystead.policies.language.namespaces import Clause
from keystead.policies.language.syntax import ExpressionRefused

WHOLE = "numbers are whole: an amount is written in the smallest unit"
DIGITS = "a whole number is written with digits alone, such as 1000"
QUOTES = "text, addresses too, is written in single quotes"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("eth.tx.value < 1.5", WHOLE),
        ("1.5 > eth.tx.value", WHOLE),
        ("eth.tx.value < 1e18", WHOLE),
        ("eth.tx.value < 1E", WHOLE),
        ("eth.tx.to == 0xabc0", QUOTES),
        ("solana.tx.transfers.any(t, t.to == 9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu)", QUOTES),
        ("wallet.label == bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", QUOTES),
        ("activity.kind == SIGN_TRANSACTION", QUOTES),
        ("eth.tx.value < 1_000", f"found `_000`; {DIGITS}"),
        ("eth.tx.value == 1_000_000", f"found `_000_000`; {DIGITS}"),
        ("eth.tx.value < 0x10", f"found `x10`; {DIGITS}"),
        ("eth.tx.value == 0x10", f"{QUOTES}; {DIGITS}"),
        ("wallets.any(w.id == 'x')", "expected `,`, found `.`; `any` takes a name and a predicate: `any(u, …)`"),
        ("wallets.all('x' == 'x')", "found `'x'`; `all` takes a name and a predicate: `all(u, …)`"),
        ("wallets.any(w => w.id == 'x')", "unexpected '=>': `any` takes a name and a predicate: `any(u, …)`"),
        ("wallets.filter((w) => true)", "unexpected '=>': `filter` takes a name and a predicate: `filter(u, …)`"),
        ("eth.tx.value => 5", "unexpected '=>': at least is written `>=`"),
        (
            "eth.tx.to.contain('a')",
            "function does not exist: contain: only lists have functions, and eth.tx.to is a string of hexadecimal "
            "digits; a part of it is written `eth.tx.to[0..4]`",
        ),
        ("wallets.any(w, w.label.contain('a'))", "only lists have functions, and w.label is a string; a part"),
        ("wallets.any(w, wallets.any(v, w.contain('a')))", "only lists have functions, and w is a struct ("),
        ("solana.tx.instructions.all(i, i.accounts.contain('a'))", "contain: did you mean contains?"),
        ("walets.contain('x')", "field does not exist: walets: did you mean wallets?"),
        ("eth.tx.contract_call_args['a'].contain('x')", "contain: did you mean contains?"),
        ("eth.tx.value > 1 and eth.tx.value < 2", "conjunction is written `&&`"),
        ("true OR false", "disjunction is written `||`"),
        ("not true", "negation is written `!`"),
        ("not (true)", "negation is written `!`"),
        ("eth.tx.to not in ['0xabc0']", "negation is written `!`"),
        ("eth.tx.value is 5", "equality is written `==`"),
        ("eth.tx.valu > 1", "field does not exist: eth.tx.valu: did you mean value?"),
        ("ethh.tx.value > 1", "field does not exist: ethh: did you mean eth?"),
        ("activity.params.walletid == 'x'", "did you mean wallet_id?"),
        ("wallets.any(wallet, walet.id == 'x')", "did you mean wallet?"),
        ("wallets.an(w, true)", "function does not exist: an: did you mean any?"),
        ("wallets.contain('x')", "function does not exist: contain: did you mean contains?"),
        ("timestamp('x')", "did you mean Timestamp?"),
    ],
)
def test_says_what_to_write(text: str, instead: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        Expression(ExpressionSource(text, Clause.CONDITION))
    assert instead in str(refused.value)


@pytest.mark.parametrize(
    "text", ["5 5", "eth.tx.value 5", "qqqqqq == 1", "eth.tx.qqqqqq == 1", "wallets.qqqqqq(1)"]
)
def test_no_suggestion_without_a_similar_word(text: str) -> None:
    with pytest.raises(ExpressionRefused) as refused:
        Expression(ExpressionSource(text, Clause.CONDITION))
    assert "did you mean" not in str(refused.value)
    assert "written" not in str(refused.value)


def test_a_long_name_is_not_compared() -> None:
    with pytest.raises(ExpressionRefused) as refused:
        Expression(ExpressionSource(f"eth.tx.{'v' * 5_000} == 1", Clause.CONDITION))
    assert "did you mean" not in str(refused.value)
