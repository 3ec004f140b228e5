"""The outbox: a process leases a waiting message, sends it, and records the result.

A message is written in the transaction of its activity. The lease ensures that two processes do not send the same
message at the same time. If a process dies after it has sent a message and before it has recorded that, the
message is sent again. A message is sent at least once, and never again after its success was recorded. Pauses
between attempts are here. Not here: the rows (`storage`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from keystead.delivery.message import Message
from keystead.delivery.sender import Sender, SendFailed
from keystead.delivery.stopping import FINISH_S, finish
from keystead.failures.defects import log_failure
from keystead.failures.rounds import Rounds, pause_after
from keystead.organizations.contacts import outgoing_messages

FIRST_PAUSE_MS = 10_000
PAUSE_MAX_MS = 30 * 60_000


def next_attempt_ms(now_ms: int, failures: int, random_fraction: Callable[[], float]) -> int:
    """When to try again after this many failures (1 or more), in milliseconds since the epoch.

    The pause doubles from ten seconds to half an hour. Up to half of it is random, to spread messages that failed
    together. `random_fraction()` returns a number from 0 to 1.
    """
    pause = pause_after(failures, FIRST_PAUSE_MS, PAUSE_MAX_MS)
    spread = int(pause / 2 * random_fraction())
    return now_ms + pause // 2 + spread


logger = logging.getLogger("keystead.delivery")

LEASE_MS = 120_000
"""How long a process may take to send a leased message. It is longer than the time limit of every sender."""

POLL_S = 1.0
"""Seconds between two reads of the outbox, for messages that another process wrote or that are due again."""

AT_ONCE_MAX = 20
"""Messages that one process sends at the same time."""


class OutboxRows(Protocol):
    """Every method raises Unavailable while the database does not answer."""

    async def lease_messages(
        self, now_ms: int, lease_ms: int, limit: int
    ) -> Sequence[outgoing_messages.OutgoingMessage]:
        """Lease due messages that no other process has leased, the oldest first."""
        ...

    async def record_attempt(
        self, after: outgoing_messages.OutgoingMessage, event: outgoing_messages.EmailEventRow | None
    ) -> bool:
        """Write a leased message after an attempt to send it, and the event of the attempt. False if the lease had
        ended."""
        ...


class Outbox:
    """Sends from one process.

    `open_message` opens the text, which is sealed in the database. `kept_ms`: how long the events of e-mails are
    kept. `keeps_text`: sent texts stay sealed in the database, for a development server. `default_sender`: the
    sender of e-mails whose caller named none.
    """

    def __init__(
        self,
        rows: OutboxRows,
        senders: Mapping[outgoing_messages.MessageChannel, Sender],
        open_message: Callable[[outgoing_messages.OutgoingMessage], Awaitable[Message]],
        *,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        random_fraction: Callable[[], float],
        kept_ms: int,
        keeps_text: bool = False,
        default_sender: str = "",
    ) -> None:
        self._rows = rows
        self._senders = senders
        self._open_message = open_message
        self._now_ms = now_ms
        self._new_id = new_id
        self._kept_ms = kept_ms
        self._keeps_text = keeps_text
        self._default_sender = default_sender
        self._random_fraction = random_fraction
        self._rounds = Rounds(logger, "the outbox could not be read", POLL_S)
        self._leased: dict[str, outgoing_messages.OutgoingMessage] = {}
        self._under_way: Sequence[asyncio.Task[Any]] = ()
        self.results: Counter[outgoing_messages.SendResult] = Counter()
        """The number of attempts, by result."""

    def wake(self) -> None:
        """Read the outbox now, because this process has just committed a message."""
        self._rounds.wake()

    async def run(self) -> None:
        """Send until cancelled. Cancelling it does not cancel the attempts under way; `close` waits for them."""
        while True:
            sent = 0
            with self._rounds.logged():
                sent = await self.send_due()
            if sent < AT_ONCE_MAX:
                await self._rounds.wait(POLL_S)

    async def close(self, finish_s: float = FINISH_S) -> None:
        """Wait until the attempts under way are recorded, at most `finish_s` seconds. Then release the messages
        that were leased and not sent, so that other processes can send them at once. Call it after `run` is
        cancelled."""
        await finish(self._under_way, finish_s)
        now_ms = self._now_ms()
        released = [self._rows.record_attempt(message.leased(now_ms), None) for message in self._leased.values()]
        await asyncio.gather(*released, return_exceptions=True)

    async def send_due(self) -> int:
        """Send the messages that are due now, at most AT_ONCE_MAX. Returns how many were leased."""
        leasing = asyncio.create_task(self._lease())
        self._under_way = [leasing]
        waiting = await asyncio.shield(leasing)  # if this is cancelled, `close` must still learn what was leased
        self._under_way = [asyncio.create_task(self._attempt_and_log(message)) for message in waiting]
        if self._under_way:
            await asyncio.wait(self._under_way)  # unlike `gather`, it does not cancel them when it is cancelled
        self._leased.clear()
        return len(waiting)

    async def _lease(self) -> Sequence[outgoing_messages.OutgoingMessage]:
        waiting = await self._rows.lease_messages(self._now_ms(), LEASE_MS, AT_ONCE_MAX)
        self._leased = {message.id: message for message in waiting}
        return waiting

    async def _attempt_and_log(self, waiting: outgoing_messages.OutgoingMessage) -> None:
        try:
            await self._attempt(waiting)
        except Exception as failed:  # noqa: BLE001 - the other messages are sent, and this one after its lease
            log_failure(logger, failed, "message %s: not sent, or not recorded", waiting.id)

    async def _attempt(self, waiting: outgoing_messages.OutgoingMessage) -> None:
        result, detail, again_ms = outgoing_messages.SendResult.SENT, "", None
        try:
            detail = await self._send(waiting)
        except SendFailed as failed:
            detail = failed.reason
            again_ms = next_attempt_ms(self._now_ms(), waiting.failures + 1, self._random_fraction)
            if failed.permanent or again_ms >= waiting.give_up_at_ms:
                again_ms = None
            result = (
                outgoing_messages.SendResult.GIVEN_UP if again_ms is None else outgoing_messages.SendResult.DELAYED
            )
            logger.warning("message %s: %s: %s", waiting.id, result.value, detail)
        self.results[result] += 1
        event = None
        if waiting.channel == "email":
            at_ms = self._now_ms()
            event = outgoing_messages.EmailEventRow(
                id=self._new_id(),
                message_id=waiting.id,
                type=result,
                sender=waiting.sender or self._default_sender,
                recipient=waiting.recipient,
                at_ms=at_ms,
                expires_at_ms=at_ms + self._kept_ms,
                detail=detail,
            )
        keeps_text = self._keeps_text and waiting.channel != "log"
        after = waiting.after_attempt(result, again_ms, keeps_text=keeps_text)
        if not await self._rows.record_attempt(after, event):
            logger.warning("message %s: its lease had ended, so another process may also send it", waiting.id)
        self._leased.pop(waiting.id, None)

    async def _send(self, waiting: outgoing_messages.OutgoingMessage) -> str:
        sender = self._senders.get(waiting.channel)
        if sender is None:  # the settings have changed
            raise SendFailed(f"this server sends no {waiting.channel}", permanent=False)
        return await sender.send(await self._open_message(waiting))
