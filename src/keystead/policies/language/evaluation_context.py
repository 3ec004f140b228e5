"""The context of an evaluation: the values of a request and the steps that are left; and why an expression may have
no value.

Not here: the functions that run on a context (`compiler`, `operators`, `three_valued`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from keystead.policies.language.namespaces import keywords_in
from keystead.policies.language.syntax import Node, Place

STEPS_MAX = 100_000
"""The most steps that one expression may take. Evaluating a node takes one step, for each item of a list function
again. Each item that `in` or `contains` compares or a slice copies takes one step, too, and so do every 64
characters of a string that is compared or copied."""


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
