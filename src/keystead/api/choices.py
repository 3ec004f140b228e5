"""Which words and which members a field accepts, for the refusal of any other.

Here: from a type and the path of a field in it to the words of its enum or literal, or to the names of its members;
the known word that a misspelt one probably means.
Not here: the refusal (`decoding`).
"""

from __future__ import annotations

import difflib
import itertools
import re
import types
import typing
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any

import msgspec

WORDS_MAX = 1_000
CHARACTERS_MAX = 64
"""A longer word is not compared: it is hardly a misspelt name, and the comparison takes long."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most similar to this one; None if no known word is similar. Letter case is ignored. Of
    `known`, the first WORDS_MAX words are compared."""
    if len(word) > CHARACTERS_MAX:
        return None
    by_lower = {known_word.lower(): known_word for known_word in itertools.islice(known, WORDS_MAX)}
    matches = difflib.get_close_matches(word.lower(), by_lower, 1)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: ": did you mean X?", or "" if no known word is similar."""
    near = nearest(word, known)
    return "" if near is None else f": did you mean {near}?"


ALL_SHOWN_MAX = 12
"""A list of at most this many words is shown whole. Of a longer list, a message shows the words most like the one
that was sent."""

_STEP = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<item>[^\]]*)\]")


def expected_words(kind: Any, path: str, sent: str) -> str:
    """The end of a message about the unknown word `sent`: which words are expected at `path` within `kind`.

    `path`: e.g. accounts[0].curve. "" if the type of that value is neither an enum nor a literal.
    """
    kind = _type_at(kind, path)
    if typing.get_origin(kind) is typing.Literal:
        words = [str(word) for word in typing.get_args(kind)]
    elif isinstance(kind, type) and issubclass(kind, Enum):
        words = [str(member.value) for member in kind]
    else:
        return ""
    if len(words) <= ALL_SHOWN_MAX:
        return f"expected {' or '.join(words)}"
    near = difflib.get_close_matches(sent[:100], words, cutoff=0.4)
    return f"one of {len(words)} words is expected" + (f", perhaps {' or '.join(near)}" if near else "")


def member_names(kind: Any, path: str) -> list[str]:
    """The names of the members of the object at `path` within `kind`; empty if the value is not an object."""
    kind = _type_at(kind, path)
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return []
    return list(kind.__struct_encode_fields__)


def _type_at(kind: Any, path: str) -> Any:
    """The type of the value at `path` within `kind`; None if there is no such value."""
    for step in _STEP.finditer(path):
        kind = _bare(kind)
        kind = _field(kind, step["name"]) if step["name"] else _item(kind)
    return _bare(kind)


def _bare(kind: Any) -> Any:
    """The type without its constraints and without None."""
    if typing.get_origin(kind) is Annotated:
        return _bare(typing.get_args(kind)[0])
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        members = [member for member in typing.get_args(kind) if member is not type(None)]
        return _bare(members[0]) if len(members) == 1 else kind
    return kind


def _field(kind: Any, name: str) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return None
    for field in msgspec.structs.fields(kind):
        if field.encode_name == name:
            return field.type
    return None


def _item(kind: Any) -> Any:
    """What a list holds, or the values of a mapping."""
    arguments = typing.get_args(kind)
    return arguments[-1 if typing.get_origin(kind) is dict else 0] if arguments else None
