"""The counters of velocity controls in the store of the tests (`memory_store`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.velocity.counters import (
    NOTHING_COUNTED,
    Counted,
    CounterState,
    VelocityCounter,
    VelocityEntry,
    rows_after,
)

Rows = Mapping[tuple[str, ...], AttachedRow]
"""The attached rows of an organization, by table and key."""


def counter_in(rows: Rows, counter_id: str, now_ms: int) -> CounterState | None:
    """A counter with the first entry in its window; None if nothing was counted."""
    counter = rows.get((VelocityCounter.table.name, counter_id))
    if not isinstance(counter, VelocityCounter):
        return None
    after_ms = max(counter.at_ms, now_ms) - counter.window_ms
    entries = [each for each in rows.values() if isinstance(each, VelocityEntry) and each.counter_id == counter_id]
    inside = [each for each in entries if counter.window_ms and each.at_ms > after_ms]
    first = min(inside, key=lambda each: each.at_ms, default=None)
    if first is None:
        return CounterState(counter.at_ms, int(counter.total))
    return CounterState(counter.at_ms, int(counter.total), first.at_ms, int(first.total_before))


def after(rows: Rows, counted: Counted) -> Sequence[AttachedRow] | None:
    """The rows of the counter after this addition; None if the decision relied on what does not hold."""
    return rows_after(counter_in(rows, counted.counter_id, counted.at_ms) or NOTHING_COUNTED, [counted])
