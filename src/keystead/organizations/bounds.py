"""The bounds of `organizations` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

INTERFACE_BYTES_MAX: Final[Annotated[int, Bound("bytes", "The public API documents it.")]] = 409_600
IP_RULES_MAX: Final[Annotated[int, Bound("rules", "Of a list, for each version of IP.")]] = 10
URL_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "Longer URLs of receivers are not in use.")]] = 2_048
FILTERS_BYTES_MAX: Final[Annotated[int, Bound("bytes", "Filters are read for each event.")]] = 8_192
