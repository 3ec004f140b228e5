"""Reads of the counters of velocity controls, shared by the decisions that wait for them.

Here: one read answers all calls of an organization that came before it began. So it is as fresh as a read of each,
and costs many decisions at the same time little more than one. Not here: the transaction that adds (`counting`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from keystead.organizations.velocity.counters import CounterState
from keystead.storage.counting import states
from keystead.storage.database import Queries

_States = dict[str, CounterState]


class _Read:
    """A read that has not begun. `now_ms`: the newest time of its calls."""

    __slots__ = ("answer", "ids", "now_ms")

    def __init__(self) -> None:
        self.ids: dict[str, None] = {}
        self.now_ms = 0
        self.answer: asyncio.Future[_States] = asyncio.get_running_loop().create_future()


class CounterReads:
    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._waiting: dict[str, _Read] = {}
        self._running: asyncio.Task[None] | None = None

    async def read(self, organization_id: str, counter_ids: Sequence[str], now_ms: int) -> _States:
        """The counters by id, perhaps with others of the organization."""
        read = self._waiting.get(organization_id)
        if read is None:
            read = self._waiting[organization_id] = _Read()
        read.ids.update(dict.fromkeys(counter_ids))
        read.now_ms = max(read.now_ms, now_ms)
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())
        return await asyncio.shield(read.answer)

    async def _run(self) -> None:
        try:
            while self._waiting:
                organization_id = next(iter(self._waiting))
                await self._answer(organization_id, self._waiting.pop(organization_id))
        finally:
            self._running = None

    async def _answer(self, organization_id: str, read: _Read) -> None:
        try:
            selected = await self._queries.select(
                self._queries.reads.counters,
                organization_id=organization_id,
                ids=self._queries.list_argument(list(read.ids)),
                now_ms=read.now_ms,
            )
        except Exception as error:  # noqa: BLE001 - after any error, no caller may wait for ever
            read.answer.set_exception(error)
            return
        read.answer.set_result(states(selected))
