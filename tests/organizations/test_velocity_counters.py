"""The counters of velocity controls: windows, additions, clocks that go back."""

from __future__ import annotations

from random import Random

import pytest

from keystead.api.enums import AggregationOperator
from keystead.organizations.velocity.counters import (
    INFINITE,
    Counted,
    CounterState,
    Reliance,
    VelocityCounter,
    VelocityEntry,
    rows_after,
)

WINDOW_MS = 1_000
AT_MOST = AggregationOperator.LESS_THAN_OR_EQUAL


def adds(
    amount: int, at_ms: int, limit: int | None = None, *, holds: bool = True, window_ms: int = WINDOW_MS
) -> Counted:
    relied_on = None if limit is None else Reliance(AT_MOST, limit, holds)
    return Counted(
        organization_id="o", counter_id="c", window_ms=window_ms, at_ms=at_ms, amount=amount, relied_on=relied_on
    )


class Table:
    """The rows of one counter, read as the statement `counters` reads them."""

    def __init__(self, window_ms: int = WINDOW_MS) -> None:
        self.window_ms = window_ms
        self.counter: VelocityCounter | None = None
        self.entries: dict[int, int] = {}

    def state(self, now_ms: int) -> CounterState:
        if self.counter is None:
            return CounterState()
        after_ms = max(now_ms, self.counter.at_ms) - self.window_ms
        inside = [at_ms for at_ms in self.entries if self.window_ms and at_ms > after_ms]
        first = min(inside, default=None)
        before = None if first is None else self.entries[first]
        return CounterState(self.counter.at_ms, int(self.counter.total), first, before)

    def add(self, *counted: Counted) -> bool:
        rows = rows_after(self.state(max(each.at_ms for each in counted)), counted)
        for row in rows or ():
            match row:
                case VelocityCounter():
                    self.counter = row
                case VelocityEntry():
                    self.entries[row.at_ms] = int(row.total_before)
        return rows is not None

    def used(self, now_ms: int) -> int:
        return self.state(now_ms).used(self.window_ms)


def test_amounts_leave_the_window_one_by_one() -> None:
    table = Table()
    for at_ms, amount in ((0, 1), (10, 2), (20, 4)):
        assert table.add(adds(amount, at_ms + 100))
    moments = (1_099, 1_100, 1_110, 1_119, 1_120)
    assert [table.used(now_ms) for now_ms in moments] == [7, 6, 4, 4, 0]


def test_a_window_without_an_end_has_no_entries() -> None:
    table = Table(INFINITE)
    for at_ms in (1, 2, 10**9):
        assert table.add(adds(2**255, at_ms, window_ms=INFINITE))
    assert (table.used(10**12), table.entries) == (3 * 2**255, {})


@pytest.mark.parametrize(("limit", "holds", "succeeds"), [(10, True, True), (9, True, False), (9, False, True)])
def test_what_a_decision_relied_on(limit: int, holds: bool, succeeds: bool) -> None:
    table = Table()
    assert table.add(adds(6, 100))
    assert table.add(adds(4, 100, limit, holds=holds)) is succeeds
    assert table.used(100) == (10 if succeeds else 6)


def test_the_additions_of_one_transaction_are_checked_one_after_the_other() -> None:
    table = Table()
    assert not table.add(adds(6, 100, 10), adds(4, 100, 10), adds(1, 101, 10))
    assert table.used(101) == 0
    assert table.add(adds(6, 100, 10), adds(4, 101, 10))
    assert table.used(101) == 10


def test_a_reliance_without_an_addition_writes_nothing() -> None:
    assert rows_after(CounterState(), [adds(0, 5, 10)]) == ()


def test_a_clock_that_goes_back_frees_nothing() -> None:
    table = Table()
    assert table.add(adds(7, 5_000))
    assert table.add(adds(2, 10))  # by a clock that is behind
    assert (table.used(10), table.used(5_999), table.used(6_000)) == (9, 9, 0)


def test_no_window_is_ever_above_its_limit() -> None:
    """Random amounts at random moments of several clocks, against a list of all of them."""
    chance, table, limit, signed = Random(3), Table(), 20, list[tuple[int, int]]()
    now_ms = 0
    for _ in range(3_000):
        now_ms += chance.randrange(40)
        at_ms, amount = now_ms + chance.randrange(-50, 50), chance.randrange(1, 8)
        latest_ms = max([at_ms, *(each for each, _ in signed[-1:])])
        used = sum(each for moment, each in signed if moment > latest_ms - WINDOW_MS)
        fits = used + amount <= limit
        assert table.used(at_ms) == used
        assert table.add(adds(amount, at_ms, limit)) is fits
        if fits:
            signed.append((latest_ms, amount))
    assert len(signed) > 100
