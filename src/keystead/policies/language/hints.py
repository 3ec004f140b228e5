"""What to write instead, for mistakes of people who know other languages. Pure.

Here: a sentence for the tokens around an unexpected token. Not here: characters that begin no token (`tokens`),
names that do not exist (`type_checker`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from keystead.policies.language.tokens import Token

_WORDS: Final[Mapping[str, str]] = {
    "and": "conjunction is written `&&`",
    "or": "disjunction is written `||`",
    "not": "negation is written `!`, as in `!(a == b)`",
    "is": "equality is written `==`",
}
_EXPONENT = re.compile(r"[eE][0-9]*\Z")
_WHOLE = "numbers are whole: an amount is written in the smallest unit, so that one ether is 1000000000000000000"
_SEPARATED = re.compile(r"_[0-9_]*\Z")
_PREFIXED = re.compile(r"[xX][0-9a-fA-F]{1,8}\Z|[bBoO][0-7]+\Z")
_ORDERINGS: Final = frozenset({"<", "<=", ">", ">="})
_DIGITS = "a whole number is written with digits alone, such as 1000"
_QUOTES = "text, addresses too, is written in single quotes"

_LIKE_TEXT_FROM: Final = 20
"""A word of at least this many characters is probably a text without quotes. No keyword has such a long name."""


def hint(before: tuple[Token | None, Token | None], found: Token) -> str:
    """The end of a message: "; …", or "". `before`: the two tokens in front of the one that does not fit."""
    second, first = before
    if found.text.lower() in _WORDS:
        return f"; {_WORDS[found.text.lower()]}"
    if first is None:
        return ""
    if first.text.lower() == "not":
        return f"; {_WORDS['not']}"
    if first.text == "." and found.kind == "int" and second is not None and second.kind == "int":
        return f"; {_WHOLE}"
    if first.kind == "int" and found.kind == "name" and _adjacent(first, found):
        return f"; {_after_digits(first, found, is_ordered=second is not None and second.text in _ORDERINGS)}"
    return ""


def _after_digits(digits: Token, found: Token, *, is_ordered: bool) -> str:
    """The hint for a name directly after digits. `is_ordered`: an operator such as < precedes, which only numbers
    have."""
    if _EXPONENT.match(found.text):
        return _WHOLE
    if is_ordered or _SEPARATED.match(found.text):
        return _DIGITS
    if digits.text == "0" and _PREFIXED.match(found.text):
        return f"{_QUOTES}; {_DIGITS}"
    return _QUOTES


def is_like_text(name: str) -> bool:
    """Whether a name is probably a text without its quotes: an address, or a word in capitals."""
    return len(name) >= _LIKE_TEXT_FROM or (name.isupper() and len(name) > 2)


def quotes_hint(name: str) -> str:
    """The end of a message about a name that is probably a text."""
    return f"; {_QUOTES}" if is_like_text(name) else ""


def _adjacent(first: Token, second: Token) -> bool:
    return first.at.line == second.at.line and first.at.column + len(first.text) == second.at.column
