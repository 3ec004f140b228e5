"""The sender of a development server: it sends nothing, and keeps every message in this process.

Not here: how the messages are shown (`server`, `cli`, `testing`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from keystead.delivery.message import Message

KEPT_MAX = 1_000
"""Older messages are dropped."""


class KeptMessage(msgspec.Struct, frozen=True, rename="camel"):
    """`sent_at_ms`: milliseconds since the epoch."""

    sent_at_ms: int
    message: Message


class KeptMessages:
    """Implements `sender.Sender` for both channels."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._kept: deque[KeptMessage] = deque(maxlen=KEPT_MAX)

    async def send(self, message: Message) -> str:
        self._kept.append(KeptMessage(self._now_ms(), message))
        return "kept by the development server"

    def clear(self) -> None:
        self._kept.clear()

    def all(self) -> list[KeptMessage]:
        """Oldest first."""
        return list(self._kept)
