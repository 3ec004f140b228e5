"""The context of an evaluation: the values of a request and the budget that is left; and why an expression may have
no value.

Not here: the functions that run on a context (`compiler`, `operators`, `three_valued`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from keystead.policies.language.namespaces import keywords_in
from keystead.policies.language.syntax import Node, Place


class Budget:
    """The units that are left, shared by all parts of one piece of work. Below zero, a part has needed more."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    @property
    def is_exceeded(self) -> bool:
        """Whether a part of the work has needed more than was left."""
        return self.left < 0

    def spend(self, units: int) -> bool:
        """Take units for one part. Returns whether there were enough."""
        self.left -= units
        return self.left >= 0

    def settle(self, given: int, left: int) -> None:
        """Take what an evaluation used of the steps that it was given. `left`: below zero if it needed more."""
        if left < 0 and given < self.left:
            left = 0  # it was stopped by its own bound, not by this budget
        self.left -= given - left


class NotApplicable(msgspec.Struct, frozen=True):
    """The expression names a keyword that the activity does not have, such as `eth.tx` for a Solana transaction."""

    keyword: str
    at: Place

    @property
    def reason(self) -> str:
        return f"{self.keyword} is absent"

    def __str__(self) -> str:
        return f"{self.reason} ({self.at})"


class Unknown(msgspec.Struct, frozen=True):
    """Whether the expression is true for this request is not known. `reason` names what is unknown, and why.

    `other_version`: the expression names another version of the activity's type. Then it is false where it would
    allow, and true where it denies.
    """

    reason: str
    at: Place
    other_version: bool = False

    def __str__(self) -> str:
        return f"{self.reason} ({self.at})"


Value = bool | Unknown | NotApplicable
"""The value of an expression for a request. In which policy it means what: `evaluator`."""


class ValueUnknown(Exception):
    """The value of a node is unknown.

    `node`, `literal`: the node whose value is an Unreadable, and the literal of that; None for any other reason.
    """

    def __init__(self, reason: str, at: Place, node: Node | None = None, literal: str | int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.node = node
        self.literal = literal


class OtherVersion(ValueUnknown):
    """Two versions of one kind of activity are compared."""


class StepsExceeded(Exception):
    """The expression takes more steps than it may. The whole expression is unknown, even if another operand would
    decide it."""

    def __init__(self, at: Place) -> None:
        super().__init__(at)
        self.at = at


Run = Callable[["EvaluationContext"], Any]
"""A compiled node: its value in a context. Raises ValueUnknown, StepsExceeded."""


class EvaluationContext:
    """The values of a request, the keywords that they fill, the variables of the enclosing list functions, and the
    steps that are left.

    One context serves several expressions in turn. Each gets its steps from a budget (`Expression.evaluate`).
    """

    __slots__ = ("keywords", "steps", "values", "variables")

    def __init__(self, values: Mapping[str, Any], keywords: frozenset[str] | None = None) -> None:
        """`keywords`: those of the request; None for those that the values fill."""
        self.values = values
        self.keywords = keywords_in(values) if keywords is None else keywords
        self.steps = 0
        self.variables: dict[int, Any] = {}

    def charge(self, steps: int, at: Place) -> None:
        """Take steps for the node at this place. Raises StepsExceeded."""
        self.steps -= steps
        if self.steps < 0:
            raise StepsExceeded(at)
