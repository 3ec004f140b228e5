"""The interface of senders. `smtp` and `hook` implement it.

Not here: when a message is sent again (`retries`, `outbox`).
"""

from __future__ import annotations

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
