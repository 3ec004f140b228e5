"""The bounds of this package that a caller can meet, each with its unit and reason. `tools.limits` writes them into
docs/limits.md.

Not here: bounds of requests to one operation (`operations.bounds`)."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

THRESHOLD_DIGITS_MAX: Final[
    Annotated[int, Bound("decimal digits", "A threshold of a velocity control, without its point.")]
] = 38
