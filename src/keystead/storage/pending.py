"""Commits that wait to be written, and the lock under which several of them were decided on.

Here: the values, and how the event loop is told. Not here: transactions (`sqlite_writer`, `postgres_transactions`),
which commits share one (`group_commit`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from keystead.organizations.organization import Organization, Version
from keystead.organizations.outgoing_messages import OutgoingMessage
from keystead.pipeline.store import Commit, CommitOutcome
from keystead.storage.rows import of_commit
from keystead.storage.write_set import WriteSet

LOCK_S = 2.0
"""How long an organization stays locked while commits are decided on: other processes wait meanwhile."""


class PendingCommit(msgspec.Struct, frozen=True):
    """A commit that was handed in. `organizations` are in the database as they are here, once it is committed.

    `has_messages`: whether it writes messages that are to be sent.
    """

    organization_id: str
    write_set: WriteSet
    organizations: tuple[Organization, ...]
    future: asyncio.Future[CommitOutcome]
    has_messages: bool = False


Settled = Sequence[tuple[PendingCommit, CommitOutcome | Exception]]


def pending_commit(commit: Commit) -> PendingCommit:
    """Every value is encoded here, on the event loop's thread."""
    organizations = tuple(change.after for change in (commit.change, commit.new_organization) if change is not None)
    pending = pending_write(commit.organization_id, of_commit(commit), organizations)
    return replace(pending, has_messages=True) if _has_messages(commit) else pending


def _has_messages(commit: Commit) -> bool:
    return any(isinstance(row, OutgoingMessage) for row in commit.rows)


def pending_write(
    organization_id: str, write_set: WriteSet, organizations: tuple[Organization, ...]
) -> PendingCommit:
    return PendingCommit(organization_id, write_set, organizations, asyncio.get_running_loop().create_future())


class LockRequest:
    """A lock that was asked for. The engine calls `grant` or `fail`, then awaits `released`.

    Everything happens on the event loop.
    """

    def __init__(self, organization_id: str) -> None:
        loop = asyncio.get_running_loop()
        self.organization_id = organization_id
        self.granted: asyncio.Future[Version | None] = loop.create_future()
        self.released: asyncio.Future[Sequence[PendingCommit]] = loop.create_future()
        self._commits: list[PendingCommit] = []
        self._limit: asyncio.TimerHandle | None = None

    # For the owner.

    def add(self, pending: PendingCommit) -> bool:
        """Have a commit written when the lock is released; False if it was released before."""
        if self.released.done():
            return False
        self._commits.append(pending)
        return True

    def release(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        if not self.released.done():
            self.released.set_result(self._commits)

    # For the engine.

    def grant(self, version: Version | None) -> None:
        """The organization is locked, for LOCK_S at most, and this is its newest version; None: there is none."""
        if not self.granted.done():  # else the owner gave up, and has released it
            self.granted.set_result(version)
            self._limit = asyncio.get_running_loop().call_later(LOCK_S, self.release)

    def fail(self, error: Exception) -> None:
        """The lock cannot be had, or was lost."""
        if not self.granted.done():
            self.granted.set_exception(error)
        self.release()


class HeldLock:
    """Implements `pipeline.store.OrganizationLock`. `commit_unlocked`: once the lock is released."""

    def __init__(
        self,
        request: LockRequest,
        organization: Organization | None,
        commit_unlocked: Callable[[PendingCommit], object],
    ) -> None:
        self._request = request
        self._organization = organization
        self._commit_unlocked = commit_unlocked

    @property
    def organization(self) -> Organization | None:
        return self._organization

    @property
    def is_released(self) -> bool:
        return self._request.released.done()

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        pending = pending_commit(commit)
        if not self._request.add(pending):
            self._commit_unlocked(pending)
        return pending.future

    def release(self) -> None:
        self._request.release()
