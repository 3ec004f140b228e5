"""The messages of a development server: it sends none, and their texts stay in the outbox, sealed, to be read.

Here: the sender that sends nothing, and reading what it kept, also what another process or an earlier start kept.
Not here: how the messages are shown (`server`, `cli`, `testing`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed
from keystead.organizations.outgoing_messages import OutgoingMessage

KEPT_MAX = 1_000
"""Only the newest messages are shown. The rows of all are deleted when they have expired."""


class KeptMessage(msgspec.Struct, frozen=True, rename="camel"):
    """`sent_at_ms`: when the message was written, in milliseconds since the epoch."""

    sent_at_ms: int
    message: Message


class KeepingSender:
    """Implements `sender.Sender` for both channels."""

    async def send(self, message: Message) -> str:  # noqa: ARG002 (the outbox keeps its text)
        return "kept by the development server"


class KeptStore(Protocol):
    """Both methods raise Unavailable while the database does not answer."""

    async def finished_messages(self, now_ms: int, limit: int) -> Sequence[tuple[str, str]]:
        """The newest messages of all organizations that are done with: the ids of organization and message."""
        ...

    async def outgoing_message(self, organization_id: str, message_id: str) -> OutgoingMessage | None: ...


class KeptMessages:
    """What was kept. `open_message` gives a message's text, which is sealed in the database."""

    def __init__(
        self,
        store: KeptStore,
        open_message: Callable[[OutgoingMessage], Awaitable[Message]],
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._open_message = open_message
        self._now_ms = now_ms
        self._opened: dict[str, KeptMessage] = {}

    def clear(self) -> None:
        """Read everything anew: the database was replaced."""
        self._opened.clear()

    async def all(self) -> list[KeptMessage]:
        """Oldest first. Each is opened once."""
        found = {message_id: of for of, message_id in await self._store.finished_messages(self._now_ms(), KEPT_MAX)}
        self._opened = {message_id: kept for message_id, kept in self._opened.items() if message_id in found}
        for message_id in found.keys() - self._opened.keys():
            kept = await self._store.outgoing_message(found[message_id], message_id)
            if kept is None or kept.sealed is None:  # deleted meanwhile; or given up before
                continue
            try:
                self._opened[message_id] = KeptMessage(kept.created_at_ms, await self._open_message(kept))
            except SendFailed:  # its organization is gone
                continue
        return [self._opened[message_id] for message_id in sorted(self._opened)]
