"""The bounds of `pipeline` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

VOTE_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Every answer about the activity contains the requests of all votes."),
    ]
] = 4_096
APPROVALS_MAX: Final[
    Annotated[
        int,
        Bound(
            "approvals",
            "Every vote, and every answer about the activity, reads all of them, those that have lapsed included.",
        ),
    ]
] = 250
VOTERS_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Each vote holds the record of its user.")]] = 1_048_576
WAITING_DECISIONS_MAX: Final[
    Annotated[
        int,
        Bound("decisions", "More requests of an organization than its writer can soon decide are refused at once."),
    ]
] = 1_000
CHANGED_ROWS_MAX: Final[
    Annotated[
        int,
        Bound(
            "rows",
            "The commits of all organizations wait for them: SQLite writes 20,000 in about 150 ms. A deleted "
            "user of 20 API keys and 10 passkeys has 45.",
        ),
    ]
] = 20_000
EVENT_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "What each voter signed is left out of a longer event."),
    ]
] = 3_000_000
