"""What ends the benchmarks early, in one line for whoever ran them."""

from __future__ import annotations


class BenchFailure(Exception):
    """The message says what is missing or went wrong."""
