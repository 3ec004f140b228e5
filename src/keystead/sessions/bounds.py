"""The bounds of `sessions` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

CLIENT_SIGNATURE_MESSAGE_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "The longest message that published clients sign is a session's key and a token."),
    ]
] = 262_144
CODE_ATTEMPTS_MAX: Final[Annotated[int, Bound("attempts", "This number of wrong attempts locks a code.")]] = 3
CODE_COMBINATIONS_MIN: Final[
    Annotated[
        int,
        Bound(
            "combinations", "What a sub-organization's form of codes has at least, so that guesses stay hopeless."
        ),
    ]
] = 10**9
CODE_LIFE_MAX_S: Final[
    Annotated[
        int,
        Bound("seconds", "A code that is valid for longer can be guessed for longer."),
    ]
] = 600
VERIFICATION_TOKEN_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "The longest verification token that this server writes is shorter."),
    ]
] = 4096

CODE_LENGTH_MIN: Final[Annotated[int, Bound("characters", "Shorter codes can be guessed.")]] = 6
CODE_LENGTH_MAX: Final[Annotated[int, Bound("characters", "Users type a code.")]] = 9
