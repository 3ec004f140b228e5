"""Long texts of callers as the database keeps them: LZ4 frames, which `lz4 -d` reads too.

Here: packing and unpacking. Not here: which columns hold such texts (`rows`). Pure.
"""

from __future__ import annotations

from typing import Final

import lz4.frame

PACKED_FROM: Final = 1_024
"""Shorter texts, in bytes, save too little."""

_FRAME: Final = b"\x04\x22\x4d\x18"
"""How a frame begins, and no JSON does."""


def packed(text: bytes) -> bytes:
    """The text, or a frame of it, whichever `unpacked` will tell from the other."""
    if len(text) < PACKED_FROM and not text.startswith(_FRAME):
        return text
    frame: bytes = lz4.frame.compress(text)
    return frame


def unpacked(kept: bytes) -> bytes:
    """The text that `packed` was given. Raises RuntimeError for what begins as a frame and is none."""
    if not kept.startswith(_FRAME):
        return kept
    text: bytes = lz4.frame.decompress(kept)
    return text
