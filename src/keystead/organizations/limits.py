"""How many records one organization may have, and the error when there are too many.

Here: the declaration of a limit, and the values in force. Not here: the limits, which each record kind declares
(`kinds`). Every limit is a setting of the server. Wallet accounts and activities have no limit.
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import LimitReached


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit, declared once. Its setting is KEYSTEAD_LIMIT_<NAME>.

    `default` is its value unless an operator sets another; `description` is the documentation of the setting;
    `called` is the name of the records in a refusal.
    """

    name: str
    default: int
    description: str
    called: str


class Limits:
    """The values in force: those that were given by the names of limits, otherwise the defaults."""

    __slots__ = ("_values",)

    def __init__(self, **values: int) -> None:
        self._values = values

    def __getitem__(self, limit: Limit) -> int:
        return self._values.get(limit.name, limit.default)


def check_limit(have: int, adding: int, limit: Limit, limits: Limits) -> None:
    """Raise LimitReached if `have` existing records and `adding` new ones exceed the limit."""
    if have + adding > limits[limit]:
        raise LimitReached(
            f"this organization cannot execute activities because it is over its allotted quota: "
            f"{limit.called}: {have} of {limits[limit]} are in use, {adding} more were asked for"
        )
