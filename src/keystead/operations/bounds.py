"""The bounds of `operations` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

PAGE_RECORDS_MAX: Final[Annotated[int, Bound("records", "The public API documents it.")]] = 100
SECRET_PROPERTIES_MAX: Final[
    Annotated[
        int,
        Bound("properties", "Every read of a secret contains its static properties."),
    ]
] = 10
SECRET_BYTES_MAX: Final[
    Annotated[
        int,
        Bound("bytes", "The setting for the bytes of a secret allows no more."),
    ]
] = 65_536
TRIED_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "Activities beyond this many bytes of requests, votes and results are left out of the answer.",
        ),
    ]
] = 1_048_576
MISSING_USERS_MAX: Final[Annotated[int, Bound("users", "The others of a policy that waits are left out.")]] = 100
MISSING_POLICIES_MAX: Final[Annotated[int, Bound("policies", "The other policies that wait are left out.")]] = 10
OWN_ADDRESSES_MAX: Final[
    Annotated[
        int,
        Bound("addresses", "The other addresses of an activity are shown without the name of a wallet."),
    ]
] = 8
DESCRIBED_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "Activities beyond this many bytes of requests, votes and results are left out of the answer.",
        ),
    ]
] = 1_048_576
FACT_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "A longer text of a fact is cut.")]] = 10_000
ROOT_USERS_MAX: Final[Annotated[int, Bound("users", "Root users of a new sub-organization.")]] = 100
PAGE_BYTES_MAX: Final[
    Annotated[
        int,
        Bound(
            "bytes",
            "A page of activities ends before the activity whose request, votes and result would make it larger "
            "than this.",
        ),
    ]
] = 1_048_576

TRIED_SECONDS_MAX: Final[
    Annotated[
        float,
        Bound("seconds of processor time", "Activities beyond it are left out of the answer."),
    ]
] = 2.0

VERIFICATION_TOKEN_LIFE_MAX_S: Final[
    Annotated[
        int,
        Bound("seconds", "A stolen token is of use for as long."),
    ]
] = 86_400

COUNTED_PERIODS_MAX: Final[
    Annotated[int, Bound("periods", "Each is a walk of an index for each status of activities.")]
] = 400

INVITATION_LASTS_MAX_S: Final[
    Annotated[int, Bound("seconds", "Until then, who has the link can become the user.")]
] = 2_592_000
