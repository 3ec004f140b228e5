"""The facts of any JSON value: one fact for each value in it, named by its path, up to a limit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from keystead.describe.bounds import FACT_TEXT_CHARACTERS_MAX, FACTS_MAX
from keystead.describe.description import Fact, Names
from keystead.primitives.unreadable import Unreadable

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NONE: Final = Names()


def facts_of(value: Any, label: str = "", names: Names = _NONE) -> list[Fact]:
    """The values inside `value`, in order, each with its path after `label`. Absent and empty values are left out.
    If there are more than FACTS_MAX, the last fact says so."""
    facts = list(itertools.islice(_walk(value, label, names), FACTS_MAX + 1))
    if len(facts) > FACTS_MAX:
        facts[FACTS_MAX:] = [Fact("…", "more follows that is not shown here")]
    return facts


def _walk(value: Any, label: str, names: Names) -> Iterator[Fact]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _walk(member, f"{label} {name_in_words(name)}".strip(), names)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if all(isinstance(item, str) for item in value) and len(value) <= 10:
            if value:
                yield Fact(label, ", ".join(truncated(names.with_name(item)) for item in value))
            return
        for number, member in enumerate(value, 1):
            yield from _walk(member, f"{label} {number}".strip(), names)
    elif isinstance(value, Unreadable):
        yield Fact(label, f"unknown: {value.reason}")
    elif value is not None and value != "":
        yield Fact(label, truncated(names.with_name(value) if isinstance(value, str) else _json_text(value)))


def name_in_words(name: str) -> str:
    """The words of a camelCase name: "wallet name" for walletName. A name of another form is returned unchanged."""
    return _HUMP.sub(" ", name).lower() if name[:1].islower() and "_" not in name else name


def _json_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def truncated(text: str) -> str:
    """The text, cut after CHARACTERS_MAX characters with its length."""
    if len(text) <= FACT_TEXT_CHARACTERS_MAX:
        return text
    return f"{text[:FACT_TEXT_CHARACTERS_MAX]}… ({len(text)} characters)"
