"""The part of the store that both databases share, with the interface for the packages above.

Here: the cache, commits and their outcomes, locks. Not here: reads (`reads`), the connections and transactions of
each database (`sqlite`, `postgres`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Organization, Version
from keystead.organizations.outgoing_messages import EmailEvent, OutgoingMessage
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.store import Commit, CommitOutcome, OrganizationLock
from keystead.storage import rows
from keystead.storage.batch import Batch
from keystead.storage.cache import Answers, CacheLimits, ChangedSince, OrganizationCache
from keystead.storage.errors import unavailable
from keystead.storage.group_commit import GroupCommit
from keystead.storage.pending import HeldLock, LockRequest, PendingCommit, Settled, pending_commit, pending_write
from keystead.storage.reads import DatabaseReads
from keystead.storage.statements import Reads
from keystead.storage.tables import merged_key_lengths, tables_of
from keystead.storage.write_set import Purge, SettingSwap, WriteSet

FIRST_ORGANIZATION_ID = "first_organization_id"
"""The instance value with the id of the first organization."""


class DatabaseStore(DatabaseReads):
    """A `Store`, with more methods for the start and the background tasks of a server. Belongs to one event loop.

    Every method raises Unavailable while the database does not answer, and works again when it does.
    """

    def __init__(self, reads: Reads, limits: CacheLimits, kinds: RecordKinds) -> None:
        super().__init__(reads)
        self._records = rows.RecordReader(kinds)
        self._cache = OrganizationCache(self, limits, kinds)
        self._is_closed = False
        self._messages_written: Callable[[], None] = lambda: None
        key_lengths = merged_key_lengths(tables_of(kinds.attached_tables))
        self._group_commit = GroupCommit(self._write, self._settle, key_lengths)
        self.decisions: Counter[tuple[str, str]] = Counter()
        """How many decisions were handed in, by verdict and rule."""

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
    async def _write(self, batch: Batch) -> CommitOutcome | Exception:
        """Run a transaction. Returns its outcome, or the error for its commits."""

    @abstractmethod
    def _request_lock(self, organization_id: str) -> LockRequest:
        """Start to lock an organization."""

    # Organizations.

    async def organization(self, organization_id: str) -> Organization | None:
        return await self._cache.newest(organization_id)

    def cached_answers(self, organization: Organization) -> Answers:
        """The cache of encoded answers about this version; it is dropped with the version."""
        return self._cache.answers(organization)

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """The changes after this version; every record if the version is None. All of one moment. None if the
        organization does not exist."""
        statement = self._reads.whole if version_number is None else self._reads.changed_since
        found = await self._select(statement, id=organization_id, version=version_number)
        if not found:
            return None
        number, changed_by = found[0][:2]
        changes = [self._records.change(kind, id_, body) for _, _, kind, id_, body in found if kind is not None]
        return ChangedSince(Version(number, changed_by), changes)

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
        """By what they are for: how many connections to a database server are in use, and the most there can be."""
        return {}

    def when_transactions_end(self, call: Callable[[int, float], None]) -> None:
        """`call` is called after each transaction, with the number of its commits and the seconds that it took."""
        self._group_commit.written = call

    async def due_message_count(self) -> int:
        """The messages of all organizations that are not sent yet."""
        found = await self._select(self._reads.due_message_count)
        return int(found[0][0])

    # Commits.

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        for evaluation in commit.evaluations:
            self.decisions[evaluation.verdict, evaluation.rule] += 1
        return self._add(pending_commit(commit))

    async def lock(self, organization_id: str) -> OrganizationLock:
        if self._is_closed:
            raise unavailable("is being closed")
        request = self._request_lock(organization_id)
        try:
            version = await request.granted
            organization = await self._cache.at(organization_id, version)
        except BaseException:
            request.release()
            raise
        return HeldLock(request, organization, self._add)

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
        written = rows.of_bootstrap(organization, attachments, lookups, named)
        outcome = await self._add(pending_write(organization.id, written, (organization,)))
        return outcome is CommitOutcome.COMMITTED

    async def add_organization(
        self, organization: Organization, attachments: Iterable[Attachment], lookups: Iterable[Lookup]
    ) -> bool:
        """Write one more organization at its first version; False, changing nothing, if its id is taken.

        For development servers: everywhere else an activity of the parent makes an organization.
        """
        written = rows.of_bootstrap(organization, attachments, lookups, {})
        outcome = await self._add(pending_write(organization.id, written, (organization,)))
        return outcome is CommitOutcome.COMMITTED

    def _add(self, pending: PendingCommit) -> asyncio.Future[CommitOutcome]:
        if self._is_closed:
            pending.future.set_exception(unavailable("is being closed"))
        else:
            self._group_commit.add(pending)
        return pending.future

    def when_messages_are_written(self, call: Callable[[], None]) -> None:
        """`call` is called after each commit of this process that writes an outgoing message."""
        self._messages_written = call

    def _settle(self, settled: Settled) -> None:
        """Report the outcomes to the callers of `commit`."""
        for pending, outcome in settled:
            if outcome is CommitOutcome.COMMITTED:
                for organization in pending.organizations:
                    self._cache.keep(organization)
                if pending.has_messages:
                    self._messages_written()
            if pending.future.done():  # its caller gave up
                continue
            if isinstance(outcome, CommitOutcome):
                pending.future.set_result(outcome)
            else:
                pending.future.set_exception(outcome)

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> list[OutgoingMessage]:
        """Lease due messages that no other process has leased, the oldest first."""
        found = await self._select(self._reads.due_messages, now_ms=now_ms, limit=limit)
        leased = [rows.outgoing_message_from(row).leased(now_ms + lease_ms) for row in found]
        taken = await asyncio.gather(*[self._write_rows(each.organization_id, each) for each in leased])
        return [each for each, is_mine in zip(leased, taken, strict=True) if is_mine]

    async def finished_messages(self, now_ms: int, limit: int) -> list[tuple[str, str]]:
        """The newest messages of all organizations that are done with: the ids of organization and message."""
        found = await self._select(self._reads.finished_messages, now_ms=now_ms, limit=limit)
        return [(organization_id, message_id) for organization_id, message_id in found]

    async def outgoing_message(self, organization_id: str, message_id: str) -> OutgoingMessage | None:
        found = await self._select(self._reads.outgoing_message, organization_id=organization_id, id=message_id)
        return rows.outgoing_message_from(found[0]) if found else None

    async def record_attempt(self, after: OutgoingMessage, event: EmailEvent | None) -> bool:
        """Write a leased message after an attempt to send it, and the event of the attempt. False if the lease had
        ended."""
        return await self._write_rows(after.organization_id, *filter(None, (after, event)))

    async def _write_rows(self, organization_id: str, *written: AttachedRow) -> bool:
        """Write rows that are new or follow the stored revision. False, with nothing written, if one does not."""
        write_set = WriteSet()
        for row in written:
            rows.write_row(organization_id, row, write_set)
        outcome = await self._add(pending_write(organization_id, write_set, ()))
        return outcome is CommitOutcome.COMMITTED

    async def has_expired(self, table: str, before_ms: int) -> bool:
        """Whether the table has rows that expired before this moment, in milliseconds since the epoch."""
        return bool(await self._select(self._reads.expired_rows[table], before_ms=before_ms))

    async def purge(self, table: str, before_ms: int, limit: int) -> None:
        """Delete rows of the table that expired before this moment, the first of them, at most `limit`."""
        written = WriteSet(purges=[Purge(table, before_ms, limit)])
        await self._add(pending_write("", written, ()))

    async def replace_instance_value(self, name: str, before: bytes, after: bytes) -> bool:
        """Replace a value of the instance; False, with nothing changed, if `before` is no longer its value."""
        swap = SettingSwap(name, before, after)
        written = WriteSet(setting_swap=swap)
        return await self._add(pending_write("", written, ())) is CommitOutcome.COMMITTED
