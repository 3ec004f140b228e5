"""Long work on the event loop in slices of time. Other tasks run between two slices.

Not here: work whose organizations take turns (`long_work`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
ResultT = TypeVar("ResultT")

FIRST_SLICE_S: Final = 0.002
"""Seconds of work that are done at once. Nearly all work ends in this time."""

SLICE_S: Final = 0.005
"""Seconds of a further slice."""


class TimeSlices:
    """The slices of one kind of work. They belong to one event loop; one slice is done after the other."""

    def __init__(self) -> None:
        self._free = asyncio.Lock()

    async def each(self, work: Callable[[T], ResultT], items: Iterable[T]) -> list[ResultT]:
        """What `work` returns for each item. A pause follows each slice, as long as the slice."""
        left, results = iter(items), list[ResultT]()
        is_over = _one_slice(work, left, results, FIRST_SLICE_S)
        while not is_over:
            await self._free.acquire()
            began_s = time.perf_counter()
            try:
                is_over = _one_slice(work, left, results, SLICE_S)
            finally:
                asyncio.get_running_loop().call_later(time.perf_counter() - began_s, self._free.release)
        return results


def _one_slice(work: Callable[[T], ResultT], left: Iterator[T], results: list[ResultT], seconds: float) -> bool:
    """Work until the time is over. Returns whether no item is left."""
    ends_s = time.perf_counter() + seconds
    for item in left:
        results.append(work(item))
        if time.perf_counter() > ends_s:
            return False
    return True
