"""The counters of velocity controls: the rows, what is used at a moment, what a transaction adds. Pure.

Each control has a counter for each of its groups. A counter has a running total of all that was ever counted. For a
rolling window there is an entry for each moment at which something was counted, with the total before it. What is
used is the total less the total before the first entry in the window, so one look-up finds it however many entries
there are.

The time of a counter never goes back: where a clock does, the newest time that the counter knows is taken. Entries
are deleted by that time, so no clock brings an entry back that was deleted.

Not here: what an activity adds (`measures`), the transaction (`storage.counting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from keystead.api.enums import AggregationOperator
from keystead.organizations.attached_rows import AttachedRow, AttachedTable

INFINITE = 0
"""Stands for a window without an end."""


class VelocityCounter(AttachedRow, frozen=True, kw_only=True):
    """The running total of one group of a velocity control.

    `id`: `counter_id`. `at_ms`: when it was last added to, in milliseconds since the epoch. `window_ms`: the
    length of the rolling window, or INFINITE. `total`: of all that was ever counted, as decimal text."""

    table = AttachedTable(
        name="velocity_counter",
        key=(("id", str),),
        columns=(("at_ms", int), ("window_ms", int), ("total", str)),
        is_replaced=True,
    )

    id: str
    at_ms: int
    window_ms: int
    total: str


class VelocityEntry(AttachedRow, frozen=True, kw_only=True):
    """Something was counted at `at_ms`. `total_before`: the counter's total before that, as decimal text."""

    table = AttachedTable(
        name="velocity_entry",
        key=(("counter_id", str), ("at_ms", int)),
        columns=(("total_before", str),),
        is_replaced=True,
    )

    counter_id: str
    at_ms: int
    total_before: str


def counter_id(control_id: str, group: str) -> str:
    """The id of the counter of a control for a group: a user, a wallet, a private key; "" for the organization."""
    return f"{control_id}/{group}"


class CounterState(msgspec.Struct, frozen=True):
    """A counter as it is read. `first_at_ms`, `first_before`: of the first entry in the window; None if the window
    has none, or has no end."""

    at_ms: int = 0
    total: int = 0
    first_at_ms: int | None = None
    first_before: int | None = None

    def used(self, window_ms: int) -> int:
        if window_ms == INFINITE:
            return self.total
        return 0 if self.first_before is None else self.total - self.first_before


NOTHING_COUNTED = CounterState()


class Reliance(msgspec.Struct, frozen=True):
    """What a decision relied on: with the activity, the sum compares with the threshold in this way."""

    operator: AggregationOperator
    threshold: int
    holds: bool


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit adds to a counter: `amount`, at `at_ms`. `relied_on`: it succeeds only if this holds in its
    transaction; None if the decision did not depend on the counter."""

    organization_id: str
    counter_id: str
    window_ms: int
    at_ms: int
    amount: int
    relied_on: Reliance | None = None

    @property
    def place(self) -> tuple[str, str]:
        return (self.organization_id, self.counter_id)


def compares(operator: AggregationOperator, value: int, threshold: int) -> bool:
    match operator:
        case AggregationOperator.LESS_THAN:
            return value < threshold
        case AggregationOperator.LESS_THAN_OR_EQUAL:
            return value <= threshold
        case AggregationOperator.EQUAL:
            return value == threshold
        case AggregationOperator.GREATER_THAN_OR_EQUAL:
            return value >= threshold
        case AggregationOperator.GREATER_THAN:
            return value > threshold
        case _:
            assert_never(operator)


def rows_after(state: CounterState, counted: Sequence[Counted]) -> Sequence[AttachedRow] | None:
    """The rows of one counter after these additions, in order; none if they add nothing. None if a decision relied
    on what does not hold. `state`: as it is at the newest time of the additions."""
    first = counted[0]
    at_ms = max(state.at_ms, *(each.at_ms for each in counted))
    used, added = state.used(first.window_ms), 0
    for each in counted:
        added += each.amount
        relied = each.relied_on
        if relied is not None and compares(relied.operator, used + added, relied.threshold) is not relied.holds:
            return None
    if not added:
        return ()
    counter = VelocityCounter(
        id=first.counter_id, at_ms=at_ms, window_ms=first.window_ms, total=str(state.total + added)
    )
    if first.window_ms == INFINITE or at_ms == state.at_ms:
        return (counter,)
    return (counter, VelocityEntry(counter_id=first.counter_id, at_ms=at_ms, total_before=str(state.total)))
