"""Static analysis of a condition: for which shapes of activities it is certainly true, certainly false, or fails.

A condition is evaluated for all shapes at once, without a request: the shape alone (the type, the keywords that it
fills) decides many of its parts. Not here: the shapes (`activity_shapes`), the warnings that follow (`denials`,
`warnings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from keystead.api.catalogue import activity_kind
from keystead.policies.activity_shapes import OPTIONAL, ActivityShapes
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
    spelled,
)


class AnalysisResult(NamedTuple):
    """The shapes for which a boolean node is certainly true, is certainly false, and for which a part of it fails.

    A node that fails is neither true nor false. A junction with an operand that fails may be true or false, if
    another operand decides it. Lists are assumed to have items: if a predicate fails, the list function fails.
    """

    true: int
    false: int
    fails: int


class ConditionAnalysis:
    """One walk through a condition. `absent` collects the paths that some shapes do not fill, `optional` those that
    may fail in any shape. `all_versions`: as in a DENY policy, a literal that `activity.type` is compared with
    stands for every version of its kind if that makes the condition true for more activities."""

    def __init__(self, shapes: ActivityShapes, *, all_versions: bool, optional: frozenset[str] = OPTIONAL) -> None:
        self._shapes = shapes
        self._optional = optional
        self._all_versions = all_versions
        self._negated = False
        self.absent: dict[str, int] = {}
        self.optional: dict[str, None] = {}

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
                return AnalysisResult(result.false, result.true, result.fails)
            case Junction(operator=operator, operands=operands):
                return self._junction(operator, [self.of(operand, variables) for operand in operands])
            case Comparison(operator=operator, left=left, right=right):
                fails = self._fails(node, variables)
                true, known = self._compare(operator, left, right, variables)
                return AnalysisResult(true & ~fails, known & ~true & ~fails, fails)
            case Contains(of=of, value=value):
                fails = self._fails(node, variables)
                true, known = self._compare("in", value, of, variables)
                return AnalysisResult(true & ~fails, known & ~true & ~fails, fails)
            case ListFunction(of=of, function=function, variable=variable, predicate=predicate):
                result = self.of(predicate, variables | {variable})
                fails = result.fails | self._fails(of, variables)
                # Of an empty list, all is true and any is false.
                return AnalysisResult(
                    result.true if function == "all" else 0, result.false if function == "any" else 0, fails
                )
            case Literal() | ListLiteral() | Name() | Field() | Index() | Slice() | Count() | TimeFunction():
                return AnalysisResult(0, 0, self._fails(node, variables))
            case _:
                assert_never(node)

    def _junction(self, operator: str, operands: list[AnalysisResult]) -> AnalysisResult:
        true, false, fails = (self._shapes.all_shapes,) * 2 + (0,)
        some_true = some_false = 0
        for operand in operands:
            true, false = true & operand.true, false & operand.false
            some_true, some_false = some_true | operand.true, some_false | operand.false
            fails |= operand.fails
        if operator == "||":
            return AnalysisResult(some_true, false, fails)
        return AnalysisResult(true, some_false, fails)

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

    def _fails(self, node: Node, variables: frozenset[str]) -> int:
        """The shapes for which evaluating this node certainly fails."""
        fails = 0
        if isinstance(node, Index | Slice):
            self.optional[spelled(node)] = None
        if isinstance(node, ListFunction):
            return self.of(node, variables).fails
        path = _path(node, variables)
        if path in self._optional or (isinstance(node, Field) and node.name == "parsed_instruction_data"):
            self.optional[spelled(node)] = None
        if path:
            present = self._shapes.present.get(path)
            if present is not None:
                fails = self._shapes.all_shapes & ~present
                self.absent[path] = self.absent.get(path, 0) | fails
        for part in parts(node):
            fails |= self._fails(part, variables)
        return fails


def _path(node: Node, variables: frozenset[str]) -> str:
    """The path of a keyword and its fields, such as eth.tx.to; "" for any other node."""
    return ".".join(step.name for step in keyword_path(node, variables))
