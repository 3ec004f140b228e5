"""The bounds of `delivery` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

KEPT_MESSAGES_MAX: Final[
    Annotated[
        int,
        Bound("messages", "The newest ones are shown. The rows of all messages are deleted when they expire."),
    ]
] = 1_000

TEMPLATE_TEXT_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "A text of an e-mail's template is one line."),
    ]
] = 255
TEMPLATE_URL_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "Browsers accept no much longer URL."),
    ]
] = 2048
SMS_TEMPLATE_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "A message of several parts costs its sender for each part."),
    ]
] = 480
