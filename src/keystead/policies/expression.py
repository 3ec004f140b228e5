"""An expression made ready once and evaluated often; also by those who borrow the language: MFA conditions,
the scopes of session profiles.

Here: from text to `Expression`, kept by its text. Not here: the three expressions of a policy (`policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

from keystead.policies.checking import check
from keystead.policies.evaluation import compiled
from keystead.policies.frame import STEPS_MAX, EvaluationError, EvaluationFailed, Frame, spent
from keystead.policies.grammar import parse
from keystead.policies.namespaces import Clause
from keystead.policies.syntax import ExpressionRefused, names_in

KEPT_CHARACTERS = 500_000
"""How much text stays compiled, twice over. A compiled expression takes some 100 bytes for each character."""

SITUATIONS_KEPT = 10
"""In how many situations the value of one expression is kept."""

Situation = tuple[Hashable, ...]
"""What a value is kept by: whatever the caller tells requests apart by."""

Value = bool | EvaluationError
"""True, false, or why neither."""


class Expression:
    """A checked expression. It holds nothing of any request, and many may evaluate it at once."""

    __slots__ = ("_kept", "_run", "_weighing", "clause", "names", "text")

    def __init__(self, text: str, clause: Clause) -> None:
        """Raises ExpressionRefused."""
        self.text = text
        self.clause = clause
        tree = parse(text)
        self.names = names_in(tree)
        self._run = compiled(check(tree, clause))
        self._kept: dict[Situation, tuple[Value, int]] = {}
        self._weighing: Callable[[Frame], bool] | None = None

    def evaluate(self, namespaces: Mapping[str, Any]) -> Value:
        """True, false, or why neither, over the values of a request by keyword. Absent keywords are left out."""
        return self.evaluate_in(Frame(namespaces))

    def evaluate_in(self, frame: Frame, steps: int = STEPS_MAX) -> Value:
        frame.steps = steps
        try:
            return self._run(frame)
        except EvaluationFailed as failed:
            return failed.error

    def evaluate_once(self, situation: Situation, frame: Frame) -> tuple[Value, int]:
        """As `evaluate_in`, with the steps that it took; kept for the next who asks in the same situation.

        The caller vouches that whatever this reads is the same in all requests of one situation.
        """
        kept = self._kept.get(situation)
        if kept is None:
            value = self.evaluate_in(frame)
            if len(self._kept) >= SITUATIONS_KEPT:
                self._kept.clear()
            kept = self._kept[situation] = value, spent(frame, STEPS_MAX)
        return kept

    def weigh_in(self, frame: Frame) -> Value:
        """As `evaluate_in`, except that a part that fails is outweighed where another settles the matter.

        So `activity.action == 'SIGN' && eth.tx.value > 5` is false of an activity that signs nothing.
        """
        if self._weighing is None:
            self._weighing = compiled(check(parse(self.text), self.clause), weighing=True)
        frame.steps = STEPS_MAX
        try:
            return self._weighing(frame)
        except EvaluationFailed as failed:
            return failed.error


class Broken:
    """In the place of an expression that was stored and can no longer be compiled: it always fails."""

    __slots__ = ("_error",)

    def __init__(self, refused: ExpressionRefused) -> None:
        self._error = EvaluationError(refused.reason, refused.place)

    def evaluate_in(self, frame: Frame, steps: int = STEPS_MAX) -> Value:
        frame.steps = steps
        return self._error

    def weigh_in(self, frame: Frame) -> Value:
        return self.evaluate_in(frame)


KeptT = TypeVar("KeptT")


class Kept(Generic[KeptT]):
    """What was made of recently used texts, in bounded memory.

    Two generations: what is used enters the young one; when that is full it becomes the old one, and what was
    old and unused since is forgotten. Unlike a count of entries, this bounds characters.
    """

    def __init__(self, make: Callable[[str, Clause], KeptT], characters: int) -> None:
        self._make = make
        self._characters = characters
        self._young: dict[tuple[str, Clause], KeptT] = {}
        self._old: dict[tuple[str, Clause], KeptT] = {}
        self._young_characters = 0

    def of(self, text: str, clause: Clause) -> KeptT:
        key = (text, clause)
        if key in self._young:
            return self._young[key]
        made = self._old[key] if key in self._old else self._make(text, clause)
        if self._young_characters + len(text) > self._characters:
            self._old, self._young, self._young_characters = self._young, {}, 0
        self._young[key] = made
        self._young_characters += len(text)
        return made


_KEPT = Kept(Expression, KEPT_CHARACTERS)


def compile_expression(text: str, clause: Clause) -> Expression:
    """The expression of this text, checked for use as this clause. Raises ExpressionRefused."""
    return _KEPT.of(text, clause)
