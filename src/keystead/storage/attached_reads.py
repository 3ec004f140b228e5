"""Reads of the attached tables: contract interfaces, secrets, codes, messages.

Here: these reads, for both databases. Not here: accounts (`account_reads`), running a statement (`database`), the
SQL (`sql`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.contacts.outgoing_messages import EmailEventRow
from keystead.organizations.velocity.counters import CounterState
from keystead.pipeline.store import Page
from keystead.storage.counter_reads import CounterReads
from keystead.storage.database import HIGHEST, Queries

RowT = TypeVar("RowT", bound=AttachedRow)


class AttachedTables:
    """Implements `pipeline.store.AttachedReads`, with more reads for the server and its commands."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._counters = CounterReads(queries)

    async def get(self, kind: type[RowT], organization_id: str, *key: str) -> RowT | None:
        selected = await self._queries.database.rows(
            self._queries.reads.attached_rows[kind.table.name], [organization_id, *key]
        )
        return kind.from_row(selected[0]) if selected else None

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        selected = await self._queries.select(self._queries.reads.interface_texts, organization_id=organization_id)
        return {interface_id: text.decode() for interface_id, text in selected}

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        selected = await self._queries.select(
            self._queries.reads.interface_texts_of,
            organization_id=organization_id,
            ids=self._queries.list_argument(interface_ids),
        )
        return {interface_id: text.decode() for interface_id, text in selected}

    async def counters(
        self, organization_id: str, counter_ids: Sequence[str], now_ms: int
    ) -> dict[str, CounterState]:
        return await self._counters.read(organization_id, counter_ids, now_ms)

    async def is_token_used(self, token_id: str) -> bool:
        return bool(await self._queries.select(self._queries.reads.used_token, id=token_id))

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEventRow] | None:
        scope = {"organization_id": organization_id, "recipient": recipient.lower()}
        cursor = page.before or page.after
        if cursor is not None and not await self._queries.select(
            self._queries.reads.has_email_event, id=cursor, **scope
        ):
            return None
        pages = self._queries.reads.email_events
        selected = await self._queries.select(
            pages.above if page.before else pages.below,
            event_type=event_type,
            cursor=cursor or HIGHEST,
            limit=page.limit,
            **scope,
        )
        return [EmailEventRow.from_row(row) for row in selected]
