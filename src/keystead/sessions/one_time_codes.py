"""One-time codes: their form, how a typed code is read, sandbox codes. Pure.

Not here: counts of attempts and rates (`operations`), the keyed digest that is stored (`signer`), sending
(`delivery`).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from keystead.sessions.bounds import CODE_LENGTH_MAX

LENGTH_DEFAULT = 9
"""The characters of a code: at least, at most, by default."""

LIFE_DEFAULT_S = 300
"""Seconds for which a code is valid: by default, at most. It is valid for longer if its window lasts for longer
(`organizations.contacts.sending_windows`)."""

_DIGITS = "0123456789"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans({"I": "1", "L": "1", "O": "0", "-": None, " ": None})

SANDBOX_CODE = "000000"
_SANDBOX_CONTACTS = frozenset({"user@example.com", "+19999999999"})


class CodeForm(msgspec.Struct, frozen=True):
    """The form of a code. `length`: characters, 6 to 9, or more after many guesses. `alphanumeric`: in Crockford's
    base 32; otherwise digits."""

    length: int = LENGTH_DEFAULT
    alphanumeric: bool = True

    @property
    def combinations(self) -> int:
        """How many codes of this form there are."""
        combinations: int = (len(_CROCKFORD) if self.alphanumeric else len(_DIGITS)) ** self.length
        return combinations


def form_after(asked: CodeForm, guesses: int) -> CodeForm:
    """The form of the next code of a contact after this number of wrong attempts: the form that was asked
    for, or the first longer one that withstands them.

    A code of n combinations is sent while there were at most n^(3/4) / 1000 guesses: 31 at six digits, 5,931 at six
    letters and digits. So the chances of all guesses, however long they go on, have a sum below 10^-4
    (docs/security.md). Digits become longer up to CODE_LENGTH_MAX; then letters come in, and the length has no
    limit.
    """
    form = asked
    while guesses**4 * 10**12 > form.combinations**3:
        form = _next_form(form)
    return form


def _next_form(form: CodeForm) -> CodeForm:
    if not form.alphanumeric and form.length >= CODE_LENGTH_MAX:
        return CodeForm(length=form.length, alphanumeric=True)
    return CodeForm(length=form.length + 1, alphanumeric=form.alphanumeric)


def new_code(form: CodeForm, random_below: Callable[[int], int]) -> str:
    """A new code. `random_below(n)` returns a uniform integer from 0 to n-1 from a cryptographic source."""
    alphabet = _CROCKFORD if form.alphanumeric else _DIGITS
    return "".join(alphabet[random_below(len(alphabet))] for _ in range(form.length))


def canonical_code(typed: str, form: CodeForm) -> str:
    """The code that a person meant: in upper case, with I and L read as 1 and O as 0, without blanks and hyphens.

    In codes of digits, only blanks are removed.
    """
    if not form.alphanumeric:
        return typed.replace(" ", "")
    return typed.upper().translate(_READ_AS)


def is_sandbox(contact: str, form: CodeForm) -> bool:
    """Whether this contact gets SANDBOX_CODE in this form, and no message."""
    compact = contact.replace(" ", "").replace("-", "").lower()
    return not form.alphanumeric and form.length == len(SANDBOX_CODE) and compact in _SANDBOX_CONTACTS
