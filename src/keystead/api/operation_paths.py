"""The operation that an unknown path is probably meant to be, for messages of errors. Pure.

Paths are short: query/list_wallets. Not here: which paths there are (`public_schema`, `catalogue`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from keystead.api.choices import nearest

_PATH: Final = re.compile(r"(?P<kind>query|submit)/(?P<name>[a-z0-9_]{1,64})")
_OTHER: Final = {"query": ("submit", "submission"), "submit": ("query", "query")}
# Names are compared whole only if their lengths differ by at most this many letters, and if the first or the last
# letters are equal. A caller without a key can send unknown paths, so each must cost the server little.
_LENGTH_DIFFERENCE_MAX: Final = 4
_FIRST_LETTERS, _LAST_LETTERS = 3, 4


def probably_meant(path: str, known: Collection[str]) -> str:
    """The end of a message about an unknown path: ": did you mean query/list_wallets?", or that the operation is of
    the other kind (a query, a submission). "" if no known path is similar."""
    match = _PATH.fullmatch(path)
    if match is None:
        return ""
    name = match["name"]
    kind, what = _OTHER[match["kind"]]
    if f"{kind}/{name}" in known:
        return f": {name} is a {what}: {kind}/{name}"
    path_by_name = {known_path.partition("/")[2]: known_path for known_path in known}
    near = nearest(name, [known_name for known_name in path_by_name if _is_like(name, known_name)])
    return "" if near is None else f": did you mean {path_by_name[near]}?"


def _is_like(name: str, known: str) -> bool:
    has_similar_length = abs(len(name) - len(known)) <= _LENGTH_DIFFERENCE_MAX
    return has_similar_length and (
        name[:_FIRST_LETTERS] == known[:_FIRST_LETTERS] or name[-_LAST_LETTERS:] == known[-_LAST_LETTERS:]
    )
