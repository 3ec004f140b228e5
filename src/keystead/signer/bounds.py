"""The bounds of `signer` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

LONG_CALLS_PER_ORGANIZATION_MAX: Final[
    Annotated[
        int,
        Bound("calls", "Further calls of the organization are refused."),
    ]
] = 16
LONG_CALLS_MAX: Final[Annotated[int, Bound("calls", "Further calls of all organizations are refused.")]] = 512
FRAME_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "More than the longest call: a message of the largest request body, or the digests of the largest "
            "transaction.",
        ),
    ]
] = 4 * 1024 * 1024
