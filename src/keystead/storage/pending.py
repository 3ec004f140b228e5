"""Commits that wait to be written, and locks of organizations.

Here: these values and their futures. Not here: transactions (`sqlite_writer`, `postgres_transactions`), which
commits share one (`group_commit`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization, Remove
from keystead.pipeline.store import Commit, CommitResult
from keystead.storage.rows import leaves_rows_to_delete, of_commit
from keystead.storage.write_set import WriteSet

LOCK_S = 2.0
"""The longest time, in seconds, for which an organization is locked. Other processes wait while it is locked."""


class PendingCommit(msgspec.Struct, frozen=True):
    """A commit that was handed in. `organizations`: the organizations that it writes, as they are after
    it.

    `rows`: its rows with a revision of their own. `removes_records`, `begins_deletion`: whether rows are to be
    deleted afterwards.
    """

    organization_id: str
    write_set: WriteSet
    organizations: tuple[Organization, ...]
    future: asyncio.Future[CommitResult]
    rows: tuple[VersionedRow, ...] = ()
    removes_records: bool = False
    begins_deletion: bool = False


Settled = Sequence[tuple[PendingCommit, CommitResult | Exception]]


def pending_commit(commit: Commit) -> PendingCommit:
    """Encode a commit, on the event loop's thread."""
    organizations = tuple(write.after for write in (commit.write, commit.new_organization) if write is not None)
    pending = pending_write(commit.organization_id, of_commit(commit), organizations)
    return replace(
        pending,
        rows=commit.rows,
        removes_records=commit.write is not None
        and any(isinstance(change, Remove) for change in commit.write.changes),
        begins_deletion=leaves_rows_to_delete(pending.write_set),
    )


def pending_write(
    organization_id: str, write_set: WriteSet, organizations: tuple[Organization, ...]
) -> PendingCommit:
    return PendingCommit(organization_id, write_set, organizations, asyncio.get_running_loop().create_future())


class LockRequest:
    """A requested lock. The database's store calls `grant` or `fail`, then awaits `released`. All on the event
    loop.

    `known_version`: the number of the version whose later changes are read when the lock is granted; None: no
    changes are read.
    """

    def __init__(self, organization_id: str, known_version: int | None) -> None:
        loop = asyncio.get_running_loop()
        self.organization_id = organization_id
        self.known_version = known_version
        self.granted: asyncio.Future[Sequence[Sequence[Any]]] = loop.create_future()
        self.released: asyncio.Future[Sequence[PendingCommit]] = loop.create_future()
        self._commits: list[PendingCommit] = []
        self._limit: asyncio.TimerHandle | None = None

    # For the owner.

    def add(self, pending: PendingCommit) -> bool:
        """Write a commit when the lock is released. Returns False if it was released already."""
        if self.released.done():
            return False
        self._commits.append(pending)
        return True

    def release(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        if not self.released.done():
            self.released.set_result(self._commits)

    # For the database's store.

    def grant(self, selected: Sequence[Sequence[Any]]) -> None:
        """The organization is locked now, for at most LOCK_S. `selected`: the rows of `changed_since` after the
        known version; no rows if the organization does not exist."""
        if not self.granted.done():  # otherwise the owner gave up and released it
            self.granted.set_result(selected)
            self._limit = asyncio.get_running_loop().call_later(LOCK_S, self.release)

    def fail(self, error: Exception) -> None:
        """The lock cannot be taken, or was lost."""
        if not self.granted.done():
            self.granted.set_exception(error)
        self.release()


class GrantedLock:
    """Implements `pipeline.store.OrganizationLock`. `commit_unlocked` takes commits after the lock was
    released."""

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

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        pending = pending_commit(commit)
        if not self._request.add(pending):
            self._commit_unlocked(pending)
        return pending.future

    def release(self) -> None:
        self._request.release()
