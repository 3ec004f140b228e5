"""The bounds of `server` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

DEVELOPMENT_ENTRIES_MAX: Final[
    Annotated[
        int,
        Bound("entries", "Such as faults that wait for a request; a control keeps no more."),
    ]
] = 1_000
FIXTURE_FILE_BYTES_MAX: Final[Annotated[int, Bound("bytes", "A fixture file is read at once.")]] = 10_000_000
SNAPSHOTS_MAX: Final[Annotated[int, Bound("snapshots", "Each is a copy of the database in memory.")]] = 20
SNAPSHOTS_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Of all snapshots together, in memory."),
    ]
] = 1024 * 1024 * 1024
REQUESTS_SEEN_MAX: Final[
    Annotated[
        int,
        Bound(
            "requests",
            "Answered and refused ones are counted apart, so that pages that poll do not displace refusals.",
        ),
    ]
] = 200
REQUEST_SEEN_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Of a body, and of an answer, that are kept."),
    ]
] = 16_384
CONSOLE_LINKS_MAX: Final[Annotated[int, Bound("links", "The newest ones open the console.")]] = 20
WEBHOOKS_SEEN_MAX: Final[Annotated[int, Bound("webhooks", "The newest ones are kept.")]] = 1_000
WEBHOOKS_SEEN_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "Of the bodies that are kept. The newest webhook is always kept."),
    ]
] = 16_777_216
PROXIES_MAX: Final[
    Annotated[
        int,
        Bound("proxies", "With more trusted proxies in one header, the caller is unknown."),
    ]
] = 32
