"""One-time codes: their form, how a typed code is read, and the sandbox."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keystead.sessions.bounds import CODE_COMBINATIONS_MIN
from keystead.sessions.one_time_codes import (
    CodeForm,
    canonical_code,
    form_after,
    is_sandbox,
    new_code,
)
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


SIX_DIGITS, NINE_DIGITS = CodeForm(6, alphanumeric=False), CodeForm(9, alphanumeric=False)
GROWN: list[tuple[CodeForm, int, CodeForm]] = [
    (SIX_DIGITS, 0, SIX_DIGITS),
    (SIX_DIGITS, 31, SIX_DIGITS),
    (SIX_DIGITS, 32, CodeForm(7, alphanumeric=False)),
    (SIX_DIGITS, 178, CodeForm(8, alphanumeric=False)),
    (SIX_DIGITS, 1_001, NINE_DIGITS),
    (SIX_DIGITS, 5_624, CodeForm(9)),
    (NINE_DIGITS, 5_623, NINE_DIGITS),
    (NINE_DIGITS, 5_624, CodeForm(9)),
    (CodeForm(6), 5_931, CodeForm(6)),
    (CodeForm(6), 5_932, CodeForm(7)),
    (CodeForm(9), 14_446_490, CodeForm(9)),
    (CodeForm(9), 14_446_491, CodeForm(10)),
]


@pytest.mark.parametrize(("asked", "guesses", "expected"), GROWN, ids=str)
def test_codes_become_longer_after_wrong_guesses(asked: CodeForm, guesses: int, expected: CodeForm) -> None:
    assert form_after(asked, guesses) == expected


ATTEMPTS_AT_OLDER_CODES = 18
"""A code lasts ten minutes at most, so it meets at most two windows of nine attempts after it was made."""


def chance_of_a_hit(forms: list[CodeForm]) -> Fraction:
    """The sum of the chances of all attempts, for ever, by who always asks for the weakest of these forms.

    An attempt is made at a code that was made when there were up to ATTEMPTS_AT_OLDER_CODES fewer guesses. The sum
    goes over the numbers of guesses at which the weakest form changes.
    """
    total, counted = Fraction(ATTEMPTS_AT_OLDER_CODES, min(form.combinations for form in forms)), 0
    for _ in range(20):
        weakest = min((form_after(form, counted) for form in forms), key=lambda form: form.combinations)
        sent_until = isqrt(isqrt(weakest.combinations**3 // 10**12))
        total += Fraction(sent_until + 1 - counted, weakest.combinations)
        counted = sent_until + 1
    left = Fraction(2 * counted, weakest.combinations)  # each further form has less than half of the one before
    return total + left


ALL_FORMS = [CodeForm(length, alphanumeric) for length in range(6, 10) for alphanumeric in (False, True)]


OF_TENANTS = chance_of_a_hit([form for form in ALL_FORMS if form.combinations >= CODE_COMBINATIONS_MIN])


@given(st.lists(st.sampled_from(ALL_FORMS), min_size=1, max_size=8))
def test_a_hit_is_out_of_reach_however_long_somebody_guesses(forms: list[CodeForm]) -> None:
    """docs/security.md: below 10^-4 for the parent's codes and those of its sub-organizations together."""
    assert chance_of_a_hit(forms) + OF_TENANTS < Fraction(1, 10_000)


def test_the_documented_sums() -> None:
    sums = [[SIX_DIGITS], [NINE_DIGITS], [CodeForm(6)], [CodeForm(9)], ALL_FORMS]
    assert [f"{float(chance_of_a_hit(forms)):.1e}" for forms in sums] == [
        "7.8e-05",
        "6.3e-06",
        "9.3e-06",
        "6.9e-07",
        "8.1e-05",
    ]


@given(st.sampled_from(ALL_FORMS), st.integers(0, 10**12), st.integers(0, 10**6))
def test_more_guesses_never_make_a_code_easier(form: CodeForm, guesses: int, more: int) -> None:
    after = form_after(form, guesses)
    assert form.combinations <= after.combinations <= form_after(form, guesses + more).combinations
    assert guesses <= isqrt(isqrt(after.combinations**3 // 10**12))


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
