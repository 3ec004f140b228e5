"""From the text of an expression to its tokens, each with its place.

Here: the form of tokens, and what to write instead of a character that begins no token. Not here: their order
(`grammar`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from keystead.policies.syntax import ExpressionRefused, Place

_WORDS = frozenset({"true", "false", "in"})

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


class Token(NamedTuple):
    kind: str
    text: str
    at: Place

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the expression"
        return f"`{self.text}`" if len(self.text) <= 40 else f"`{self.text[:40]}…`"


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
            raise ExpressionRefused(f"unexpected {character!r}: {instead}", at)
        kind = str(match.lastgroup)
        if kind == "name" and match.group() in _WORDS:
            kind = "word"
        if kind != "space":
            tokens.append(Token(kind, match.group(), at))
        offset = match.end()
    tokens.append(Token("end", "", Place(len(lines), len(text) - lines[-1] + 1)))
    return tokens
