"""Any JSON as facts: one for each value, named by its path, bounded."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from keystead.describe.description import Fact, Names

FACTS_MAX: Final = 60
CHARACTERS_MAX: Final = 400

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NONE: Final = Names()


def facts_of(value: Any, label: str = "", names: Names = _NONE) -> list[Fact]:
    """The values inside, in order; what is absent or empty is left out. The last fact says if there are more."""
    found = list(itertools.islice(_walk(value, label, names), FACTS_MAX + 1))
    if len(found) > FACTS_MAX:
        found[FACTS_MAX:] = [Fact("…", "more follows that is not shown here")]
    return found


def _walk(value: Any, label: str, names: Names) -> Iterator[Fact]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _walk(member, f"{label} {in_words(name)}".strip(), names)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(each, str) for each in value) and len(value) <= 10:
            if value:
                yield Fact(label, ", ".join(text_of(names.named(each)) for each in value))
            return
        for number, member in enumerate(value, 1):
            yield from _walk(member, f"{label} {number}".strip(), names)
    elif value is not None and value != "":
        yield Fact(label, text_of(names.named(value) if isinstance(value, str) else plain(value)))


def in_words(name: str) -> str:
    """walletName is "wallet name"; names of another form stay as they are."""
    return _HUMP.sub(" ", name).lower() if name[:1].islower() and "_" not in name else name


def plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def text_of(text: str) -> str:
    if len(text) <= CHARACTERS_MAX:
        return text
    return f"{text[:CHARACTERS_MAX]}… ({len(text)} characters)"
