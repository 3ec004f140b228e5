"""How many examples the most expensive property tests try."""

from __future__ import annotations

import os

_FACTOR = int(os.environ.get("KEYSTEAD_TEST_EXAMPLES", "1"))


def examples(number: int) -> int:
    """This number in `make test`, a multiple of it in `make fuzz`."""
    return number * _FACTOR
