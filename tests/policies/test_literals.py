"""Literals that cannot be the id of a record, found without a server."""

from __future__ import annotations

import pytest

from keystead.policies.language.grammar import parse
from keystead.policies.linting.literals import KnownIds, impossible_literals

USER_ID = "0199a8f2-0000-7000-8000-000000000001"
FORM = "has this id: ids are UUIDs in lower case"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("approvers.any(u, u.id == 'Ben')", f"no user {FORM}"),
        ("approvers.any(u, 'operators' in u.tags)", f"no user tag {FORM}"),
        (f"credentials.any(c, c.user_id == '{USER_ID.upper()}')", f"no user {FORM}"),
        ("wallet.id == 'treasury'", f"no wallet {FORM}"),
        ("private_key.tags.contains('hot')", f"no private key tag {FORM}"),
        (f"approvers.any(u, u.id == '{USER_ID}')", None),
        ("approvers.any(u, u.alias == 'Ben')", None),
    ],
)
def test_text_that_cannot_be_an_id(text: str, end: str | None) -> None:
    found = list(impossible_literals(parse(text), KnownIds(are_uuids=True)))
    assert len(found) == (end is not None)
    assert all(sentence.endswith(str(end)) for sentence in found)


def test_a_test_file_may_name_records_by_words() -> None:
    assert list(impossible_literals(parse("wallet.id == 'treasury'"), KnownIds())) == []


@pytest.mark.parametrize(
    ("text", "is_possible"),
    [
        ("eth.eip_7702_authorization.chain_id == '1'", True),
        ("eth.eip_7702_authorization.chain_id in ['0', '8453']", True),
        ("solana.tx.spl_transfers.all(t, t.token_mint == 'ADDRESS_TABLE_LOOKUP')", True),
        ("solana.tx.spl_transfers.all(t, t.token_mint == '')", False),
        ("tempo.tx.fee_token == ''", True),
    ],
)
def test_texts_that_a_fact_never_equals(text: str, is_possible: bool) -> None:
    assert (list(impossible_literals(parse(text), KnownIds())) == []) is is_possible
