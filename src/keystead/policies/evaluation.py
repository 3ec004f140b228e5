"""Evaluating a checked expression over the values of one request, at a cost known to be bounded.

Here: an expression compiled once to closures. It has no side effects. Both operands of && and || are always
evaluated, and every item of a list; one part that fails, fails the whole.
Not here: reading and comparing single values (`values`), what a policy makes of the outcome (`judgement`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

from keystead.policies.checking import Typing
from keystead.policies.comparing import FORMS, OPERATORS, Incomparable, dynamic_pair
from keystead.policies.syntax import (
    Comparison,
    Contains,
    Count,
    Field,
    Index,
    Junction,
    ListFunction,
    ListLiteral,
    Literal,
    Name,
    Node,
    Not,
    Place,
    Slice,
    TimeFunction,
    parts,
    spelled,
)
from keystead.policies.time import cron_span, timestamp
from keystead.policies.types import TEXTS, ListOf, Scalar, Type, comparison, fits, named, ordering
from keystead.policies.types import Comparison as How

STEPS_MAX = 100_000
"""What one expression may cost. Each node evaluated is a step, again for each item in a list function; so is each
item that `in` or `contains` looks at or a slice copies, and every 64 characters of a string compared or copied."""
_CRON_STEPS = 100


class EvaluationError(msgspec.Struct, frozen=True):
    """Why an expression has no value for this request, and which part of it failed."""

    reason: str
    at: Place

    def __str__(self) -> str:
        return f"{self.reason} ({self.at})"


class EvaluationFailed(Exception):
    """An EvaluationError on its way out of an expression."""

    def __init__(self, reason: str, at: Place) -> None:
        super().__init__(reason)
        self.error = EvaluationError(reason, at)


class StepsExceeded(EvaluationFailed):
    """The expression costs more than it may. No operand outweighs this."""


class Frame:
    """One evaluation under way: the values, the variables of enclosing list functions, the steps left."""

    __slots__ = ("namespaces", "steps", "variables")

    def __init__(self, namespaces: Mapping[str, Any], steps: int = STEPS_MAX) -> None:
        self.namespaces = namespaces
        self.steps = steps
        self.variables: dict[int, Any] = {}

    def charge(self, steps: int, at: Place) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise StepsExceeded("the evaluation takes too many steps", at)


Run = Callable[[Frame], Any]


def compiled(typing: Typing, *, weighed: bool = False) -> Callable[[Frame], bool]:
    """The expression as a function of a frame, which raises EvaluationFailed where it has no value.

    With `weighed`, a part that fails is outweighed by one that settles the matter whatever the failed one had
    been: false among the operands of &&, true among those of ||. Only the setting that fails closed asks so.
    """
    run = _Compiler(typing, weighed).condition(typing.tree, {})
    steps, at = _steps(typing.tree), typing.tree.at

    def whole(frame: Frame) -> bool:
        frame.charge(steps, at)
        return bool(run(frame))

    return whole


def _steps(node: Node) -> int:
    """What evaluating a node costs once, without the predicates in it: those are charged by the item."""
    inner = (node.of,) if isinstance(node, ListFunction) else parts(node)
    return 1 + sum(map(_steps, inner))


def _fail(reason: str, at: Place) -> NoReturn:
    raise EvaluationFailed(reason, at)


def _misfit(node: Node, kind: Type, value: Any) -> NoReturn:
    if value is None:
        _fail(f"{spelled(node)} is absent", node.at)
    if kind is Scalar.INT and isinstance(value, int) and not isinstance(value, bool):
        _fail(f"{spelled(node)} is beyond the range of integers, 128 bit", node.at)
    _fail(f"{spelled(node)} is not {named(kind)}", node.at)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _text_steps(value: Any) -> int:
    return len(value) >> 6 if isinstance(value, str) else 0


class _Compiler:
    """Makes a closure of each node. `scope` maps the variables in sight to their slots in the frame."""

    def __init__(self, typing: Typing, weighed: bool) -> None:
        self._typing = typing
        self._weighed = weighed

    def condition(self, node: Node, scope: Mapping[str, int]) -> Run:
        run = self._run(node, scope)
        if self._typing.of(node) is Scalar.BOOL:
            return run

        def dynamic(frame: Frame) -> bool:
            value = run(frame)
            if not isinstance(value, bool):
                _fail(f"{spelled(node)} is not a boolean", node.at)
            return value

        return dynamic

    def _run(self, node: Node, scope: Mapping[str, int]) -> Run:
        match node:
            case Literal(value=value):
                return lambda _: value
            case ListLiteral(items=items):
                runs = tuple(self._run(item, scope) for item in items)
                return lambda frame: tuple(run(frame) for run in runs)
            case Name():
                return self._name(node, scope)
            case Field():
                return self._field(node, scope)
            case Index():
                return self._index(node, scope)
            case Slice():
                return self._slice(node, scope)
            case ListFunction():
                return self._list_function(node, scope)
            case Contains(of=of, value=value):
                return self._membership(node, value, of, scope)
            case Count(of=of):
                items = self._items(of, scope)
                return lambda frame: len(items(frame))
            case TimeFunction():
                return self._time_function(node)
            case Not(of=of):
                negated = self.condition(of, scope)
                return lambda frame: not negated(frame)
            case Comparison(operator="in", left=left, right=right):
                return self._membership(node, left, right, scope)
            case Comparison():
                return self._comparison(node, scope)
            case Junction():
                return self._junction(node, scope)

    def _name(self, node: Name, scope: Mapping[str, int]) -> Run:
        kind, name = self._typing.of(node), node.name
        fitting = fits(kind)
        if name in scope:
            slot = scope[name]

            def variable(frame: Frame) -> Any:
                value = frame.variables[slot]
                if not fitting(value):
                    _misfit(node, kind, value)
                return value

            return variable

        def keyword(frame: Frame) -> Any:
            value = frame.namespaces.get(name)
            if not fitting(value):
                _misfit(node, kind, value)
            return value

        return keyword

    def _field(self, node: Field, scope: Mapping[str, int]) -> Run:
        of, name, kind = self._run(node.of, scope), node.name, self._typing.of(node)
        fitting = fits(kind)

        def field(frame: Frame) -> Any:
            try:
                value = of(frame)[name]
            except (KeyError, TypeError, IndexError):
                value = None
            if not fitting(value):
                _misfit(node, kind, value)
            return value

        return field
