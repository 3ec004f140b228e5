"""The part of the store that both databases share, with the interface for the packages above.

Here: the cache, commits and their results, locks. Not here: reads (`reads`), the connections and transactions of
each database (`sqlite`, `postgres`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from keystead.organizations.attached_rows import AttachedRow, VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Organization, Version
from keystead.organizations.outgoing_messages import EmailEventRow, OutgoingMessage
from keystead.organizations.record_kinds import RecordKinds
from keystead.organizations.webhooks import WebhookDelivery, WebhookEvent, WebhookLease
from keystead.pipeline.store import Commit, CommitResult, OrganizationLock
from keystead.pipeline.time_slices import TimeSlices
from keystead.storage import row_decoding, rows
from keystead.storage.batch import Batch
from keystead.storage.cache import Answers, CacheLimits, ChangedSince, OrganizationCache
from keystead.storage.cleaning import Cleaner
from keystead.storage.errors import unavailable
from keystead.storage.group_commit import GroupCommit
from keystead.storage.pending import GrantedLock, LockRequest, PendingCommit, Settled, pending_commit, pending_write
from keystead.storage.reads import DatabaseReads
from keystead.storage.statements import Dialect, Reads
from keystead.storage.tables import merged_key_lengths, tables_of
from keystead.storage.write_set import Purge, SettingSwap, WriteSet

RowT = TypeVar("RowT", bound=VersionedRow)

FIRST_ORGANIZATION_ID = "first_organization_id"
"""The instance value with the id of the first organization."""


class DatabaseStore(DatabaseReads):
    """A `Store`, with more methods for the start and the background tasks of a server. Belongs to one event loop.

    Every method raises Unavailable while the database does not answer, and works again when it does.
    """

    dialect: ClassVar[Dialect]

    def __init__(self, reads: Reads, limits: CacheLimits, kinds: RecordKinds) -> None:
        super().__init__(reads)
        self._records = row_decoding.RecordReader(kinds)
        self._loading = TimeSlices()
        """The slices of time in which large organizations are read."""
        self._cache = OrganizationCache(self, limits, kinds, self._loading)
        self._is_closed = False
        self._rows_written: dict[type[VersionedRow], Callable[[Sequence[Any]], None]] = {}
        self._records_removed: Callable[[str, bool], None] = lambda _organization_id, _begins_deletion: None
        key_lengths = merged_key_lengths(tables_of(kinds.attached_tables))
        self._group_commit = GroupCommit(self._write, self._settle, key_lengths, self._cache.known_version)
        self.cleaner = Cleaner(reads, self._select, self._write_set)
        """Deletes the rows of deleted wallets and organizations in steps."""
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
        if removals after the version are no longer recorded. None if the organization does not exist."""
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
        if any(kind == rows.FORGOTTEN for _, _, kind, _, _ in selected):
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

    async def due_message_count(self) -> int:
        """The messages of all organizations that are not sent yet."""
        selected = await self._select(self._reads.due_message_count)
        return int(selected[0][0])

    async def oldest_due_message_ms(self) -> int | None:
        """When the oldest waiting message was due, in milliseconds since the epoch; None if no message waits."""
        selected: int | None = (await self._select(self._reads.oldest_due_message))[0][0]
        return selected

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
        write_set = rows.of_bootstrap(organization, attachments, lookups, named)
        result = await self._add(pending_write(organization.id, write_set, (organization,)))
        return result is CommitResult.COMMITTED

    async def add_organization(
        self, organization: Organization, attachments: Iterable[Attachment], lookups: Iterable[Lookup]
    ) -> bool:
        """Write one more organization at its first version; False, changing nothing, if its id is taken.

        For development servers: everywhere else an activity of the parent makes an organization.
        """
        write_set = rows.of_bootstrap(organization, attachments, lookups, {})
        result = await self._add(pending_write(organization.id, write_set, (organization,)))
        return result is CommitResult.COMMITTED

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

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> list[OutgoingMessage]:
        """Lease due messages that no other process has leased, the oldest first."""
        selected = await self._select(self._reads.due_messages, now_ms=now_ms, limit=limit)
        leased = [OutgoingMessage.from_row(row).leased(now_ms + lease_ms) for row in selected]
        writes = [self._write_rows(message.organization_id, message) for message in leased]
        results = await asyncio.gather(*writes, return_exceptions=True)
        own = [message for message, result in zip(leased, results, strict=True) if result is True]
        failures = [result for result in results if isinstance(result, BaseException)]
        if failures and not own:
            raise failures[0]
        return own  # messages whose lease could not be written are leased later

    async def finished_messages(self, now_ms: int, limit: int) -> list[tuple[str, str]]:
        """The newest sent or dropped messages of all organizations: the ids of organization and message."""
        selected = await self._select(self._reads.finished_messages, now_ms=now_ms, limit=limit)
        return [(organization_id, message_id) for organization_id, message_id in selected]

    async def record_attempt(self, after: OutgoingMessage, event: EmailEventRow | None) -> bool:
        """Write a leased message after an attempt to send it, and the event of the attempt. False if the lease had
        ended."""
        return await self._write_rows(after.organization_id, *filter(None, (after, event)))

    async def waiting_endpoints(self, after: str, limit: int) -> list[str]:
        """The ids above `after` of endpoints with waiting deliveries, in order."""
        selected = await self._select(self._reads.waiting_endpoints, cursor=after, limit=limit)
        return [endpoint_id for (endpoint_id,) in selected]

    async def waiting_deliveries(self, endpoint_id: str, limit: int) -> list[WebhookDelivery]:
        """The first deliveries that wait for an endpoint, by activity and then in the order of its changes."""
        selected = await self._select(self._reads.waiting_deliveries, endpoint_id=endpoint_id, limit=limit)
        return [WebhookDelivery.from_row(row) for row in selected]

    async def waiting_delivery_count(self, limit: int) -> int:
        """The deliveries that wait for any endpoint, counted up to `limit`."""
        selected = await self._select(self._reads.waiting_delivery_count, limit=limit)
        return int(selected[0][0])

    async def webhook_event(self, organization_id: str, id_: str) -> bytes | None:
        """The bytes that endpoints get."""
        event = await self.attached_row(WebhookEvent, organization_id, id_)
        return None if event is None else event.body

    async def webhook_lease(self, organization_id: str, endpoint_id: str) -> WebhookLease | None:
        return await self.attached_row(WebhookLease, organization_id, endpoint_id)

    async def released_webhook_leases(self, limit: int) -> list[str]:
        """The ids of endpoints whose lease a process released, and no process has taken since."""
        selected = await self._select(self._reads.released_webhook_leases, limit=limit)
        return [endpoint_id for (endpoint_id,) in selected]

    async def write_webhook_lease(self, lease: WebhookLease) -> bool:
        """Write a lease. False if another process was faster."""
        return await self._write_rows(lease.organization_id, lease)

    async def record_deliveries(self, after: Sequence[WebhookDelivery]) -> bool:
        """Write deliveries of one organization's activities after an attempt, all or none. False if one of them was
        recorded meanwhile."""
        return await self._write_rows(after[0].organization_id, *after)

    async def _write_rows(self, organization_id: str, *attached_rows: AttachedRow) -> bool:
        """Write rows, all or none. Returns False if a row is neither new nor the next revision of the stored
        row."""
        write_set = WriteSet()
        for row in attached_rows:
            rows.write_row(organization_id, row, write_set)
        result = await self._add(pending_write(organization_id, write_set, ()))
        return result is CommitResult.COMMITTED

    async def _write_set(self, organization_id: str, write_set: WriteSet) -> None:
        await self._add(pending_write(organization_id, write_set, ()))

    async def has_expired(self, table: str, before_ms: int) -> bool:
        """Whether the table has rows that expired before this moment, in milliseconds since the epoch."""
        return bool(await self._select(self._reads.expired_rows[table], before_ms=before_ms))

    async def purge(self, table: str, before_ms: int, limit: int) -> None:
        """Delete at most `limit` rows of the table that expired before this moment, the oldest first."""
        await self._write_set("", WriteSet(cleanings=[Purge(table, before_ms, limit)]))

    async def write_process(self, process_id: str, expires_at_ms: int, body: bytes) -> None:
        """Write or renew the row of a process that serves."""
        await self._add(pending_write("", WriteSet(rows=[("process", (process_id, expires_at_ms, body))]), ()))

    async def delete_process(self, process_id: str) -> None:
        """Delete the row of a process that ends."""
        await self._add(pending_write("", WriteSet(deleted=[("process", (process_id,))]), ()))

    async def set_instance_value(self, name: str, value: bytes) -> None:
        """Write a value of the instance, and replace the value that it has."""
        while True:
            before = await self.instance_value(name)
            if before is None:
                if await self.add_instance_value(name, value):
                    return
            elif before == value or await self.replace_instance_value(name, before, value):
                return

    async def add_instance_value(self, name: str, value: bytes) -> bool:
        """Write a new value of the instance; False, with nothing changed, if it has one of this name."""
        write_set = WriteSet(rows=[("instance", (name, value))])
        return await self._add(pending_write("", write_set, ())) is CommitResult.COMMITTED

    async def replace_instance_value(self, name: str, before: bytes, after: bytes) -> bool:
        """Replace a value of the instance; False, with nothing changed, if `before` is no longer its value."""
        swap = SettingSwap(name, before, after)
        write_set = WriteSet(setting_swap=swap)
        return await self._add(pending_write("", write_set, ())) is CommitResult.COMMITTED
