"""A time limit for code that may hang: it fails the test after much more time than a slow machine needs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 600


class Hung(Exception):
    pass


@contextmanager
def not_hanging() -> Iterator[None]:
    def give_up(_: int, __: FrameType | None) -> None:
        raise Hung(f"not done after {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
