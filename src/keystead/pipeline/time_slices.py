"""Long work on the event loop in slices of time. Organizations take turns, and other tasks run between two slices.

Not here: the order of the slices (`turns`), work that cannot be divided (`long_work`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from keystead.pipeline.turns import Turns

T = TypeVar("T")
ResultT = TypeVar("ResultT")

FIRST_SLICE_S: Final = 0.002
"""Seconds of work that are done at once. Nearly all work ends in this time."""

SLICE_S: Final = 0.005
"""Seconds of a further slice."""


class TimeSlices:
    """The slices of one kind of work. They belong to one event loop; one slice is done after the other."""

    def __init__(self) -> None:
        self._turns = Turns(time.perf_counter)

    async def each(self, organization_id: str, work: Callable[[T], ResultT], items: Iterable[T]) -> list[ResultT]:
        """What `work` returns for each item. A pause follows each slice, as long as the slice.

        After the first slice, the works of an organization wait for each other. Otherwise the incomplete results of
        all of them would be in memory at the same time.
        """
        left, results = iter(items), list[ResultT]()
        if not _one_slice(work, left, results, FIRST_SLICE_S):
            async with self._turns.alone(organization_id):
                is_over = False
                while not is_over:
                    async with self._turns.piece():
                        is_over = _one_slice(work, left, results, SLICE_S)
        return results


def _one_slice(work: Callable[[T], ResultT], left: Iterator[T], results: list[ResultT], seconds: float) -> bool:
    """Work until the time is over. Returns whether no item is left."""
    ends_s = time.perf_counter() + seconds
    for item in left:
        results.append(work(item))
        if time.perf_counter() > ends_s:
            return False
    return True
