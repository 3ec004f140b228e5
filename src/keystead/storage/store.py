"""The store: one database with the cache, the group commit and the reads that the packages above use.

Here: commits and their results, organizations, locks, reads of activities and of sub-organizations. Not here:
other reads by subject (`account_reads`, `attached_reads`), the connections and transactions of each database
(`sqlite`, `postgres`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError, Unavailable
from keystead.api.records import Evaluation
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup, LookupKind, possible_values
from keystead.organizations.organization import Organization, Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import ActivityCount, Commit, CommitResult, Page, results_of
from keystead.primitives.share import Share
from keystead.storage import row_decoding, row_encoding
from keystead.storage.account_reads import AccountTables
from keystead.storage.attached_reads import AttachedTables
from keystead.storage.cache import Answers, CacheLimits, ChangedSince, OrganizationCache
from keystead.storage.database import HIGHEST, LOWEST, Database, DatabaseLock, Queries, Selected
from keystead.storage.delivery_rows import DeliveryRows
from keystead.storage.errors import unavailable
from keystead.storage.group_commit import CommitQueues, Waiting
from keystead.storage.installation_rows import InstallationRows
from keystead.storage.integrity import IntegrityReads
from keystead.storage.purger import Purger
from keystead.storage.refused_request_rows import RefusedRequestRows
from keystead.storage.row_encoding import WHOLE_ORGANIZATION
from keystead.storage.rows import Rows
from keystead.storage.tables import merged_key_lengths, tables_of


class SuborganizationTables:
    """Implements `pipeline.store.SuborganizationReads`."""

    def __init__(self, queries: Queries, accounts: AccountTables) -> None:
        self._queries = queries
        self._accounts = accounts

    async def with_value(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        return await self.page(parent_id, (kind, value), Page(limit=2)) or []

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        selected = await self._queries.select(
            self._queries.reads.held_by_siblings,
            parent_id=parent_id,
            organization_id=organization_id,
            kind=kind.value,
            values=self._queries.list_argument(values),
        )
        return [value for (value,) in selected]

    async def page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str] | None:
        cursor = page.before or page.after
        # Any sub-organization of the parent is accepted: it may have lost the value since the last page.
        if cursor is not None and not await self._queries.select(
            self._queries.reads.has_suborganization, parent_id=parent_id, id=cursor
        ):
            return None
        if lookup is None or lookup[0] is not LookupKind.WALLET_ACCOUNT_ADDRESS:
            return await self._one_page(parent_id, lookup, page)
        kept: list[str] = []
        while True:
            ids = await self._one_page(parent_id, lookup, page)
            with_address = [id_ for id_ in ids if await self._has_address(id_, lookup[1])]
            kept = [*with_address, *kept] if page.before else [*kept, *with_address]
            if len(ids) < page.limit or len(kept) >= page.limit:
                return kept[-page.limit :] if page.before else kept[: page.limit]
            page = Page(page.limit, before=ids[0]) if page.before else Page(page.limit, after=ids[-1])

    async def _has_address(self, organization_id: str, address: str) -> bool:
        """Whether the look-up of an address belongs to a wallet that is not deleted. The look-ups of deleted
        wallets are deleted in steps."""
        deleted = await self._accounts.unfinished_deletions(organization_id)
        if not deleted or WHOLE_ORGANIZATION in deleted:
            return not deleted
        return await self._accounts.with_address(organization_id, address) is not None

    async def _one_page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str]:
        pages = (
            self._queries.reads.suborganizations
            if lookup is None
            else self._queries.reads.suborganizations_with_value
        )
        statement = pages.below if page.before else pages.above
        cursor = page.before or page.after
        parameters = {"parent_id": parent_id, "cursor": cursor or LOWEST, "limit": page.limit}
        if lookup is None:
            selected = {row[0] for row in await self._queries.select(statement, **parameters)}
        else:
            kind, requested = lookup
            selected = {
                row[0]
                for value in possible_values(kind, requested)
                for row in await self._queries.select(statement, kind=kind.value, value=value, **parameters)
            }
        ids = sorted(selected)
        return ids[-page.limit :] if page.before else ids[: page.limit]


class ActivityTables:
    """Implements `pipeline.store.ActivityReads`."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    async def get(self, organization_id: str, activity_id: str) -> RecordedActivity | None:
        statement = self._queries.reads.activity
        selected = await self._queries.select(statement, organization_id=organization_id, id=activity_id)
        return next(iter(await self._from(organization_id, selected)), None)

    async def with_fingerprint(self, organization_id: str, fingerprint: str) -> RecordedActivity | None:
        selected = await self._queries.select(
            self._queries.reads.activity_with_fingerprint, organization_id=organization_id, fingerprint=fingerprint
        )
        return next(iter(await self._from(organization_id, selected)), None)

    async def page(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[RecordedActivity] | None:
        queries, reads = self._queries, self._queries.reads
        cursor = page.before or page.after
        if cursor is not None and not await queries.select(
            reads.has_activity, organization_id=organization_id, id=cursor
        ):
            return None
        if types:
            pages = reads.activities_by_type_and_status
        else:
            pages = reads.activities_by_status if statuses else reads.activities
        selected = await queries.select(
            pages.above if page.before else pages.below,
            organization_id=organization_id,
            statuses=queries.list_argument([status.value for status in dict.fromkeys(statuses or ActivityStatus)]),
            types=queries.list_argument(list(dict.fromkeys(types))),
            cursor=cursor or HIGHEST,
            limit=page.limit,
        )
        return await self._from(organization_id, selected)

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        selected = await self._queries.select(
            self._queries.reads.evaluations, organization_id=organization_id, activity_id=activity_id
        )
        return [row_decoding.evaluation_from(row) for row in selected]

    async def counts(
        self, organization_id: str, statuses: Sequence[ActivityStatus], bounds_ms: Sequence[int]
    ) -> list[ActivityCount]:
        selected = await self._queries.select(
            self._queries.reads.activity_counts,
            organization_id=organization_id,
            statuses=self._queries.list_argument([status.value for status in dict.fromkeys(statuses)]),
            **self._queries.periods(bounds_ms),
        )
        return [
            ActivityCount(period, type_, ActivityStatus(status), count) for period, type_, status, count in selected
        ]

    async def _from(self, organization_id: str, selected: Selected) -> list[RecordedActivity]:
        """Rows of `activities_of_page`, read in slices: many users with long records may have voted."""
        reader = row_decoding.ActivityReader()
        await self._queries.share.each(organization_id, reader.add, selected)
        return reader.activities()


RowT = TypeVar("RowT", bound=VersionedRow)

FIRST_ORGANIZATION_ID = "first_organization_id"
"""The instance value with the id of the first organization."""


class OrganizationUnderLock:
    """Implements `pipeline.store.LockedOrganization`."""

    def __init__(self, store: DatabaseStore, lock: DatabaseLock, organization: Organization | None) -> None:
        self.organization = organization
        self._store = store
        self._lock = lock

    async def write(self, commits: Sequence[Commit]) -> Sequence[CommitResult | ServiceError]:
        return await self._store._write_under(self._lock, commits)


class DatabaseStore:
    """A `Store`, with more methods for the start and the background tasks of a server. Belongs to one event loop.

    Every method raises Unavailable while the database does not answer, and works again when it does.
    """

    def __init__(self, database: Database, limits: CacheLimits, kinds: RecordKinds, share: Share) -> None:
        self.database = database
        self.share = share
        """The processor time of this process, which all its work shares."""
        self.queries = Queries(database, self.share)
        self._records = row_decoding.RecordReader(kinds)
        self._cache = OrganizationCache(self, limits, kinds)
        database.when_lost(self._cache.clear)
        self._is_closed = False
        self._rows_written: dict[type[VersionedRow], Callable[[Sequence[Any]], None]] = {}
        self._records_removed: Callable[[str, bool], None] = lambda _organization_id, _begins_deletion: None
        key_lengths = merged_key_lengths(tables_of(kinds.attached_tables))
        self.write_failure: Unavailable | None = None
        """Why the last transaction was not carried out; None if it was."""
        self.transactions = 0
        """How many transactions were committed."""
        self._commits = CommitQueues(
            database, self._committed, key_lengths, self._cache.known_version, self._note_failure
        )
        self.accounts = AccountTables(self.queries)
        self.activities = ActivityTables(self.queries)
        self.attached = AttachedTables(self.queries)
        self.suborganizations = SuborganizationTables(self.queries, self.accounts)
        self.refused_requests = RefusedRequestRows(self.queries, self._commit_rows)
        self.installation = InstallationRows(self.queries, self._commit_rows)
        self.deliveries = DeliveryRows(self.queries, self.attached, self._commit_rows)
        self.purger = Purger(self.queries, self._commit_rows)
        """Deletes the rows of deleted wallets and organizations in steps."""
        self.integrity = IntegrityReads(self.queries)
        """Reads whole tables, for the check of a database."""
        self.decisions: Counter[tuple[str, str]] = Counter()
        """How many decisions were handed in, by verdict and rule."""

    async def ready(self) -> None:
        """Raise Unavailable unless the database answers now."""
        await self.database.check()

    async def close(self) -> None:
        """Finish the commits that were handed in, then disconnect. Later commits raise Unavailable."""
        if not self._is_closed:
            self._is_closed = True
            await self._commits.finish()
            await self.database.close()

    async def finish_commits(self) -> None:
        """Wait until every commit that was handed in has its result."""
        await self._commits.finish()

    # Organizations.

    async def version(self, organization_id: str) -> Version | None:
        """See `Database.version`."""
        return await self.database.version(organization_id)

    async def organization(self, organization_id: str) -> Organization | None:
        return await self._cache.newest(organization_id)

    async def organizations_with(self, kind: LookupKind, value: str, limit: int) -> list[str]:
        selected = await self.queries.select(
            self.queries.reads.organizations_with_value, kind=kind.value, value=value, limit=limit
        )
        return [organization_id for (organization_id,) in selected]

    def cached_answers(self, organization: Organization) -> Answers:
        """The cache of encoded answers about this version; it is dropped with the version."""
        return self._cache.answers(organization)

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """The changes after this version, all of one moment. The result has every record if the version is None, or
        if tombstones of later removals were purged. None if the organization does not exist."""
        if version_number is None:
            selected = await self.database.whole(organization_id)
            return await self._read_changes(organization_id, selected, is_whole=True)
        selected = await self.queries.select(
            self.queries.reads.changed_since, id=organization_id, version=version_number
        )
        return await self._changed_since(organization_id, selected)

    async def _changed_since(self, organization_id: str, selected: Selected) -> ChangedSince | None:
        """`selected`: the rows of the statement `changed_since`."""
        if any(kind == row_encoding.PURGED_TOMBSTONES for _, _, kind, _, _ in selected):
            return await self.changed_since(organization_id, None)
        return await self._read_changes(organization_id, selected, is_whole=False)

    async def _read_changes(
        self, organization_id: str, selected: Selected, *, is_whole: bool
    ) -> ChangedSince | None:
        if not selected:
            return None
        number, changed_by = selected[0][:2]
        stated = (row[2:] for row in selected if row[2] is not None)
        changes = await self.share.each(organization_id, lambda row: self._records.change(*row), stated)
        return ChangedSince(Version(number, changed_by), changes, is_whole=is_whole)

    # What metrics read.

    @property
    def waiting_commits(self) -> int:
        """The commits that wait for the next transaction."""
        return self._commits.waiting

    @property
    def cache_use(self) -> tuple[int, int]:
        """How often the cache had an organization, and how often it did not."""
        return self._cache.entries.hits, self._cache.entries.misses

    def when_transactions_end(self, call: Callable[[int, float], None]) -> None:
        """`call` is called after each transaction, with the number of its commits and the seconds that it took."""
        self._commits.on_transaction = call

    # Commits.

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        return self._commit_rows(commit.organization_id, self._rows_of(commit))

    def _rows_of(self, commit: Commit) -> Rows:
        for evaluation in commit.evaluations:
            self.decisions[evaluation.verdict, evaluation.rule] += 1
        return row_encoding.rows_of(commit)

    @contextlib.asynccontextmanager
    async def locked(self, organization_id: str) -> AsyncIterator[OrganizationUnderLock]:
        """See `pipeline.store.Store`."""
        if self._is_closed:
            raise unavailable("is being closed")
        known = self._cache.known(organization_id)
        async with self.database.locked(organization_id, known.version_number) as lock:
            if lock.changes is None:
                organization = await self.organization(organization_id)
            else:
                changed = await self._changed_since(organization_id, lock.changes)
                organization = await self._cache.after(organization_id, known, changed)
            yield OrganizationUnderLock(self, lock, organization)

    async def _write_under(
        self, lock: DatabaseLock, commits: Sequence[Commit]
    ) -> Sequence[CommitResult | ServiceError]:
        loop = asyncio.get_running_loop()
        waiting = [Waiting(one.organization_id, self._rows_of(one), loop.create_future()) for one in commits]
        try:
            result = await lock.write([one.rows for one in waiting])
        except Unavailable as refused:
            self._note_failure(refused)
            raise
        if result is CommitResult.COMMITTED:
            self._committed(waiting)
        if result is CommitResult.COMMITTED or (result is not None and len(commits) == 1):
            return [result] * len(commits)
        return await results_of([self._commit_rows(one.organization_id, one.rows) for one in waiting])

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
        rows = row_encoding.rows_of_new_organization(organization, attachments, lookups, named)
        return await self._commit_rows(organization.id, rows) is CommitResult.COMMITTED

    async def add_organization(
        self, organization: Organization, attachments: Iterable[Attachment], lookups: Iterable[Lookup]
    ) -> bool:
        """Write one more organization at its first version; False, changing nothing, if its id is taken.

        For development servers: everywhere else an activity of the parent makes an organization.
        """
        rows = row_encoding.rows_of_new_organization(organization, attachments, lookups, {})
        return await self._commit_rows(organization.id, rows) is CommitResult.COMMITTED

    def _commit_rows(self, organization_id: str, rows: Rows) -> asyncio.Future[CommitResult]:
        result: asyncio.Future[CommitResult] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            result.set_exception(unavailable("is being closed"))
        else:
            self._commits.add(Waiting(organization_id, rows, result))
        return result

    def when_rows_are_written(self, kind: type[RowT], call: Callable[[Sequence[RowT]], None]) -> None:
        """`call` is called after each commit of this process that writes rows of this kind, with these rows."""
        self._rows_written[kind] = call

    def when_records_are_removed(self, call: Callable[[str, bool], None]) -> None:
        """`call` is called after each commit of this process that removes records, with the organization's id, and
        whether rows of a deleted wallet or organization are left."""
        self._records_removed = call

    def _note_failure(self, refused: Unavailable) -> None:
        self.write_failure = refused

    def _committed(self, commits: Sequence[Waiting]) -> None:
        """Note what was committed: the newest organizations, and rows that background tasks wait for."""
        self.write_failure, self.transactions = None, self.transactions + 1
        newest: dict[str, Organization] = {}
        for waiting in commits:
            rows = waiting.rows
            for organization in rows.organizations:
                newest[organization.id] = organization
            if rows.removes_records:
                begins_deletion = any(table == row_encoding.UNFINISHED_DELETION for table, _ in rows.inserted)
                self._records_removed(waiting.organization_id, begins_deletion)
            if rows.attached:
                for kind, call in self._rows_written.items():
                    if written := [row for row in rows.attached if type(row) is kind]:
                        call(written)
        for organization in newest.values():
            self._cache.keep(organization)
