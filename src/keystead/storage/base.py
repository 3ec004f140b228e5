"""The part of the store that both databases share, with the interface for the packages above.

Here: the cache, commits and their results, locks. Not here: reads (`reads`), the server's own rows (`server_rows`),
the connections and transactions of each database (`sqlite`, `postgres`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Organization, Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.store import Commit, CommitResult, OrganizationLock
from keystead.storage import row_decoding, rows
from keystead.storage.batch import Batch
from keystead.storage.cache import Answers, CacheLimits, ChangedSince, OrganizationCache
from keystead.storage.errors import unavailable
from keystead.storage.group_commit import GroupCommit
from keystead.storage.integrity import IntegrityReads
from keystead.storage.pending import GrantedLock, LockRequest, PendingCommit, Settled, pending_commit, pending_write
from keystead.storage.purger import Purger
from keystead.storage.server_rows import ServerRows
from keystead.storage.statements import Dialect, Reads
from keystead.storage.tables import merged_key_lengths, tables_of
from keystead.storage.write_set import WriteSet

RowT = TypeVar("RowT", bound=VersionedRow)

FIRST_ORGANIZATION_ID = "first_organization_id"
"""The instance value with the id of the first organization."""


class DatabaseStore(ServerRows):
    """A `Store`, with more methods for the start and the background tasks of a server. Belongs to one event loop.

    Every method raises Unavailable while the database does not answer, and works again when it does.
    """

    dialect: ClassVar[Dialect]

    def __init__(self, reads: Reads, limits: CacheLimits, kinds: RecordKinds) -> None:
        super().__init__(reads)
        self._records = row_decoding.RecordReader(kinds)
        self._cache = OrganizationCache(self, limits, kinds, self._loading)
        self._is_closed = False
        self._rows_written: dict[type[VersionedRow], Callable[[Sequence[Any]], None]] = {}
        self._records_removed: Callable[[str, bool], None] = lambda _organization_id, _begins_deletion: None
        key_lengths = merged_key_lengths(tables_of(kinds.attached_tables))
        self._group_commit = self._new_group_commit(key_lengths)
        self.purger = Purger(reads, self._select, self._commit_rows)
        """Deletes the rows of deleted wallets and organizations in steps."""
        self.integrity = IntegrityReads(reads, self._select)
        """Reads whole tables, for the check of a database."""
        self.decisions: Counter[tuple[str, str]] = Counter()
        """How many decisions were handed in, by verdict and rule."""

    def _new_group_commit(self, key_lengths: Mapping[str, int]) -> GroupCommit:
        return GroupCommit(self._write, self._settle, key_lengths, self._cache.known_version)

    # What each database adds.

    @abstractmethod
    async def version(self, organization_id: str) -> Version | None:
        """The newest version of an organization. It includes everything that was committed before this turn of the
        event loop began."""

    @abstractmethod
    async def ready(self) -> None:
        """Raise Unavailable unless the database answers now."""

    @abstractmethod
    async def close(self) -> None:
        """Finish the commits that were handed in, then disconnect. Later commits raise Unavailable."""

    @abstractmethod
    async def _write(self, batch: Batch) -> CommitResult | Exception:
        """Run a transaction. Returns its result, or the error for its commits."""

    @abstractmethod
    def _request_lock(self, organization_id: str, known_version: int | None) -> LockRequest:
        """Start to lock an organization."""

    # Organizations.

    async def organization(self, organization_id: str) -> Organization | None:
        return await self._cache.newest(organization_id)

    def cached_answers(self, organization: Organization) -> Answers:
        """The cache of encoded answers about this version; it is dropped with the version."""
        return self._cache.answers(organization)

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """The changes after this version, all of one moment. The result has every record if the version is None, or
        if tombstones of later removals were purged. None if the organization does not exist."""
        if version_number is None:
            selected = await self._select_whole(organization_id)
            return await self._read_changes(organization_id, selected, is_whole=True)
        return await self._changed_since(
            organization_id, await self._select_changes(organization_id, version_number)
        )

    async def _select_whole(self, organization_id: str) -> Sequence[Sequence[Any]]:
        """The rows of the statement `whole`."""
        return await self._select(self._reads.whole, id=organization_id)

    async def _select_changes(self, organization_id: str, version_number: int | None) -> Sequence[Sequence[Any]]:
        """The rows of the statement `changed_since`. If the version is None, there is one row, with the
        newest version and no change."""
        return await self._select(self._reads.changed_since, id=organization_id, version=version_number)

    async def _changed_since(self, organization_id: str, selected: Sequence[Sequence[Any]]) -> ChangedSince | None:
        """`selected`: the rows of the statement `changed_since`."""
        if any(kind == rows.PURGED_TOMBSTONES for _, _, kind, _, _ in selected):
            return await self.changed_since(organization_id, None)
        return await self._read_changes(organization_id, selected, is_whole=False)

    async def _read_changes(
        self, organization_id: str, selected: Sequence[Sequence[Any]], *, is_whole: bool
    ) -> ChangedSince | None:
        if not selected:
            return None
        number, changed_by = selected[0][:2]
        stated = (row[2:] for row in selected if row[2] is not None)
        changes = await self._loading.each(organization_id, lambda row: self._records.change(*row), stated)
        return ChangedSince(Version(number, changed_by), changes, is_whole=is_whole)

    # What metrics read.

    @property
    def waiting_commits(self) -> int:
        """The commits that wait for the next transaction."""
        return self._group_commit.waiting

    @property
    def cache_use(self) -> tuple[int, int]:
        """How often the cache had an organization, and how often it did not."""
        return self._cache.entries.hits, self._cache.entries.misses

    def connections(self) -> Mapping[str, tuple[int, int]]:
        """By purpose: how many connections to a database server are in use, and the most that there can be."""
        return {}

    def when_transactions_end(self, call: Callable[[int, float], None]) -> None:
        """`call` is called after each transaction, with the number of its commits and the seconds that it took."""
        self._group_commit.on_transaction = call

    # Commits.

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        for evaluation in commit.evaluations:
            self.decisions[evaluation.verdict, evaluation.rule] += 1
        return self._add(pending_commit(commit))

    async def lock(self, organization_id: str) -> OrganizationLock:
        if self._is_closed:
            raise unavailable("is being closed")
        known = self._cache.known(organization_id)
        request = self._request_lock(organization_id, known.version_number)
        try:
            changed = await self._changed_since(organization_id, await request.granted)
            organization = await self._cache.after(organization_id, known, changed)
        except BaseException:
            request.release()
            raise
        return GrantedLock(request, organization, self._add)

    async def bootstrap(
        self,
        organization: Organization,
        attachments: Iterable[Attachment],
        lookups: Iterable[Lookup],
        instance: Mapping[str, bytes],
    ) -> bool:
        """Write the first organization and the instance's values, all or nothing.

        Returns False and changes nothing if the instance exists already, made by this or another process.
        """
        named = {FIRST_ORGANIZATION_ID: organization.id.encode(), **instance}
        write_set = rows.of_new_organization(organization, attachments, lookups, named)
        result = await self._add(pending_write(organization.id, write_set, (organization,)))
        return result is CommitResult.COMMITTED

    async def add_organization(
        self, organization: Organization, attachments: Iterable[Attachment], lookups: Iterable[Lookup]
    ) -> bool:
        """Write one more organization at its first version; False, changing nothing, if its id is taken.

        For development servers: everywhere else an activity of the parent makes an organization.
        """
        write_set = rows.of_new_organization(organization, attachments, lookups, {})
        result = await self._add(pending_write(organization.id, write_set, (organization,)))
        return result is CommitResult.COMMITTED

    def _commit_rows(self, organization_id: str, write_set: WriteSet) -> asyncio.Future[CommitResult]:
        return self._add(pending_write(organization_id, write_set, ()))

    def _add(self, pending: PendingCommit) -> asyncio.Future[CommitResult]:
        if self._is_closed:
            pending.future.set_exception(unavailable("is being closed"))
        else:
            self._group_commit.add(pending)
        return pending.future

    def when_rows_are_written(self, kind: type[RowT], call: Callable[[Sequence[RowT]], None]) -> None:
        """`call` is called after each commit of this process that writes rows of this kind, with these rows."""
        self._rows_written[kind] = call

    def when_records_are_removed(self, call: Callable[[str, bool], None]) -> None:
        """`call` is called after each commit of this process that removes records, with the organization's id, and
        whether rows of a deleted wallet or organization are left."""
        self._records_removed = call

    def _settle(self, settled: Settled) -> None:
        """Report the results to the callers of `commit`."""
        for pending, result in settled:
            if result is CommitResult.COMMITTED:
                for organization in pending.organizations:
                    self._cache.keep(organization)
                if pending.removes_records or pending.begins_deletion:
                    self._records_removed(pending.organization_id, pending.begins_deletion)
                for kind, call in self._rows_written.items():
                    if written := [row for row in pending.rows if type(row) is kind]:
                        call(written)
            if pending.future.done():  # its caller was cancelled
                continue
            if isinstance(result, CommitResult):
                pending.future.set_result(result)
            else:
                pending.future.set_exception(result)
