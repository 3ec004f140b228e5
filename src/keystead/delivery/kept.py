"""The messages of a development server. It sends none: their texts stay in the outbox, sealed, and can be read.

Here: the sender that sends nothing, and reading the kept messages, also those of other processes and of earlier
starts. Not here: how the messages are shown (`server`, `cli`, `testing`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from keystead.api.developer_controls import OutboxEntry
from keystead.delivery.bounds import KEPT_MESSAGES_MAX
from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed
from keystead.organizations.contacts.outgoing_messages import OutgoingMessage


class KeepingSender:
    """Implements `sender.Sender` for both channels."""

    async def send(self, message: Message) -> str:  # noqa: ARG002 (the outbox keeps its text)
        return "kept by the development server"


class KeptRows(Protocol):
    """Both methods raise Unavailable while the database does not answer."""

    async def finished_messages(self, now_ms: int, limit: int) -> Sequence[tuple[str, str]]:
        """The newest sent or dropped messages of all organizations: the ids of organization and message."""
        ...

    async def message(self, organization_id: str, message_id: str) -> OutgoingMessage | None: ...


class KeptMessages:
    """Reads the kept messages. `open_message` opens the text of a message, which is sealed in the database."""

    def __init__(
        self,
        rows: KeptRows,
        open_message: Callable[[OutgoingMessage], Awaitable[Message]],
        now_ms: Callable[[], int],
    ) -> None:
        self._rows = rows
        self._open_message = open_message
        self._now_ms = now_ms
        self._opened: dict[str, OutboxEntry] = {}

    def clear(self) -> None:
        """Forget the messages that were read, because the database was replaced."""
        self._opened.clear()

    async def all(self) -> list[OutboxEntry]:
        """The kept messages, oldest first. Each is opened once."""
        finished = await self._rows.finished_messages(self._now_ms(), KEPT_MESSAGES_MAX)
        organization_ids = {message_id: organization_id for organization_id, message_id in finished}
        self._opened = {id_: message for id_, message in self._opened.items() if id_ in organization_ids}
        for message_id in organization_ids.keys() - self._opened.keys():
            kept = await self._rows.message(organization_ids[message_id], message_id)
            if kept is None or kept.sealed is None:  # it was deleted now, or given up before
                continue
            try:
                self._opened[message_id] = OutboxEntry(
                    sent_at_ms=kept.created_at_ms, message=await self._open_message(kept)
                )
            except SendFailed:  # its organization was deleted
                continue
        return [self._opened[message_id] for message_id in sorted(self._opened)]
