"""The known word that a misspelt one is probably meant to be, for messages of errors. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

WORDS_MAX = 1_000
CHARACTERS_MAX = 64
"""Longer words are no misspelt ones, and comparing them takes long."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest to this one; None if none is near. Letter case is not looked at."""
    if len(word) > CHARACTERS_MAX:
        return None
    by_lower = {each.lower(): each for _, each in zip(range(WORDS_MAX), known, strict=False)}
    found = difflib.get_close_matches(word.lower(), by_lower, 1)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: ": did you mean X?", or "" if no known word is near."""
    near = nearest(word, known)
    return "" if near is None else f": did you mean {near}?"
