"""The interface of senders, and the sender to the log of this server. `smtp` and `hook` are the others.

Not here: when a message is sent again (`outbox`).
"""

from __future__ import annotations

import logging
from typing import Protocol

from keystead.delivery.message import Message


class SendFailed(Exception):
    """A message was not accepted. `permanent`: another attempt cannot succeed.

    `reason` does not quote the message.
    """

    def __init__(self, reason: str, *, permanent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent


class Sender(Protocol):
    async def send(self, message: Message) -> str:
        """Send the message. Returns the receiver's answer, or "". Raises SendFailed."""
        ...


logger = logging.getLogger("keystead.delivery")


class LogSender:
    """Implements `sender.Sender` for the channel `log`."""

    async def send(self, message: Message) -> str:
        logger.warning("%s", message.text, extra={"organization_id": message.organization_id})
        return ""
