"""What policies say of every request in one situation: found at the first, and kept for those that follow.

Most policies of an organization have nothing to say of a given request, and the same nothing of each like it. Here:
what is kept, and for how long. Not here: what a policy says, and which of it stands (`hearing`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from keystead.policies.expression import Broken, Expression, Value

if TYPE_CHECKING:
    from keystead.policies.facts import NamedPolicy
    from keystead.policies.hearing import PolicyEvaluation

FindingT = TypeVar("FindingT")

POLICIES_KEPT: Final = 50_000
"""Of all situations together. What one policy says takes some hundred bytes."""

_AS_POLICIES: Final = 10
"""What keeping a situation takes besides, counted in policies: an organization may have none."""


class Standing(msgspec.Struct, frozen=True):
    """What every policy said, which stands for all but those at the places `open`: these are asked again.

    `values` are those of the expressions that what stands follows from, and `steps` what they cost.
    """

    evaluations: tuple[PolicyEvaluation, ...]
    open: tuple[int, ...]
    values: Mapping[Expression | Broken, Value]
    steps: int


class Kept(Generic[FindingT]):
    """By the very same sequence of policies and by situation. What was used longest ago goes first."""

    def __init__(self, policies_max: int = POLICIES_KEPT) -> None:
        self._policies_max = policies_max
        self._policies = 0
        self._kept: OrderedDict[tuple[int, Hashable], tuple[Sequence[NamedPolicy], FindingT]] = OrderedDict()

    def of(self, policies: Sequence[NamedPolicy], situation: Hashable) -> FindingT | None:
        place = id(policies), situation
        kept = self._kept.get(place)
        if kept is None or kept[0] is not policies:
            return None
        self._kept.move_to_end(place)
        return kept[1]

    def keep(self, policies: Sequence[NamedPolicy], situation: Hashable, finding: FindingT) -> None:
        place = id(policies), situation
        before = self._kept.pop(place, None)
        if before is not None:
            self._policies -= _size(before[0])
        self._policies += _size(policies)
        self._kept[place] = policies, finding
        while self._policies > self._policies_max:
            _, (gone, _) = self._kept.popitem(last=False)
            self._policies -= _size(gone)


def _size(policies: Sequence[NamedPolicy]) -> int:
    return len(policies) + _AS_POLICIES
