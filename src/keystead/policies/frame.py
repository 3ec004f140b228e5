"""One evaluation under way: its values, its budget, and how it fails.

Not here: the closures that run in a frame (`evaluation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.policies.syntax import Place

STEPS_MAX = 100_000
"""What one expression may cost. Each node evaluated is a step, again for each item in a list function; so is each
item that `in` or `contains` looks at or a slice copies, and every 64 characters of a string compared or copied."""


class EvaluationError(msgspec.Struct, frozen=True):
    """Why an expression has no value for this request, and which part of it failed."""

    reason: str
    at: Place

    def __str__(self) -> str:
        # As the place spells itself, without asking it: a decision under many policies writes many of these.
        line, column = self.at
        return f"{self.reason} (line {line}, column {column})"


class EvaluationFailed(Exception):
    """An EvaluationError on its way out of an expression."""

    def __init__(self, error: EvaluationError) -> None:
        super().__init__(error)
        self.error = error


class StepsExceeded(EvaluationFailed):
    """The expression costs more than it may. No operand outweighs this."""


class Frame:
    """The values of a request, the variables of the list functions around, the steps left.

    A frame serves one expression after another; each starts with the steps it is given.
    """

    __slots__ = ("namespaces", "steps", "variables")

    def __init__(self, namespaces: Mapping[str, Any]) -> None:
        self.namespaces = namespaces
        self.steps = STEPS_MAX
        self.variables: dict[int, Any] = {}

    def charge(self, steps: int, at: Place) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise StepsExceeded(EvaluationError(f"the evaluation takes more than {STEPS_MAX} steps", at))


def spent(frame: Frame, given: int) -> int:
    """How many of the steps that it was given an evaluation took: what it was refused, it did not take."""
    return given - frame.steps if frame.steps > 0 else given
