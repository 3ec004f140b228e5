"""The queue of an organization: its submissions are decided on one after the other, and committed together.

A decision ends when its commit is handed to the store, before that is durable. The next decision starts from the
speculative head: the organization as it will be after the commits that were handed in. If one of these commits
fails, the commits that were decided on top of it fail too, and their submissions are decided on again.

If another process changes the organization at the same time (contention), the organization is locked first. Then
the submissions in the queue are decided on under this one lock, and written when it is released.

Not here: what is decided (`submit`, `vote`), the lock itself (`storage`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import msgspec

from keystead.organizations.organization import Organization
from keystead.pipeline.store import Commit, CommitResult, OrganizationLock, Store

CONTENTION_S: Final = 2.0
"""Seconds after a conflict in which the organization is locked before each decision."""

UNQUEUED_MAX: Final = 64
"""The most submissions of one organization that are decided at the same time outside the queue. The others wait."""

LOCKED_COMMITS_MAX: Final = 64
"""The most commits under one lock. Other processes wait while it lasts."""

UNCOMMITTED_CHANGES_MAX: Final = 1_000
"""If the commits that were handed in change more records than this, the next decision waits for their results. A
commit may hold 12 MB of records."""

Committing = asyncio.Future[CommitResult]


class Contention:
    """Which organizations other processes change at the same time. Belongs to one event loop."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def is_contended(self, organization_id: str) -> bool:
        """Whether a commit of this process for the organization was in conflict less than CONTENTION_S ago."""
        return bool(self._until) and self._until.get(organization_id, 0.0) > _now_s()

    def note_conflict(self, organization_id: str) -> None:
        """A commit of this process for the organization is in conflict with one of another process."""
        now_s = _now_s()
        while self._until and next(iter(self._until.values())) <= now_s:  # the oldest is the first
            del self._until[next(iter(self._until))]
        self._until.pop(organization_id, None)
        self._until[organization_id] = now_s + CONTENTION_S


def _now_s() -> float:
    return asyncio.get_running_loop().time()


class _Uncommitted(msgspec.Struct, frozen=True):
    """A commit that was handed in. `fingerprint`: of its activity. `changes`: how many records it changes."""

    fingerprint: str | None
    changes: int


class OrganizationQueue:
    """The queue of one organization. Belongs to one event loop.

    A caller decides and commits inside `exclusive`, and awaits `committed` afterwards. Decisions that need no order
    use the semaphore `unqueued`.
    """

    def __init__(self, store: Store, organization_id: str, contention: Contention) -> None:
        self._store = store
        self._organization_id = organization_id
        self._contention = contention
        self._order = asyncio.Lock()
        self.unqueued = asyncio.Semaphore(UNQUEUED_MAX)
        self._waiting = 0
        self._head: Organization | None = None
        self._head_commit: Committing | None = None
        self._uncommitted: dict[Committing, _Uncommitted] = {}
        self._lock: OrganizationLock | None = None
        self._locked_commits = 0
        self.users = 0

    @property
    def waiting(self) -> int:
        """How many submissions wait in the queue."""
        return self._waiting

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """A block for one decision. Callers enter one by one, in their order. If there is contention, the
        organization is locked first.

        Raises the store's error if it cannot lock.
        """
        self._waiting += 1
        try:
            await self._order.acquire()
        finally:
            self._waiting -= 1
            self._unlock_if_unused()
        try:
            if self._contention.is_contended(self._organization_id):
                await self._take_lock()
            if sum(commit.changes for commit in self._uncommitted.values()) > UNCOMMITTED_CHANGES_MAX:
                await self.flush()
            yield
        finally:
            self._order.release()
            if self._locked_commits >= LOCKED_COMMITS_MAX:
                self._unlock()
            self._unlock_if_unused()

    # Methods for use inside `exclusive`.

    async def organization(self) -> Organization | None:
        """The organization to decide on: the speculative head, or the newest version in the database."""
        return self._head or await self._store.organization(self._organization_id)

    @property
    def head_commit(self) -> Committing | None:
        """The commit that leads to the speculative head; None while the database has the newest version."""
        return self._head_commit

    async def flush(self, fingerprint: str | None = None) -> None:
        """Wait until every commit that was handed in has its result, so that reads of the database see them.

        With a fingerprint: wait only if one of the commits is of the activity with this fingerprint.
        """
        fingerprints = [commit.fingerprint for commit in self._uncommitted.values()]
        if not fingerprints or (fingerprint is not None and fingerprint not in fingerprints):
            return
        was_locked = self._lock is not None
        self._unlock()
        await self._settle()
        if was_locked:
            await self._take_lock()

    def commit(self, commit: Commit) -> Committing:
        """Hand in a commit. `committed` returns its result."""
        committing = (self._lock or self._store).commit(commit)
        self._uncommitted[committing] = _Uncommitted(
            fingerprint=commit.activity.fingerprint if commit.activity else None,
            changes=len(commit.write.changes) if commit.write else 0,
        )
        self._locked_commits += self._lock is not None
        if commit.write is not None:
            self._head, self._head_commit = commit.write.after, committing
        return committing

    # Methods for use after it.

    async def committed(self, committing: Committing) -> CommitResult:
        """The result of a commit that was handed in before. Raises the store's error."""
        result = None
        try:
            result = await committing
        finally:
            if committing in self._uncommitted:
                del self._uncommitted[committing]
                if result is not CommitResult.COMMITTED:
                    self._uncommitted.clear()  # the commits on top of it fail too
                if not self._uncommitted:
                    self._head = self._head_commit = None
        if result is CommitResult.CONFLICT:
            self._contention.note_conflict(self._organization_id)
        return result

    async def _take_lock(self) -> None:
        if self._lock is not None and not self._lock.is_released:
            return
        lock = await self._store.lock(self._organization_id)
        await self._settle()  # these commits were written before the lock was granted, or fail
        self._lock, self._locked_commits = lock, 0
        self._head = lock.organization

    async def _settle(self) -> None:
        if self._uncommitted:
            await asyncio.wait(list(self._uncommitted))
        self._uncommitted.clear()
        self._head = self._head_commit = None

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock, self._locked_commits = None, 0

    def _unlock_if_unused(self) -> None:
        if not self._waiting and not self._order.locked():
            self._unlock()


async def is_committed(committing: Committing) -> bool:
    """Whether the commit of another task succeeds. Waits for its result."""
    await asyncio.wait([committing])
    return (
        not committing.cancelled()
        and committing.exception() is None
        and committing.result() is CommitResult.COMMITTED
    )


class OrganizationQueues:
    """The queues of this process: one for each organization, while a request uses it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contention = Contention()
        self._queues: dict[str, OrganizationQueue] = {}

    @property
    def waiting(self) -> int:
        """How many submissions wait in the queue."""
        return sum(queue.waiting for queue in self._queues.values())

    @contextmanager
    def queue(self, organization_id: str) -> Iterator[OrganizationQueue]:
        queue = self._queues.get(organization_id)
        if queue is None:
            queue = self._queues[organization_id] = OrganizationQueue(
                self._store, organization_id, self._contention
            )
        queue.users += 1
        try:
            yield queue
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[organization_id]
