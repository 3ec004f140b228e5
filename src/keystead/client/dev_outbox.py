"""The messages that a development server kept in place of sending them.

Not here: the developer's other controls (`dev_controls`), the server's half.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec


class SentMessage(msgspec.Struct, frozen=True):
    """A message as its recipient would have got it. `secret`: the code or the credential bundle in its text."""

    id: str
    channel: str
    recipient: str
    text: str
    subject: str = ""
    secret: str = ""


class _Kept(msgspec.Struct, frozen=True):
    message: SentMessage


class _Outbox(msgspec.Struct, frozen=True):
    messages: tuple[_Kept, ...]


class Outbox:
    """`read` gives the answer to GET /dev/v1/outbox."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read

    def messages(self, recipient: str | None = None) -> list[SentMessage]:
        """Oldest first; those to one e-mail address or phone number, if one is given."""
        kept = msgspec.json.decode(self._read(), type=_Outbox).messages
        return [
            one.message for one in kept if recipient is None or one.message.recipient.lower() == recipient.lower()
        ]

    def wait_for(self, recipient: str, *, count: int = 1, timeout_s: float = 10.0) -> SentMessage:
        """The newest message to a recipient, once there are `count` of them. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(found := self.messages(recipient)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} messages to {recipient} after {timeout_s:g} s")
            time.sleep(0.02)
        return found[-1]

    def code(self, recipient: str, *, count: int = 1) -> str:
        """The one-time code in the newest message to a recipient; see `wait_for`."""
        return self.wait_for(recipient, count=count).secret
