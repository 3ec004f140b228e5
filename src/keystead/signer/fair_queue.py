"""A queue for long work of several organizations on one event loop. It runs in slices, one organization after the
other.

Between two slices the loop answers short calls, such as signatures. The work of one organization delays that of
another by at most one slice at a time. Not here: the work itself (`keys.steps`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from typing import Any, Final

from keystead.api.errors import Unavailable
from keystead.keys.steps import ResultT, Steps

STEPS_PER_SLICE: Final = 64
"""About two milliseconds: a step takes 2 to 30 microseconds, the seed of a mnemonic a millisecond."""

WAITING_PER_ORGANIZATION_MAX: Final = 16
WAITING_MAX: Final = 512
"""Most waiting work of one organization, and of all. Further work is refused."""


class _Task:
    """Work that runs or waits, and the future of its result."""

    __slots__ = ("result", "steps")

    def __init__(self, steps: Steps[Any], result: asyncio.Future[Any]) -> None:
        self.steps = steps
        self.result = result

    def run_slice(self) -> bool:
        """Run some steps. Returns whether the work has ended."""
        if self.result.done():  # the caller gave up
            self.steps.close()
            return True
        try:
            for _ in range(STEPS_PER_SLICE):
                next(self.steps)
        except StopIteration as finished:
            self.result.set_result(finished.value)
        except Exception as failure:  # noqa: BLE001 - the caller of `run` gets it
            self.result.set_exception(failure)
        return self.result.done()


class FairQueue:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, deque[_Task]] = OrderedDict()
        """By organization, in the order in which they are served."""
        self._waiting = 0
        self._running: asyncio.Task[None] | None = None

    async def run(self, organization_id: str, steps: Steps[ResultT]) -> ResultT:
        """The result of the work. Raises what the work raises, and Unavailable if too much work waits already."""
        tasks = self._tasks.get(organization_id)
        if tasks is not None and len(tasks) >= WAITING_PER_ORGANIZATION_MAX:
            raise Unavailable(
                f"the signer already works on {len(tasks)} requests of this organization; wait for their answers; "
                "sending the same request again is safe"
            )
        if self._waiting >= WAITING_MAX:
            raise Unavailable("the signer has too many requests to work on; sending the same request again is safe")
        loop = asyncio.get_running_loop()
        task = _Task(steps, loop.create_future())
        self._tasks.setdefault(organization_id, deque()).append(task)
        self._waiting += 1
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._run())
        result: ResultT = await task.result
        return result

    async def _run(self) -> None:
        while self._tasks:
            organization_id, tasks = self._tasks.popitem(last=False)
            if tasks[0].run_slice():
                tasks.popleft()
                self._waiting -= 1
            if tasks:
                self._tasks[organization_id] = tasks  # at the end, so that the others are next
            await asyncio.sleep(0)
