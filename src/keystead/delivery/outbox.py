"""Sending what waits in the outbox: a process that is free takes a message, sends it, and records the result.

A message is written in the transaction of its activity. A process leases it before it sends, so that two processes
do not send the same one at a time. If a process dies after sending and before recording, the message is sent again.
A message is sent at least once, and never again once its success is recorded. Not here: the rows (`storage`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from keystead.delivery.message import Channel, Message
from keystead.delivery.retries import next_attempt_ms
from keystead.delivery.sender import Sender, SendFailed

logger = logging.getLogger("keystead.delivery")

LEASE_MS = 120_000
"""A process that takes a message has so long to send it. It is longer than any sender's time limit."""

POLL_S = 1.0
"""How often the outbox is looked at for messages that another process wrote, or that are due again."""

AT_ONCE_MAX = 20
"""Messages that one process sends at the same time."""


class SendResult(Enum):
    SENT = "Send"
    DELAYED = "DeliveryDelay"
    GIVEN_UP = "Bounce"


class WaitingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the outbox. `lease` tells this lease from an earlier one. `failures`: attempts so far.

    `give_up_at_ms`: after this moment a temporary failure is the last one.
    """

    id: str
    organization_id: str
    channel: Channel
    lease: int
    failures: int
    give_up_at_ms: int


class OutboxStore(Protocol):
    """Every method raises Unavailable while the database does not answer."""

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> Sequence[WaitingMessage]:
        """Take messages that are due and that nobody else holds, the oldest first."""
        ...

    async def record_attempt(
        self, message: WaitingMessage, result: SendResult, now_ms: int, *, detail: str, next_attempt_ms: int | None
    ) -> bool:
        """Record what became of an attempt, and end the lease. False if the lease had ended before."""
        ...


class Outbox:
    """Sends from one process. `open_message` gives the text, which is sealed in the database."""

    def __init__(
        self,
        store: OutboxStore,
        senders: Mapping[Channel, Sender],
        open_message: Callable[[WaitingMessage], Awaitable[Message]],
        *,
        now_ms: Callable[[], int],
        random_fraction: Callable[[], float],
    ) -> None:
        self._store = store
        self._senders = senders
        self._open_message = open_message
        self._now_ms = now_ms
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

    async def _attempt(self, waiting: WaitingMessage) -> None:
        result, detail, again_ms = SendResult.SENT, "", None
        try:
            detail = await self._senders[waiting.channel].send(await self._open_message(waiting))
        except SendFailed as failed:
            detail = failed.reason
            again_ms = next_attempt_ms(self._now_ms(), waiting.failures + 1, self._random_fraction)
            if failed.permanent or again_ms >= waiting.give_up_at_ms:
                again_ms = None
            result = SendResult.GIVEN_UP if again_ms is None else SendResult.DELAYED
            logger.warning("message %s: %s: %s", waiting.id, result.value, detail)
        await self._store.record_attempt(waiting, result, self._now_ms(), detail=detail, next_attempt_ms=again_ms)

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._written.wait(), POLL_S)
        except TimeoutError:
            return
