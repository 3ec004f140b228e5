"""Reads of activities, their votes and evaluations.

Here: these reads, for both databases. Not here: running a statement (`database`), the SQL (`sql`).
"""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import ActivityCount, Page
from keystead.storage import row_decoding
from keystead.storage.database import HIGHEST, Queries, Selected


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
