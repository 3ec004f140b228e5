"""One-time codes: their form, how a typed code is read, and the sandbox."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.sessions.one_time_codes import CodeForm, canonical_code, is_sandbox, new_code
from keystead.sessions.session_tokens import is_bound, nonce_of

FORMS = st.builds(CodeForm, length=st.integers(6, 9), alphanumeric=st.booleans())


@given(FORMS, st.lists(st.integers(0, 31), min_size=9, max_size=9))
def test_a_code_is_read_as_it_was_made(form: CodeForm, numbers: list[int]) -> None:
    remaining = iter(numbers)
    code = new_code(form, lambda below: next(remaining) % below)
    assert len(code) == form.length
    assert canonical_code(code, form) == code
    if not form.alphanumeric:
        assert code.isdigit()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("abcdef123", "ABCDEF123"), ("oil-OIL", "011011"), ("AB CD", "ABCD"), ("", "")],
)
def test_what_a_person_types(typed: str, meant: str) -> None:
    assert canonical_code(typed, CodeForm()) == meant


def test_letters_are_not_read_as_digits_in_a_numeric_code() -> None:
    assert canonical_code("O00000", CodeForm(6, alphanumeric=False)) == "O00000"


@pytest.mark.parametrize(
    ("contact", "form", "expected"),
    [
        ("user@example.com", CodeForm(6, alphanumeric=False), True),
        ("User@Example.com", CodeForm(6, alphanumeric=False), True),
        ("+1 999-999-9999", CodeForm(6, alphanumeric=False), True),
        ("+19999999999", CodeForm(6, alphanumeric=False), True),
        ("user@example.com", CodeForm(6, alphanumeric=True), False),
        ("user@example.com", CodeForm(7, alphanumeric=False), False),
        ("other@example.com", CodeForm(6, alphanumeric=False), False),
    ],
)
def test_sandbox(contact: str, form: CodeForm, expected: bool) -> None:
    assert is_sandbox(contact, form) is expected


DOCUMENTED_KEY = "0394e549c71fa99dd5cf752fba623090be314949b74e4cdf7ca72031dd638e281a"
DOCUMENTED_NONCE = "1663bba492a323085b13895634a3618792c4ec6896f3c34ef3c26396df22ef82"


@pytest.mark.parametrize(
    ("nonce", "tknonce", "expected"),
    [
        (DOCUMENTED_NONCE, None, True),
        (None, DOCUMENTED_NONCE, True),
        ("other", DOCUMENTED_NONCE, True),
        (DOCUMENTED_NONCE.upper(), None, False),
        ("", "", False),
        (None, None, False),
        ("ß", None, False),
    ],
)
def test_a_nonce_binds_a_key(nonce: str | None, tknonce: str | None, expected: bool) -> None:
    assert nonce_of(DOCUMENTED_KEY) == DOCUMENTED_NONCE
    assert is_bound(nonce, tknonce, DOCUMENTED_KEY) is expected
