"""The bounds of `policies` that a caller can meet, with unit and reason. docs/limits.md is made from them."""

from __future__ import annotations

from typing import Annotated, Final

from keystead.primitives.bound import Bound

EXPRESSION_STEPS_MAX: Final[
    Annotated[
        int,
        Bound(
            "steps",
            "Evaluating a node takes one step, for each item of a list function again; an item that `in` or "
            "`contains` compares or a slice copies takes one, and so do every 64 characters of a string that is "
            "compared or copied.",
        ),
    ]
] = 100_000
EXPRESSION_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound("characters", "It bounds the time of compiling an expression."),
    ]
] = 10_000
EXPRESSION_DEPTH_MAX: Final[
    Annotated[
        int,
        Bound("levels", "It bounds the stack of every walk over an expression."),
    ]
] = 64
INTEGER_DIGITS_MAX: Final[
    Annotated[
        int,
        Bound(
            "digits",
            "A longer literal is refused without a conversion, because Python refuses to convert very long ones.",
        ),
    ]
] = 1_000
DECISION_STEPS_MAX: Final[
    Annotated[
        int,
        Bound(
            "steps",
            "If all policies take more, only the root quorum can allow the activity, because a policy that was "
            "not evaluated might deny it. One step takes some 0.2 µs.",
        ),
    ]
] = 300_000
EXPLANATION_PARTS_MAX: Final[Annotated[int, Bound("parts", "The others are left out of the explanation.")]] = 200
EXPLANATION_DEPTH_MAX: Final[
    Annotated[
        int,
        Bound("levels", "The parts at this depth are not divided further."),
    ]
] = 8
EXPLANATION_STEPS_MAX: Final[
    Annotated[
        int,
        Bound("steps", "Parts beyond it say that they were not evaluated."),
    ]
] = 300_000
EXPLANATION_VALUE_CHARACTERS_MAX: Final[Annotated[int, Bound("characters", "A longer text is cut.")]] = 200
COMPARED_VALUES_SHOWN_MAX: Final[
    Annotated[
        int,
        Bound("values", "A list may have more values of one field than are shown."),
    ]
] = 20
WARNING_NAMES_MAX: Final[Annotated[int, Bound("names", "A warning names no more kinds of activity, or paths.")]] = 6
ANALYZED_MFA_CHARACTERS_MAX: Final[
    Annotated[
        int,
        Bound(
            "characters",
            "Analyzing this many characters of MFA conditions for all warnings of an organization takes some 2 s.",
        ),
    ]
] = 200_000

INTEGER_MAX: Final[Annotated[int, Bound("wei", "No amount of any network is larger.")]] = 2**256 - 1
