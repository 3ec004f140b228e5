"""Names that must be unique within one organization and one kind.

Their characters and lengths are checked while a request is decoded (`api.decoding.Label`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.errors import InvalidRequest


def check_unique(name: str, taken: Iterable[tuple[str, str]], field: str, called: str = "label") -> None:
    """Raise InvalidRequest if another record has the name.

    `taken`: the name and id of each other record. `field`: the field of the request with the name. `called`: the
    word for such a name in the error, as clients expect it.
    """
    for other, holder in taken:
        if other == name:
            raise InvalidRequest(f"invalid request: field `{field}`: {called} must be unique: {name!r} is {holder}")
