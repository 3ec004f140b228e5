"""The error that ends the benchmarks early."""

from __future__ import annotations


class BenchFailure(Exception):
    """The message is one line: what is missing or failed."""
