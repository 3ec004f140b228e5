"""The bounds of `organizations` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

INTERFACE_BYTES_MAX: Final[Annotated[int, Bound("bytes", "The public API documents it.")]] = 409_600
IP_RULES_MAX: Final[Annotated[int, Bound("rules", "Of a list, for each version of IP.")]] = 10
URL_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "Longer URLs of receivers are not in use.")]] = 2_048
FILTERS_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Filters are read for each event.")]] = 8_192
KEY_IMPORT_TARGETS_MAX: Final[
    Annotated[
        int,
        Bound(
            "open import targets of a user, for wallets and for private keys each",
            "The message of a wallet or private key does not name its target, so an import tries one target after "
            "the other. The oldest is removed.",
        ),
    ]
] = 10
SECRET_IMPORT_TARGETS_MAX: Final[
    Annotated[int, Bound("open import targets of a user, for secrets", "The oldest is removed.")]
] = 20
IPV4_PREFIX_BITS_MIN: Final[Annotated[int, Bound("bits", "A shorter one allows too much.")]] = 20
IPV6_PREFIX_BITS_MIN: Final[Annotated[int, Bound("bits", "A shorter one allows too much.")]] = 48
