"""The context of an evaluation: the values of a request, the steps that are left, the errors.

Not here: the functions that run on a context (`compiler`, `operators`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from keystead.policies.syntax import Place

STEPS_MAX = 100_000
"""The most steps that one expression may take. Evaluating a node takes one step, for each item of a list function
again. Each item that `in` or `contains` compares or a slice copies takes one step, too, and so do every 64
characters of a string that is compared or copied."""


class EvaluationError(msgspec.Struct, frozen=True):
    """Why an expression has no value for this request, and which part of it failed.

    `unreadable`: the value is present, and the language cannot read it: it has the wrong type, is not comparable or
    costs too much. Otherwise the value is absent.
    """

    reason: str
    at: Place
    unreadable: bool = False

    def __str__(self) -> str:
        line, column = self.at
        return f"{self.reason} (line {line}, column {column})"


class EvaluationFailed(Exception):
    """Carries an EvaluationError out of a compiled expression."""

    def __init__(self, error: EvaluationError) -> None:
        super().__init__(error)
        self.error = error


class StepsExceeded(EvaluationFailed):
    """The expression takes more steps than it may. The whole expression fails, even if another operand would decide
    it."""


Run = Callable[["EvaluationContext"], Any]
"""A compiled node: its value in a context. Raises EvaluationFailed."""


def strict_junction(context: EvaluationContext, operands: Iterable[Run], deciding: bool) -> bool:
    """`&&` (`deciding`: False) or `||` (`deciding`: True). Every operand is evaluated. If one fails, the junction
    fails."""
    decided = False
    for operand in operands:
        if operand(context) is deciding:
            decided = True
    return deciding if decided else not deciding


def three_valued_junction(context: EvaluationContext, operands: Iterable[Run], deciding: bool) -> bool:
    """As `strict_junction`, in Kleene's logic: an operand that fails is unknown, and another operand may decide the
    value.

    Of several failures, one that is unreadable is reported before one that is absent. The context records an
    unreadable operand of a junction that another operand made true.
    """
    decided, failed = False, None
    for operand in operands:
        try:
            if operand(context) is deciding:
                decided = True
        except StepsExceeded:
            raise
        except EvaluationFailed as failure:
            if failed is None or (failure.error.unreadable and not failed.error.unreadable):
                failed = failure
    if failed is not None:
        if not decided:
            raise failed
        if deciding and failed.error.unreadable:
            context.outweighed_unreadable = True
    return deciding if decided else not deciding


class EvaluationContext:
    """The values of a request by keyword, the variables of the enclosing list functions, the steps left.

    One context serves several expressions in turn; each starts with the steps that it is given. `junction`
    evaluates `&&` and `||`: `strict_junction` or `three_valued_junction`.
    """

    __slots__ = ("junction", "outweighed_unreadable", "steps", "values", "variables")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.steps = STEPS_MAX
        self.variables: dict[int, Any] = {}
        self.junction = strict_junction
        self.outweighed_unreadable = False

    def charge(self, steps: int, at: Place) -> None:
        """Take steps for the node at this place. Raises StepsExceeded."""
        self.steps -= steps
        if self.steps < 0:
            reason = "the evaluation takes more steps than it may"
            raise StepsExceeded(EvaluationError(reason, at, unreadable=True))


def steps_taken(context: EvaluationContext, given: int) -> int:
    """The steps that the last evaluation took, at most `given`: the steps that it was given."""
    return given - context.steps if context.steps > 0 else given
