"""The rows of refused requests: their list, their counts over time, and writing them.

Here: these reads and writes, for both databases. Not here: which refusals are recorded (`server.refused_requests`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from keystead.organizations.refused_requests import RefusedRequest
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.database import HIGHEST, Queries
from keystead.storage.row_encoding import add_attached_row
from keystead.storage.rows import Rows


class RefusedRequestRows:
    """Implements `pipeline.store.RefusedRequestReads`. `commit` commits rows of an organization that do not change
    it. Every method raises Unavailable while the database does not answer."""

    def __init__(self, queries: Queries, commit: Callable[[str, Rows], Awaitable[CommitResult]]) -> None:
        self._queries = queries
        self._commit = commit

    async def page(self, organization_id: str, page: Page, now_ms: int) -> list[RefusedRequest]:
        selected = await self._queries.select(
            self._queries.reads.refused_requests,
            organization_id=organization_id,
            cursor=page.after or HIGHEST,
            now_ms=now_ms,
            limit=page.limit,
        )
        return [RefusedRequest.from_row(row) for row in selected]

    async def counts(self, organization_id: str, bounds_ms: Sequence[int]) -> list[int]:
        selected = await self._queries.select(
            self._queries.reads.refused_request_counts,
            organization_id=organization_id,
            **self._queries.periods(bounds_ms),
        )
        counts = {int(period): int(count) for period, count in selected}
        return [counts.get(period, 0) for period in range(len(bounds_ms) - 1)]

    async def write(self, organization_id: str, refused: Sequence[RefusedRequest]) -> None:
        """Write refused requests of one organization."""
        rows = Rows()
        for one in refused:
            add_attached_row(organization_id, one, rows)
        await self._commit(organization_id, rows)
