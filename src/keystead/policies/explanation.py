"""Why an expression is true, false or unknown: the value of each part of it, with what the part read.

Here: the parts that `&&`, `||` and `!` join, evaluated one by one. Not here: the value that decides
(`language.expression`), the words for people (the console).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from keystead.policies import bounds
from keystead.policies.language import evaluation_context, syntax
from keystead.policies.language.compiler import Compiler
from keystead.policies.language.evaluation_context import Budget
from keystead.policies.language.expression import TOO_MANY_STEPS, ExpressionSource, not_applicable
from keystead.policies.language.field_paths import path_of
from keystead.policies.language.grammar import parse
from keystead.policies.language.namespaces import CONTROLS
from keystead.policies.language.source_text import text_of
from keystead.policies.language.three_valued import Perhaps
from keystead.policies.language.type_checker import NodeTypes, check_types
from keystead.policies.language.types import Scalar
from keystead.primitives.unreadable import Unreadable

_ITEMS_SHOWN: Final = 10
_NO_VALUE: Final = (evaluation_context.Unknown, evaluation_context.NotApplicable)

_NO_STEPS: Final = evaluation_context.Unknown(
    "not evaluated: the parts before this one took all the steps", syntax.Place(1, 1)
)


@runtime_checkable
class ExplainedControls(Protocol):
    """Velocity controls that say how much of them is used."""

    def explained(self, identifier: str) -> str: ...


class ReadValue(msgspec.Struct, frozen=True):
    """A value that a part compared. `path`: as the expression writes it. `value`: for people; a long value is
    cut."""

    path: str
    value: str


class Part(msgspec.Struct, frozen=True):
    """One part of an expression. `depth`: 0 for the whole; the operands of a part follow it, with a depth of one
    more.

    `operator`: `&&`, `||` or `!` of a part whose operands follow, otherwise "".
    """

    depth: int
    text: str
    operator: str
    value: evaluation_context.Value
    values: tuple[ReadValue, ...]


def explain(source: ExpressionSource, values: Mapping[str, Any]) -> tuple[Part, ...]:
    """The parts of an expression for a request with these values, the whole first.

    Each part is evaluated by itself, and every operand of a part as well: no part is skipped because of another.
    An expression that no longer compiles is one part, which is unknown.
    """
    try:
        tree = parse(source.text)
        node_types = check_types(tree, source.clause)
    except syntax.ExpressionRefused as refused:
        return (Part(0, source.text, "", evaluation_context.Unknown(refused.reason, refused.place), ()),)
    evaluation = _PartEvaluator(node_types, Compiler(node_types), values)
    return tuple(
        evaluation.part(depth, node)
        for depth, node in islice(_parts_with_depth(tree), bounds.EXPLANATION_PARTS_MAX)
    )


def _operands(node: syntax.Node, depth: int) -> tuple[syntax.Node, ...]:
    if depth == bounds.EXPLANATION_DEPTH_MAX:
        return ()
    if isinstance(node, syntax.Junction):
        return node.operands
    return (node.of,) if isinstance(node, syntax.Not) else ()


def _parts_with_depth(tree: syntax.Node) -> Iterator[tuple[int, syntax.Node]]:
    waiting = [(0, tree)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        waiting.extend((depth + 1, operand) for operand in reversed(_operands(node, depth)))


class _PartEvaluator:
    def __init__(self, node_types: NodeTypes, compiler: Compiler, values: Mapping[str, Any]) -> None:
        self._node_types = node_types
        self._compiler = compiler
        self._context = evaluation_context.EvaluationContext(values)
        self._budget = Budget(bounds.EXPLANATION_STEPS_MAX)
        controls = values.get(CONTROLS)
        self._controls = controls if isinstance(controls, ExplainedControls) else None

    def part(self, depth: int, node: syntax.Node) -> Part:
        operator = ""
        if _operands(node, depth):
            operator = node.operator if isinstance(node, syntax.Junction) else "!"
        value = self._value(node, is_condition=True)
        read = () if operator else tuple(self._read(node))
        return Part(depth, text_of(node), operator, value if isinstance(value, _NO_VALUE) else bool(value), read)

    def _value(self, node: syntax.Node, *, is_condition: bool = False) -> Any:
        if self._budget.left <= 0:
            return _NO_STEPS
        keywords = self._compiler.keywords
        keywords.clear()
        run = self._compiler.condition(node, {}) if is_condition else self._compiler.value(node)
        self._budget.spend(1)
        given = self._context.steps = min(bounds.EXPRESSION_STEPS_MAX, self._budget.left)
        if not keywords.keys() <= self._context.keywords:
            return not_applicable(keywords, self._context)
        try:
            return run(self._context)
        except evaluation_context.ValueUnknown as failed:
            return evaluation_context.Unknown(failed.reason, failed.at)
        except evaluation_context.StepsExceeded as exceeded:
            return evaluation_context.Unknown(TOO_MANY_STEPS, exceeded.at)
        finally:
            self._budget.settle(given, self._context.steps)

    def _read(self, node: syntax.Node) -> Iterator[ReadValue]:
        """The values that the part compares or searches, except those that its text states."""
        if (
            isinstance(node, syntax.Field)
            and self._controls is not None
            and path_of(node, {}) == f"{CONTROLS}.{node.name}"
        ):
            yield ReadValue(text_of(node), self._controls.explained(node.name))
        compared = syntax.parts(node) if isinstance(node, syntax.Comparison | syntax.Contains) else ()
        if isinstance(node, syntax.ListFunction):
            compared = (node.of,)
        for operand in compared:
            if not isinstance(operand, syntax.Literal | syntax.ListLiteral | syntax.TimeFunction):
                value = self._value(operand)
                if not isinstance(value, _NO_VALUE):  # then the reason of the part says it
                    is_time = self._node_types.of(operand) is Scalar.TIMESTAMP
                    yield ReadValue(text_of(operand), _time_text(value) if is_time else _value_text(value))


def _time_text(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _value_text(value: Any) -> str:
    if isinstance(value, Unreadable):
        return f"unknown: {value.reason}"
    if isinstance(value, Perhaps):
        return f"perhaps {_value_text(value.item)}"
    match value:
        case bool():
            text = "true" if value else "false"
        case str() | int():
            text = str(value) if not isinstance(value, int) or abs(value) < 2**512 else "…"
        case list():
            more = [f"and {len(value) - _ITEMS_SHOWN} more"] if len(value) > _ITEMS_SHOWN else []
            text = ", ".join([*map(_value_text, value[:_ITEMS_SHOWN]), *more]) or "none"
        case Mapping():
            text = str(value.get("alias") or value.get("id") or f"{len(value)} fields")
        case _:
            text = str(value)
    return (
        text
        if len(text) <= bounds.EXPLANATION_VALUE_CHARACTERS_MAX
        else f"{text[: bounds.EXPLANATION_VALUE_CHARACTERS_MAX]}…"
    )
