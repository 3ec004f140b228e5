"""The operation that an unknown path is probably meant to be, for messages of errors. Pure.

Paths are short: query/list_wallets. Not here: which paths there are (`public_schema`, `catalogue`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from keystead.api.spelling import nearest

_PATH: Final = re.compile(r"(?P<kind>query|submit)/(?P<name>[a-z0-9_]{1,64})")
_OTHER: Final = {"query": ("submit", "submission"), "submit": ("query", "query")}
_LENGTH_APART: Final = 4
_START, _END = 3, 4
"""Letters of which a misspelt name has the first or the last ones right. Few names are compared whole, so that a
caller without a key costs the server little."""


def probably_meant(path: str, known: Collection[str]) -> str:
    """The end of a message about an unknown path: ": did you mean query/list_wallets?", or that it is of the other
    kind. "" if no known path is near."""
    match = _PATH.fullmatch(path)
    if match is None:
        return ""
    name = match["name"]
    kind, what = _OTHER[match["kind"]]
    if f"{kind}/{name}" in known:
        return f": {name} is a {what}: {kind}/{name}"
    by_name = {each.partition("/")[2]: each for each in known}
    near = nearest(name, [each for each in by_name if _is_like(name, each)])
    return "" if near is None else f": did you mean {by_name[near]}?"


def _is_like(name: str, known: str) -> bool:
    is_as_long = abs(len(name) - len(known)) <= _LENGTH_APART
    return is_as_long and (name[:_START] == known[:_START] or name[-_END:] == known[-_END:])
