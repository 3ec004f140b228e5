"""The rows of what the server sends: messages, webhook deliveries, and who sends them.

Here: these reads and writes, for both databases. Each write is one commit. Not here: when rows are written
(`delivery`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, OutgoingMessage
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookEvent, WebhookLease
from keystead.pipeline.store import CommitResult
from keystead.storage.attached_reads import AttachedTables
from keystead.storage.database import Queries
from keystead.storage.row_encoding import add_attached_row
from keystead.storage.rows import Rows


class DeliveryRows:
    """`commit` commits rows of an organization that do not change it. Every method raises Unavailable while the
    database does not answer."""

    def __init__(
        self,
        queries: Queries,
        attached: AttachedTables,
        commit: Callable[[str, Rows], Awaitable[CommitResult]],
    ) -> None:
        self._queries = queries
        self._attached = attached
        self._commit = commit

    async def _write(self, organization_id: str, *attached_rows: AttachedRow) -> bool:
        """Write rows, all or none. Returns False if a row is neither new nor the next revision of the stored
        row."""
        rows = Rows()
        for row in attached_rows:
            add_attached_row(organization_id, row, rows)
        return await self._commit(organization_id, rows) is CommitResult.COMMITTED

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> list[OutgoingMessage]:
        """Lease due messages that no other process has leased, the oldest first."""
        selected = await self._queries.select(self._queries.reads.due_messages, now_ms=now_ms, limit=limit)
        leased = [OutgoingMessage.from_row(row).leased(now_ms + lease_ms) for row in selected]
        writes = [self._write(message.organization_id, message) for message in leased]
        results = await asyncio.gather(*writes, return_exceptions=True)
        own = [message for message, result in zip(leased, results, strict=True) if result is True]
        failures = [result for result in results if isinstance(result, BaseException)]
        if failures and not own:
            raise failures[0]
        return own  # messages whose lease could not be written are leased later

    async def finished_messages(self, now_ms: int, limit: int) -> list[tuple[str, str]]:
        """The newest sent or dropped messages of all organizations: the ids of organization and message."""
        selected = await self._queries.select(self._queries.reads.finished_messages, now_ms=now_ms, limit=limit)
        return [(organization_id, message_id) for organization_id, message_id in selected]

    async def message(self, organization_id: str, message_id: str) -> OutgoingMessage | None:
        return await self._attached.get(OutgoingMessage, organization_id, message_id)

    async def record_attempt(self, after: OutgoingMessage, event: EmailEventRow | None) -> bool:
        """Write a leased message after an attempt to send it, and the event of the attempt. False if the lease had
        ended."""
        return await self._write(after.organization_id, *filter(None, (after, event)))

    async def due_message_count(self) -> int:
        """The messages of all organizations that are not sent yet."""
        selected = await self._queries.select(self._queries.reads.due_message_count)
        return int(selected[0][0])

    async def oldest_due_message_ms(self) -> int | None:
        """When the oldest waiting message was due, in milliseconds since the epoch; None if no message waits."""
        selected: int | None = (await self._queries.select(self._queries.reads.oldest_due_message))[0][0]
        return selected

    async def waiting_endpoints(self, after: str, limit: int) -> list[str]:
        """The ids above `after` of endpoints with waiting deliveries, in order."""
        await self._queries.database.is_distributed()  # the statement is another one then
        selected = await self._queries.select(self._queries.reads.waiting_endpoints, cursor=after, limit=limit)
        return [endpoint_id for (endpoint_id,) in selected]

    async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> list[WebhookDelivery]:
        """The first deliveries above the id `after` that wait for an endpoint, by activity and then in the order of
        its changes."""
        selected = await self._queries.select(
            self._queries.reads.waiting_deliveries, endpoint_id=endpoint_id, cursor=after, limit=limit
        )
        return [WebhookDelivery.from_row(row) for row in selected]

    async def waiting_delivery_count(self, limit: int) -> int:
        """The deliveries that wait for any endpoint, counted up to `limit`."""
        selected = await self._queries.select(self._queries.reads.waiting_delivery_count, limit=limit)
        return int(selected[0][0])

    async def webhook_event(self, organization_id: str, id_: str) -> bytes | None:
        """The bytes that endpoints get."""
        event = await self._attached.get(WebhookEvent, organization_id, id_)
        return None if event is None else event.body

    async def webhook_lease(self, organization_id: str, endpoint_id: str) -> WebhookLease | None:
        return await self._attached.get(WebhookLease, organization_id, endpoint_id)

    async def released_webhook_leases(self, limit: int) -> list[str]:
        """The ids of endpoints whose lease a process released, and no process has taken since."""
        selected = await self._queries.select(self._queries.reads.released_webhook_leases, limit=limit)
        return [endpoint_id for (endpoint_id,) in selected]

    async def write_webhook_lease(self, lease: WebhookLease) -> bool:
        """Write a lease. False if another process was faster."""
        return await self._write(lease.organization_id, lease)

    async def record_deliveries(self, after: Sequence[WebhookDelivery]) -> bool:
        """Write deliveries of one organization's activities after an attempt, all or none. False if one of them was
        recorded meanwhile."""
        return await self._write(after[0].organization_id, *after)
