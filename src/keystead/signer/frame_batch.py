"""Writes several frames together, because each write wakes the other process, which costs as much as a
signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class FrameBatch:
    """Writes the frames of one iteration of the event loop at once."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._frames: list[bytes] = []

    def add(self, frame: bytes) -> None:
        if not self._frames:
            asyncio.get_running_loop().call_soon(self._flush)
        self._frames.append(frame)

    def _flush(self) -> None:
        frames, self._frames = self._frames, []
        self._write(b"".join(frames))
