"""How many further approvals a consensus needs, found out by trying sets of users. Pure.

A consensus is any expression, so its number is not written anywhere. Here: the trials, whose number is bounded.
Not here: what one trial evaluates (`activity_descriptions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import msgspec

IsMet = Callable[[Sequence[str]], bool]
"""Whether a consensus is met once these users have approved, too."""

ALL_TRIED: Final = 6
"""Among so few users, every set of the number that is found is tried, and every smaller one by one."""

EACH_TRIED: Final = 20
"""Among so few users, it is tried for each whether the consensus is met without that user."""


class Needed(msgspec.Struct, frozen=True):
    """`count`: how many users must approve. `required`: those of them who must approve in any case."""

    count: int
    required: tuple[str, ...] = ()


def approvals_needed(users: Sequence[str], is_met: IsMet) -> Needed | None:
    """What the consensus needs of these users, if it is so simple: some of them in any case, and any `n` of the
    others. None if it is another rule, such as one about credentials, or if all of them together do not meet it."""
    if not is_met(users):
        return None
    required: tuple[str, ...] = ()
    if len(users) <= EACH_TRIED:
        required = tuple(user for user in users if not is_met([other for other in users if other != user]))
    others = [user for user in users if user not in required]
    number = _smallest(others, lambda chosen: is_met([*required, *chosen]))
    if _any_will_do(others, number, lambda chosen: is_met([*required, *chosen])):
        return Needed(len(required) + number, required if number else ())
    return None


def _smallest(users: Sequence[str], is_met: IsMet) -> int:
    """The smallest number of the first users that is enough."""
    low, high = 0, len(users)
    while low < high:
        middle = (low + high) // 2
        if is_met(users[:middle]):
            high = middle
        else:
            low = middle + 1
    return low


def _any_will_do(users: Sequence[str], number: int, is_met: IsMet) -> bool:
    """Whether any set of this number is enough, and none that has one user less."""
    if number == 0:
        return True
    for size, expected in ((number, True), (number - 1, False)):
        if any(is_met(chosen) is not expected for chosen in _tried(users, size)):
            return False
    return True


def _tried(users: Sequence[str], size: int) -> list[Sequence[str]]:
    if len(users) <= ALL_TRIED:
        return list(combinations(users, size))
    middle = (len(users) - size) // 2
    return [users[-size:] if size else [], users[middle : middle + size], [*users[::2], *users[1::2]][:size]]
