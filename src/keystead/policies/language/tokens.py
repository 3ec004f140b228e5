"""From the text of an expression to its tokens, each with its place.

Here: the form of tokens, and what to write instead of a character that begins no token. Not here: their order
(`grammar`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from keystead.policies.language.syntax import ExpressionRefused, Place

_WORDS = frozenset({"true", "false", "in"})

WITH_PREDICATE = frozenset({"all", "any", "filter"})
"""The functions that take a name and a predicate."""

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<int>[0-9]+)|(?P<string>'[^']*')"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|\.\.|[!<>.,()\[\]])"
)
_INSTEAD = {
    '"': "strings are written in single quotes",
    "'": "this string has no closing `'`",
    "=": "equality is written `==`",
    "&": "conjunction is written `&&`",
    "|": "disjunction is written `||`",
    "-": "the language has no negative numbers and no subtraction",
    "+": "the language has no addition",
    "*": "the language has no multiplication",
    "/": "the language has no division and no comments",
}


_ARROW = "=>"
_SINCE_FUNCTION = 5
"""Tokens from the name of a function to the arrow in `any(u =>` or `any((u) =>`."""


class Token(NamedTuple):
    kind: str
    text: str
    at: Place

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the expression"
        return f"`{self.text}`" if len(self.text) <= 40 else f"`{self.text[:40]}…`"


def arguments_of(function: str) -> str:
    """What a function with a predicate takes, as a message says it."""
    return f"`{function}` takes a name and a predicate: `{function}(u, …)`"


def _instead_of_arrow(before: list[Token]) -> str:
    """Other languages write predicates with an arrow."""
    for token in before[-_SINCE_FUNCTION:]:
        if token.text in WITH_PREDICATE:
            return arguments_of(token.text)
    return "at least is written `>=`"


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, the last one of kind "end". Raises ExpressionRefused."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    tokens: list[Token] = []
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        line = bisect_right(lines, offset)
        at = Place(line, offset - lines[line - 1] + 1)
        if match is None:
            character = text[offset]
            instead = _INSTEAD.get(character, "this character has no meaning outside a string")
            if text.startswith(_ARROW, offset):
                character, instead = _ARROW, _instead_of_arrow(tokens)
            raise ExpressionRefused(f"unexpected {character!r}: {instead}", at)
        kind = str(match.lastgroup)
        if kind == "name" and match.group() in _WORDS:
            kind = "word"
        if kind != "space":
            tokens.append(Token(kind, match.group(), at))
        offset = match.end()
    tokens.append(Token("end", "", Place(len(lines), len(text) - lines[-1] + 1)))
    return tokens
