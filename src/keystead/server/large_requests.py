"""Large bodies are verified and read one after the other. Addresses take turns, and other requests run in between.

A body of 1 MiB can hold the event loop for tens of milliseconds. Without this, every caller would wait for all such
bodies that arrived at the same time. Who sent a body is known only after it was read, so that organizations cannot
take turns. Not here: the order (`pipeline.turns`), the limit of a body's size (`connection`), reading
(`api.decoding`).
"""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from keystead.pipeline.turns import Turns

LARGE_BYTES: Final = 16 * 1024
"""A smaller body is read in about a millisecond, and waits for no other."""


class LargeRequests:
    """Belongs to the event loop of one process."""

    def __init__(self) -> None:
        self._turns = Turns(time.perf_counter)
        self._no_wait = nullcontext()

    def turn(self, body: bytes, limit_key: str) -> AbstractAsyncContextManager[None]:
        """A context for the block that reads `body`. A large body waits for all large bodies that its address sent
        before, and for one of each other address. `limit_key`: of the address; "" for callers that are not told
        apart. A cancelled caller loses its turn."""
        return self._no_wait if len(body) < LARGE_BYTES else self._turns.turn(limit_key)
