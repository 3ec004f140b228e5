"""How a bound that a caller can meet is declared: `NAME_MAX: Final[Annotated[int, Bound(unit, reason)]] = 100`.

Not here: the bounds (one module for each package), the limits that an operator sets (settings).
"""

from __future__ import annotations

from typing import NamedTuple


class Bound(NamedTuple):
    """`unit`: what is counted, such as bytes. `reason`: why there is a bound, or what happens beyond it."""

    unit: str
    reason: str
