"""The rows that a server writes for itself: messages, webhooks, processes, values of the instance, purges.

Here: reads and writes of these rows, for both databases. Each write is one commit. Not here: activities and
organizations (`base`), other reads (`reads`, `attachment_reads`), when rows are written (`delivery`, `server`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Sequence

from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.outgoing_messages import EmailEventRow, OutgoingMessage
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.webhooks import WebhookDelivery, WebhookEvent, WebhookLease
from keystead.pipeline.store import CommitResult
from keystead.storage import rows
from keystead.storage.reads import DatabaseReads
from keystead.storage.write_set import ExpiredPurge, InstanceValueSwap, WriteSet


class ServerRows(DatabaseReads):
    """Every method raises Unavailable while the database does not answer."""

    @abstractmethod
    def _commit_rows(self, organization_id: str, write_set: WriteSet) -> Awaitable[CommitResult]:
        """Commit a write set that changes no organization. `organization_id`: "" for rows of no organization."""

    async def _write_rows(self, organization_id: str, *attached_rows: AttachedRow) -> bool:
        """Write rows, all or none. Returns False if a row is neither new nor the next revision of the stored
        row."""
        write_set = WriteSet()
        for row in attached_rows:
            rows.write_row(organization_id, row, write_set)
        return await self._commit_rows(organization_id, write_set) is CommitResult.COMMITTED

    # Messages.

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

    async def due_message_count(self) -> int:
        """The messages of all organizations that are not sent yet."""
        selected = await self._select(self._reads.due_message_count)
        return int(selected[0][0])

    async def oldest_due_message_ms(self) -> int | None:
        """When the oldest waiting message was due, in milliseconds since the epoch; None if no message waits."""
        selected: int | None = (await self._select(self._reads.oldest_due_message))[0][0]
        return selected

    # Webhooks.

    async def waiting_endpoints(self, after: str, limit: int) -> list[str]:
        """The ids above `after` of endpoints with waiting deliveries, in order."""
        selected = await self._select(self._reads.waiting_endpoints, cursor=after, limit=limit)
        return [endpoint_id for (endpoint_id,) in selected]

    async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> list[WebhookDelivery]:
        """The first deliveries above the id `after` that wait for an endpoint, by activity and then in the order of
        its changes."""
        selected = await self._select(
            self._reads.waiting_deliveries, endpoint_id=endpoint_id, cursor=after, limit=limit
        )
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

    # Refused requests.

    async def write_refused_requests(self, organization_id: str, refused: Sequence[RefusedRequest]) -> None:
        """Write refused requests of one organization."""
        await self._write_rows(organization_id, *refused)

    # Rows that have expired.

    async def has_expired(self, table: str, before_ms: int) -> bool:
        """Whether the table has rows that expired before this moment, in milliseconds since the epoch."""
        return bool(await self._select(self._reads.expired_rows[table], before_ms=before_ms))

    async def purge_expired(self, table: str, before_ms: int, limit: int) -> None:
        """Delete at most `limit` rows of the table that expired before this moment, the oldest first."""
        await self._commit_rows("", WriteSet(purges=[ExpiredPurge(table, before_ms, limit)]))

    # Processes.

    async def write_process(self, process_id: str, expires_at_ms: int, body: bytes) -> None:
        """Write or renew the row of a process that serves."""
        await self._commit_rows("", WriteSet(rows=[("process", (process_id, expires_at_ms, body))]))

    async def delete_process(self, process_id: str) -> None:
        """Delete the row of a process that ends."""
        await self._commit_rows("", WriteSet(deleted=[("process", (process_id,))]))

    # The instance.

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
        return await self._commit_rows("", write_set) is CommitResult.COMMITTED

    async def replace_instance_value(self, name: str, before: bytes, after: bytes) -> bool:
        """Replace a value of the instance; False, with nothing changed, if `before` is no longer its value."""
        swap = InstanceValueSwap(name, before, after)
        write_set = WriteSet(instance_value_swap=swap)
        return await self._commit_rows("", write_set) is CommitResult.COMMITTED
