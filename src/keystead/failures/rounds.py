"""The rounds of a loop in the background: the log of those that fail, and the pauses after failures.

Not here: what a round does, such as sending messages (`delivery.outbox`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Final, TypeVar

from keystead.failures.defects import is_defect, log_failure

TimeT = TypeVar("TimeT", int, float)

_DOUBLINGS_MAX = 30


def pause_after(failures: int, first: TimeT, most: TimeT) -> TimeT:
    """The pause after this many failures in a row (1 or more): `first`, doubled after each further failure, at most
    `most`."""
    pause: TimeT = min(first * 2 ** min(failures - 1, _DOUBLINGS_MAX), most)
    return pause


PAUSE_MAX_S: Final = 60.0
"""The longest pause after a failure, unless the first pause is longer."""


class Rounds:
    """`what`: what has failed when a round has. `first_pause_s`: the pause after one failure."""

    def __init__(self, logger: logging.Logger, what: str, first_pause_s: float) -> None:
        self._logger = logger
        self._what = what
        self._first_pause_s = first_pause_s
        self._woken = asyncio.Event()
        self._failures = 0
        self._is_defect = False

    @property
    def has_failed(self) -> bool:
        """Whether the last round failed."""
        return self._failures > 0

    @contextlib.contextmanager
    def logged(self) -> Iterator[None]:
        """The block is a round. If it raises, that is logged, and the loop goes on."""
        try:
            yield
        except Exception as failure:  # noqa: BLE001 - the next round tries again
            self._failures += 1
            self._is_defect = is_defect(failure)
            log_failure(self._logger, failure, self._what)
        else:
            self._failures, self._is_defect = 0, False

    def pause_s(self, usual_s: float) -> float:
        """The pause before the next round: `usual_s`, or longer after each failure in a row."""
        if not self._failures:
            return usual_s
        return pause_after(self._failures, self._first_pause_s, max(self._first_pause_s, PAUSE_MAX_S))

    def wake(self) -> None:
        """Begin the next round now. After a defect the pause goes on: it would be logged as often as this is
        called. After a refusal the pause ends: the database, for instance, may answer again."""
        self._woken.set()

    async def wait(self, usual_s: float) -> None:
        """Wait for the next round. A timeout that raises would leave a cycle of objects every second, so a timer is
        used."""
        pause_s = self.pause_s(usual_s)
        if self._is_defect:
            await asyncio.sleep(pause_s)
        else:
            timer = asyncio.get_running_loop().call_later(pause_s, self._woken.set)
            try:
                await self._woken.wait()
            finally:
                timer.cancel()
        self._woken.clear()
