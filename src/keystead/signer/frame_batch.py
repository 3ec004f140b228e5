"""Frames for the other side, written together: waking its process costs as much as a signature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class FrameBatch:
    """Collects frames as long as each iteration of the event loop brings more, then writes them at once."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._frames: list[bytes] = []

    def add(self, frame: bytes) -> None:
        self._frames.append(frame)
        if len(self._frames) == 1:
            asyncio.get_running_loop().call_soon(self._look, 1)

    def _look(self, before: int) -> None:
        if len(self._frames) > before:
            asyncio.get_running_loop().call_soon(self._look, len(self._frames))
            return
        frames, self._frames = self._frames, []
        self._write(b"".join(frames))
