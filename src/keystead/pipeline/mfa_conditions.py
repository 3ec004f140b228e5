"""The conditions of MFA policies, evaluated for one activity in a bounded number of steps.

Not here: which policy of a user is enforced (`mfa`), the language (`policies`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from keystead.policies.evaluation_context import EvaluationContext, Unknown
from keystead.policies.expression import CompiledExpression

CONDITION_STEPS_MAX: Final = 5_000
"""The most steps of evaluating one condition. A condition that takes more is unknown, and therefore holds."""

STEPS_MAX: Final = 100_000
"""The most steps of all conditions together, over all items of a batch. The conditions share them equally."""

_CONDITION_STEPS_MIN: Final = 10
"""If the share of a condition is smaller, no condition is evaluated, and all hold."""


class MfaConditions:
    """The conditions of the users who approve one activity. Each is evaluated once for each item of a batch.

    A condition that names a keyword which the activity does not have does not hold. A condition that is unknown
    holds.

    `conditions`: by their text. A condition that is not among them holds. `items`: the values of the keywords for
    each item; most activities have one. `may_be_transaction`: the activity signs a raw payload that may be a
    transaction, so every condition about transactions holds.
    """

    def __init__(
        self,
        conditions: Mapping[str, CompiledExpression],
        items: Sequence[Mapping[str, Any]],
        *,
        may_be_transaction: bool = False,
    ) -> None:
        self._conditions = conditions
        self._contexts = [EvaluationContext(values) for values in items]
        self._may_be_transaction = may_be_transaction
        share = STEPS_MAX // max(1, len(conditions) * len(items))
        self._steps = min(share, CONDITION_STEPS_MAX)
        self._where: dict[str, int] = {}
        self.everywhere = (1 << len(items)) - 1

    def where(self, text: str) -> int:
        """The items for which the condition with this text holds: one bit for each item. An empty condition always
        holds."""
        condition = self._conditions.get(text)
        if condition is None or self._steps < _CONDITION_STEPS_MIN:
            return self.everywhere
        if text not in self._where:
            self._where[text] = self._evaluate(condition)
        return self._where[text]

    def _evaluate(self, condition: CompiledExpression) -> int:
        if self._may_be_transaction and condition.names_transactions:
            return self.everywhere
        return sum(self._holds(condition, context) << item for item, context in enumerate(self._contexts))

    def _holds(self, condition: CompiledExpression, context: EvaluationContext) -> bool:
        value = condition.evaluate(context, self._steps)
        return value is True or isinstance(value, Unknown)
