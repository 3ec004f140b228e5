"""Sending what waits in the outbox: a process that is free takes a message, sends it, and records the result.

A message is written in the transaction of its activity. A process leases it before it sends, so that two processes
do not send the same one at a time. If a process dies after sending and before recording, the message is sent again.
A message is sent at least once, and never again once its success is recorded. Not here: the rows (`storage`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from keystead.delivery.message import Message
from keystead.delivery.retries import next_attempt_ms
from keystead.delivery.sender import Sender, SendFailed
from keystead.organizations.outgoing_messages import Channel, EmailEvent, OutgoingMessage, SendResult

logger = logging.getLogger("keystead.delivery")

LEASE_MS = 120_000
"""A process that takes a message has so long to send it. It is longer than any sender's time limit."""

POLL_S = 1.0
"""How often the outbox is looked at for messages that another process wrote, or that are due again."""

AT_ONCE_MAX = 20
"""Messages that one process sends at the same time."""


class OutboxStore(Protocol):
    """Every method raises Unavailable while the database does not answer."""

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> Sequence[OutgoingMessage]:
        """Take messages that are due and that nobody else holds, the oldest first."""
        ...

    async def record_attempt(self, after: OutgoingMessage, event: EmailEvent | None) -> bool:
        """Put a message in the place of its lease, with what became of it. False if the lease had ended before."""
        ...


class Outbox:
    """Sends from one process.

    `open_message` gives the text, which is sealed in the database. `kept_ms`: how long an e-mail's events stay on
    record. `keeps_text`: the texts stay sealed in the database, for a development server. `default_sender`: the
    address of e-mails whose caller chose none.
    """

    def __init__(
        self,
        store: OutboxStore,
        senders: Mapping[Channel, Sender],
        open_message: Callable[[OutgoingMessage], Awaitable[Message]],
        *,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        random_fraction: Callable[[], float],
        kept_ms: int,
        keeps_text: bool = False,
        default_sender: str = "",
    ) -> None:
        self._store = store
        self._senders = senders
        self._open_message = open_message
        self._now_ms = now_ms
        self._new_id = new_id
        self._kept_ms = kept_ms
        self._keeps_text = keeps_text
        self._default_sender = default_sender
        self._random_fraction = random_fraction
        self._written = asyncio.Event()

    def wake(self) -> None:
        """Look at the outbox now: this process has just committed a message."""
        self._written.set()

    async def run(self) -> None:
        """Send until cancelled. A database that does not answer is tried again after the poll interval."""
        while True:
            try:
                sent = await self.send_due()
            except Exception as failed:  # noqa: BLE001 (the loop must outlive any one failure; it is logged)
                logger.warning("the outbox could not be read: %s", type(failed).__name__)
                sent = 0
            if sent < AT_ONCE_MAX:
                await self._wait()

    async def send_due(self) -> int:
        """Send what is due now, at most AT_ONCE_MAX at once. Returns how many were taken."""
        self._written.clear()
        waiting = await self._store.lease_messages(self._now_ms(), LEASE_MS, AT_ONCE_MAX)
        await asyncio.gather(*[self._attempt(message) for message in waiting])
        return len(waiting)

    async def _attempt(self, waiting: OutgoingMessage) -> None:
        result, detail, again_ms = SendResult.SENT, "", None
        try:
            detail = await self._send(waiting)
        except SendFailed as failed:
            detail = failed.reason
            again_ms = next_attempt_ms(self._now_ms(), waiting.failures + 1, self._random_fraction)
            if failed.permanent or again_ms >= waiting.give_up_at_ms:
                again_ms = None
            result = SendResult.GIVEN_UP if again_ms is None else SendResult.DELAYED
            logger.warning("message %s: %s: %s", waiting.id, result.value, detail)
        event = None
        if waiting.channel == "email":
            at_ms = self._now_ms()
            event = EmailEvent(
                id=self._new_id(),
                message_id=waiting.id,
                type=result,
                sender=waiting.sender or self._default_sender,
                recipient=waiting.recipient,
                at_ms=at_ms,
                expires_at_ms=at_ms + self._kept_ms,
                detail=detail,
            )
        after = waiting.after_attempt(result, again_ms, keeps_text=self._keeps_text)
        await self._store.record_attempt(after, event)

    async def _send(self, waiting: OutgoingMessage) -> str:
        sender = self._senders.get(waiting.channel)
        if sender is None:  # the settings were changed since
            raise SendFailed(f"this server sends no {waiting.channel}", permanent=False)
        return await sender.send(await self._open_message(waiting))

    async def _wait(self) -> None:
        """Until a message is written here, or the poll interval is over. Raises nothing: an exception would leave a
        cycle of objects behind each second."""
        timer = asyncio.get_running_loop().call_later(POLL_S, self._written.set)
        try:
            await self._written.wait()
        finally:
            timer.cancel()
