"""Static analysis of a condition: for which shapes of activities it is certainly true, certainly false, or not
applicable.

A condition is evaluated for all shapes at once, without a request: the shape alone (the type, the keywords that it
fills) decides many of its parts. Not here: the shapes (`activity_shapes`), the warnings that follow (`denials`,
`warnings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from keystead.api.catalogue import activity_kind
from keystead.policies.activity_shapes import ActivityShapes
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
    Slice,
    TimeFunction,
    keyword_path,
    parts,
)


class AnalysisResult(NamedTuple):
    """The shapes for which a boolean node is certainly true, those for which it is certainly false, and those that
    lack a keyword which it names, so that a condition with it does not apply.

    A junction with an operand that lacks a keyword may be true or false besides, if another operand decides it.
    """

    true: int
    false: int
    lacking: int


class ConditionAnalysis:
    """One walk through a condition. `absent` collects the keywords that some shapes do not have. `all_versions`: as
    in a DENY policy, a literal that `activity.type` is compared with stands for every version of its kind if that
    makes the condition true for more activities."""

    def __init__(self, shapes: ActivityShapes, *, all_versions: bool) -> None:
        self._shapes = shapes
        self._all_versions = all_versions
        self._negated = False
        self.absent: dict[str, int] = {}

    def of(self, node: Node, variables: frozenset[str] = frozenset()) -> AnalysisResult:
        match node:
            case Literal(value=bool() as value):
                return AnalysisResult(
                    self._shapes.all_shapes if value else 0, 0 if value else self._shapes.all_shapes, 0
                )
            case Not(of=inner):
                self._negated = not self._negated
                result = self.of(inner, variables)
                self._negated = not self._negated
                return AnalysisResult(result.false, result.true, result.lacking)
            case Junction(operator=operator, operands=operands):
                return self._junction(operator, [self.of(operand, variables) for operand in operands])
            case Comparison(operator=operator, left=left, right=right):
                lacking = self._lacking(node, variables)
                true, known = self._compare(operator, left, right, variables)
                return AnalysisResult(true & ~lacking, known & ~true & ~lacking, lacking)
            case Contains(of=of, value=value):
                lacking = self._lacking(node, variables)
                true, known = self._compare("in", value, of, variables)
                return AnalysisResult(true & ~lacking, known & ~true & ~lacking, lacking)
            case ListFunction(of=of, function=function, variable=variable, predicate=predicate):
                result = self.of(predicate, variables | {variable})
                lacking = result.lacking | self._lacking(of, variables)
                # Of an empty list, all is true and any is false.
                return AnalysisResult(
                    result.true if function == "all" else 0, result.false if function == "any" else 0, lacking
                )
            case Literal() | ListLiteral() | Name() | Field() | Index() | Slice() | Count() | TimeFunction():
                return AnalysisResult(0, 0, self._lacking(node, variables))
            case _:
                assert_never(node)

    def _junction(self, operator: str, operands: list[AnalysisResult]) -> AnalysisResult:
        true, false, lacking = (self._shapes.all_shapes,) * 2 + (0,)
        some_true = some_false = 0
        for operand in operands:
            true, false = true & operand.true, false & operand.false
            some_true, some_false = some_true | operand.true, some_false | operand.false
            lacking |= operand.lacking
        if operator == "||":
            return AnalysisResult(some_true, false, lacking)
        return AnalysisResult(true, some_false, lacking)

    def _compare(self, operator: str, left: Node, right: Node, variables: frozenset[str]) -> tuple[int, int]:
        """The shapes for which a comparison is true, and the shapes for which its value is known."""
        if not isinstance(left, Name | Field):
            left, right = right, left
            if operator == "in":  # a literal in a list that the request gives
                return 0, 0
        values = self._values(left, variables)
        if not values or operator not in ("==", "!=", "in"):
            return 0, 0
        literals = right.items if isinstance(right, ListLiteral) else (right,)
        if not all(isinstance(literal, Literal) for literal in literals):
            return 0, 0
        sought = {literal.value for literal in literals if isinstance(literal, Literal)}
        known = equal = 0
        widens = self._all_versions and (operator != "!=") is not self._negated
        by_kind = widens and _path(left, variables) == "activity.type"
        if by_kind:
            sought = {activity_kind(str(literal)) for literal in sought}
        for value, where in values.items():
            known |= where
            if (activity_kind(value) if by_kind else value) in sought:
                equal |= where
        return (known & ~equal if operator == "!=" else equal), known

    def _values(self, node: Node, variables: frozenset[str]) -> Mapping[str, int]:
        path = _path(node, variables)
        return self._shapes.known.get(path, {}) if path else {}

    def _lacking(self, node: Node, variables: frozenset[str]) -> int:
        """The shapes for which evaluating this node certainly lacking."""
        lacking = 0
        if isinstance(node, ListFunction):
            return self.of(node, variables).lacking
        path = _path(node, variables)
        if path:
            present = self._shapes.present.get(path)
            if present is not None:
                lacking = self._shapes.all_shapes & ~present
                self.absent[path] = self.absent.get(path, 0) | lacking
        for part in parts(node):
            lacking |= self._lacking(part, variables)
        return lacking


def _path(node: Node, variables: frozenset[str]) -> str:
    """The path of a keyword and its fields, such as eth.tx.to; "" for any other node."""
    return ".".join(step.name for step in keyword_path(node, variables))
