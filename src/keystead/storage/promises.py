"""What an engine was asked for and has not answered yet: commits, and holds of organizations.

Here: how the event loop asks, and how it is told. Not here: transactions and locks (`sqlite_writer`,
`postgres_committer`, `postgres_holder`).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Sequence

import msgspec

from keystead.organizations.organization import Organization
from keystead.pipeline.store import CommitOutcome
from keystead.storage.write_set import WriteSet

HOLD_S = 2.0
"""How long an organization is held for somebody to decide on it: others wait meanwhile."""


class Pending(msgspec.Struct, frozen=True):
    """A commit handed in: whose turn it is in, its rows, what the cache may keep of it, and who waits."""

    organization_id: str
    rows: WriteSet
    afterwards: tuple[Organization, ...]
    future: asyncio.Future[CommitOutcome]


Settled = Sequence[tuple[Pending, CommitOutcome | Exception]]


class Hold:
    """A hold asked for. The engine takes the lock, calls `enter`, waits for the `order`, obeys, and calls `end`.

    The order is a commit to write under the lock, or None, to let go. Except for waiting for it, which a thread may
    do, everything happens on the event loop.
    """

    def __init__(self, organization_id: str) -> None:
        self.organization_id = organization_id
        self.order: concurrent.futures.Future[Pending | None] = concurrent.futures.Future()
        self._entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._limit: asyncio.TimerHandle | None = None

    # For the caller.

    async def entered(self) -> None:
        """Returns when the lock is there, for HOLD_S at most. Raises what the engine was refused with."""
        await self._entered

    def give(self, order: Pending | None) -> bool:
        """Give the order; False if there is one: the time was over, or the engine lost its lock."""
        if self._limit is not None:
            self._limit.cancel()
        if self.order.done():
            return False
        self.order.set_result(order)
        return True

    # For the engine.

    def enter(self) -> None:
        if not self._entered.done():  # else the caller gave up, and the order is to let go
            self._entered.set_result(None)
            self._limit = asyncio.get_running_loop().call_later(HOLD_S, self.give, None)

    def end(self, outcome: CommitOutcome | Exception) -> Settled:
        """The lock is gone, or never came: whom to tell of this outcome."""
        if isinstance(outcome, Exception) and not self._entered.done():
            self._entered.set_exception(outcome)
        self.give(None)
        pending = self.order.result()
        return [] if pending is None else [(pending, outcome)]
