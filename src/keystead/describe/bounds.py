"""The bounds of `describe` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

FACTS_MAX: Final[Annotated[int, Bound("facts", "The others of a description are left out.")]] = 60
FACT_TEXT_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "A longer text of a description is cut.")]] = 400
