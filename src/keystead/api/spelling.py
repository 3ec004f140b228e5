"""The known word that a misspelt one is probably meant to be, for messages of errors. Pure."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

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
