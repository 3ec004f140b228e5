"""Reads of activities, of sub-organizations and of the instance.

Here: these reads, for both databases. Not here: organizations themselves (`cache`), the attached tables
(`attachment_reads`), the SQL (`sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.lookups import Lookup, LookupKind, possible_values
from keystead.organizations.refused_requests import RefusedRequest
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import ActivityCount, Page
from keystead.storage import row_decoding, rows
from keystead.storage.attachment_reads import HIGHEST, LOWEST, AttachmentReads
from keystead.storage.errors import NotMigrated


class StoredVersions(msgspec.Struct, frozen=True):
    """`organization`: its version. `newest_record`: the newest version in which one of its records changed; None
    without records."""

    parent_id: str | None
    organization: int
    newest_record: int | None


class DatabaseFacts(msgspec.Struct, frozen=True):
    """`software`: its name and version. `size`: of this database, in bytes."""

    software: str
    size: int


class DatabaseReads(AttachmentReads):
    """Every method raises Unavailable while the database does not answer."""

    # Activities.

    async def activity(self, organization_id: str, activity_id: str) -> RecordedActivity | None:
        selected = await self._select(self._reads.activity, organization_id=organization_id, id=activity_id)
        return next(iter(await self._activities_from(organization_id, selected)), None)

    async def activity_with_fingerprint(self, organization_id: str, fingerprint: str) -> RecordedActivity | None:
        selected = await self._select(
            self._reads.activity_with_fingerprint, organization_id=organization_id, fingerprint=fingerprint
        )
        return next(iter(await self._activities_from(organization_id, selected)), None)

    async def activities(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[RecordedActivity] | None:
        cursor = page.before or page.after
        if cursor is not None and not await self._select(
            self._reads.has_activity, organization_id=organization_id, id=cursor
        ):
            return None
        if types:
            pages = self._reads.activities_by_type_and_status
        else:
            pages = self._reads.activities_by_status if statuses else self._reads.activities
        selected = await self._select(
            pages.above if page.before else pages.below,
            organization_id=organization_id,
            statuses=self._list_argument([status.value for status in dict.fromkeys(statuses or ActivityStatus)]),
            types=self._list_argument(list(dict.fromkeys(types))),
            cursor=cursor or HIGHEST,
            limit=page.limit,
        )
        return await self._activities_from(organization_id, selected)

    async def _activities_from(
        self, organization_id: str, selected: Sequence[Sequence[Any]]
    ) -> list[RecordedActivity]:
        """Rows of `activities_of_page`, read in slices: many users with long records may have voted."""
        reader = row_decoding.ActivityReader()
        await self._loading.each(organization_id, reader.add, selected)
        return reader.activities()

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        selected = await self._select(
            self._reads.evaluations, organization_id=organization_id, activity_id=activity_id
        )
        return [row_decoding.evaluation_from(row) for row in selected]

    async def activity_counts(
        self, organization_id: str, statuses: Sequence[ActivityStatus], bounds_ms: Sequence[int]
    ) -> list[ActivityCount]:
        selected = await self._select(
            self._reads.activity_counts,
            organization_id=organization_id,
            statuses=self._list_argument([status.value for status in dict.fromkeys(statuses)]),
            **self._periods(bounds_ms),
        )
        return [
            ActivityCount(period, type_, ActivityStatus(status), count) for period, type_, status, count in selected
        ]

    # Refused requests.

    async def refused_requests(self, organization_id: str, page: Page, now_ms: int) -> list[RefusedRequest]:
        selected = await self._select(
            self._reads.refused_requests,
            organization_id=organization_id,
            cursor=page.after or HIGHEST,
            now_ms=now_ms,
            limit=page.limit,
        )
        return [RefusedRequest.from_row(row) for row in selected]

    async def refused_request_counts(self, organization_id: str, bounds_ms: Sequence[int]) -> list[int]:
        selected = await self._select(
            self._reads.refused_request_counts, organization_id=organization_id, **self._periods(bounds_ms)
        )
        counts = {int(period): int(count) for period, count in selected}
        return [counts.get(period, 0) for period in range(len(bounds_ms) - 1)]

    def _periods(self, bounds_ms: Sequence[int]) -> dict[str, Any]:
        """The periods between these bounds, as two arguments of a statement."""
        texts = list(map(str, bounds_ms))
        return {"starts": self._list_argument(texts[:-1]), "ends": self._list_argument(texts[1:])}

    # Sub-organizations.

    async def organizations_with(self, kind: LookupKind, value: str, limit: int) -> list[str]:
        selected = await self._select(
            self._reads.organizations_with_value, kind=kind.value, value=value, limit=limit
        )
        return [organization_id for (organization_id,) in selected]

    async def suborganizations_with(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        return await self.suborganizations(parent_id, (kind, value), Page(limit=2)) or []

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        selected = await self._select(
            self._reads.held_by_siblings,
            parent_id=parent_id,
            organization_id=organization_id,
            kind=kind.value,
            values=self._list_argument(values),
        )
        return [value for (value,) in selected]

    async def suborganizations(
        self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page
    ) -> list[str] | None:
        cursor = page.before or page.after
        # Any sub-organization of the parent is accepted: it may have lost the value since the last page.
        if cursor is not None and not await self._select(
            self._reads.has_suborganization, parent_id=parent_id, id=cursor
        ):
            return None
        if lookup is None or lookup[0] is not LookupKind.WALLET_ACCOUNT_ADDRESS:
            return await self._page_of_suborganizations(parent_id, lookup, page)
        kept: list[str] = []
        while True:
            ids = await self._page_of_suborganizations(parent_id, lookup, page)
            with_address = [id_ for id_ in ids if await self._has_address(id_, lookup[1])]
            kept = [*with_address, *kept] if page.before else [*kept, *with_address]
            if len(ids) < page.limit or len(kept) >= page.limit:
                return kept[-page.limit :] if page.before else kept[: page.limit]
            page = Page(page.limit, before=ids[0]) if page.before else Page(page.limit, after=ids[-1])

    async def _has_address(self, organization_id: str, address: str) -> bool:
        """Whether the look-up of an address belongs to a wallet that is not deleted. The look-ups of deleted
        wallets are deleted in steps."""
        deleted = await self.unfinished_deletions_of(organization_id)
        if not deleted or rows.WHOLE_ORGANIZATION in deleted:
            return not deleted
        return await self.account_with_address(organization_id, address) is not None

    async def _page_of_suborganizations(
        self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page
    ) -> list[str]:
        pages = self._reads.suborganizations if lookup is None else self._reads.suborganizations_with_value
        statement = pages.below if page.before else pages.above
        cursor = page.before or page.after
        parameters = {"parent_id": parent_id, "cursor": cursor or LOWEST, "limit": page.limit}
        if lookup is None:
            selected = {row[0] for row in await self._select(statement, **parameters)}
        else:
            kind, requested = lookup
            selected = {
                row[0]
                for value in possible_values(kind, requested)
                for row in await self._select(statement, kind=kind.value, value=value, **parameters)
            }
        ids = sorted(selected)
        return ids[-page.limit :] if page.before else ids[: page.limit]

    # The instance.

    async def instance_value(self, name: str) -> bytes | None:
        """A value of the whole instance, such as the id of its first organization; None for an unknown name."""
        selected = await self._select(self._reads.instance_value, name=name)
        return selected[0][0] if selected else None

    async def data_keys(self, page: Page) -> list[tuple[str, SealedDataKey]]:
        """The data key of every organization, with its id, in order of ids. `page.after` may be any id."""
        selected = await self._select(self._reads.data_keys_above, cursor=page.after or LOWEST, limit=page.limit)
        return [(organization_id, row_decoding.data_key_from(body)) for organization_id, body in selected]

    async def stored_versions(self, organization_id: str) -> StoredVersions | None:
        """The versions in the rows of an organization; None if there is no such organization."""
        selected = await self._select(self._reads.stored_versions, id=organization_id)
        return StoredVersions(*selected[0]) if selected else None

    async def lookups_of(self, organization_id: str) -> dict[Lookup, str]:
        """Every look-up of an organization, with the parent under which it is stored; "" without a parent."""
        selected = await self._select(self._reads.lookups_of, organization_id=organization_id)
        return {
            Lookup(LookupKind(kind), value, holder_id): parent_id for kind, value, holder_id, parent_id in selected
        }

    async def processes(self, now_ms: int) -> list[bytes]:
        """The rows of the processes that serve (`server.processes`)."""
        return [body for (body,) in await self._select(self._reads.processes, now_ms=now_ms)]

    async def organization_count(self, limit: int) -> int:
        """The number of organizations, deleted ones included, counted up to `limit`."""
        return int((await self._select(self._reads.organization_count, cursor=LOWEST, limit=limit))[0][0])

    async def database_facts(self) -> DatabaseFacts:
        """The software of the database, and the size of this one."""
        return DatabaseFacts(*(await self._select(self._reads.database_facts))[0])

    async def schema_objects(self) -> list[tuple[str, str, str]]:
        """The tables, views, indexes and functions of the database: kind, name, and a function's definition."""
        return [
            (kind, name, definition) for kind, name, definition in await self._select(self._reads.schema_objects)
        ]

    async def schema_version(self) -> int:
        """The number of the last migration that was run; 0 if there are no tables."""
        try:
            selected = await self._select(self._reads.schema_version)
        except NotMigrated:
            return 0
        return int(selected[0][0]) if selected else 0
