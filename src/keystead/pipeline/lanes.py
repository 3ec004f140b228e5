"""Where submissions to one organization take turns, so that many can share one commit.

A turn lasts until what it decided is handed to the store, not until it is durable: the next one starts from the
organization as it will be. Whatever was built on a commit that failed fails with it, and runs again; what would
not fail by itself, having no version to start from, waits until the commit stands.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from keystead.organizations.organization import Organization
from keystead.pipeline.store import CommitOutcome


class Turn:
    """Had by one at a time, in the order in which they ask. `is_free`: whoever asks now has it at once."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._in_line = 0

    @property
    def is_free(self) -> bool:
        return not self._in_line  # a lock says that it is not held, too, when it has just been left to who waits

    async def __aenter__(self) -> None:
        self._in_line += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self._in_line -= 1
            raise

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._in_line -= 1
        self._lock.release()


class Lane:
    """`head` is the organization as it will be when everything handed in is committed; None while that is what
    the store has. `foreseen` is the commit that leads to `head`."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.head: Organization | None = None
        self.foreseen: asyncio.Future[CommitOutcome] | None = None
        self.travellers = 0
        self._uncommitted: set[asyncio.Future[CommitOutcome]] = set()

    async def committed(self, committing: asyncio.Future[CommitOutcome]) -> CommitOutcome:
        """The outcome of a commit that was handed in during a turn. Raises what the store raises."""
        outcome = None
        try:
            outcome = await committing
        finally:
            self._uncommitted.discard(committing)
            if outcome is not CommitOutcome.COMMITTED or not self._uncommitted:
                self.head = self.foreseen = None
        return outcome

    def handed_in(self, committing: asyncio.Future[CommitOutcome], after: Organization | None) -> None:
        """Note a commit, and what the organization will be after it (None: unchanged)."""
        self._uncommitted.add(committing)
        if after is not None:
            self.head, self.foreseen = after, committing

    async def cleared(self) -> None:
        """During a turn: returns once nothing that was handed in is on its way any more."""
        if self._uncommitted:
            await asyncio.wait(self._uncommitted)
        self.head = self.foreseen = None


async def stands(committing: asyncio.Future[CommitOutcome]) -> bool:
    """Whether somebody else's commit was kept, once that is known; False where it never will be."""
    await asyncio.wait([committing])
    return (
        not committing.cancelled()
        and committing.exception() is None
        and committing.result() is CommitOutcome.COMMITTED
    )


class Lanes:
    """One lane per organization that somebody is changing."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}

    @contextmanager
    def lane(self, organization_id: str) -> Iterator[Lane]:
        lane = self._lanes.get(organization_id)
        if lane is None:
            lane = self._lanes[organization_id] = Lane()
        lane.travellers += 1
        try:
            yield lane
        finally:
            lane.travellers -= 1
            if not lane.travellers:
                del self._lanes[organization_id]


LANDED_MAX = 10_000
"""Requests that are remembered after they are done."""


class InFlight:
    """Equal requests that arrive while the first is under way wait for it."""

    def __init__(self) -> None:
        self._landings: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._landed: OrderedDict[tuple[str, str], None] = OrderedDict()

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._landings

    async def depart(self, key: tuple[str, str]) -> bool:
        """Only one of each key is between this and `land` at a time; whether another was there lately."""
        while (landing := self._landings.get(key)) is not None:
            await asyncio.shield(landing)
        self._landings[key] = asyncio.get_running_loop().create_future()
        return key in self._landed

    def land(self, key: tuple[str, str]) -> None:
        self._landings.pop(key).set_result(None)
        self._landed[key] = None
        if len(self._landed) > LANDED_MAX:
            self._landed.popitem(last=False)
