"""Work that can be interrupted: a generator that yields after each bounded step and returns its result.

The signer lets other calls run between steps. Not here: which call runs when (`primitives.share`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

ResultT = TypeVar("ResultT")

Steps: TypeAlias = Generator[None, None, ResultT]
"""A step takes at most about a millisecond: one child of a path, one signature, the seed of a mnemonic."""


def complete(steps: Steps[ResultT]) -> ResultT:
    """Run the work to its end without interruption."""
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            result: ResultT = finished.value
            return result
