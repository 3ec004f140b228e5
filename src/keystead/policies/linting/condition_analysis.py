"""Static analysis of a condition: for which shapes of activities it is certainly true, certainly false, or not
applicable.

A condition is evaluated for all shapes at once, without a request: the shape alone (the type, the keywords that it
fills) decides many of its parts. Not here: the shapes (`activity_shapes`), the warnings that follow (`warnings`,
`warnings`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from keystead.api.catalogue import activity_kind
from keystead.policies.activity_shapes import ActivityShapes
from keystead.policies.language import syntax


class AnalysisResult(NamedTuple):
    """The shapes for which a boolean node is certainly true, certainly false, and certainly unknown, because it
    names another version of the activity's type; and those that lack a keyword which it names, so that a condition
    with it does not apply.

    A junction with an operand that lacks a keyword may be true or false besides, if another operand decides it.
    """

    true: int
    false: int
    unknown: int
    lacking: int


class ConditionAnalysis:
    """One walk through a condition. `absent` collects the keywords that some shapes do not have."""

    def __init__(self, shapes: ActivityShapes) -> None:
        self._shapes = shapes
        self.absent: dict[str, int] = {}

    def of(self, node: syntax.Node, variables: frozenset[str] = frozenset()) -> AnalysisResult:
        match node:
            case syntax.Literal(value=bool() as value):
                everywhere = self._shapes.all_shapes
                return AnalysisResult(everywhere if value else 0, 0 if value else everywhere, 0, 0)
            case syntax.Not(of=inner):
                result = self.of(inner, variables)
                return result._replace(true=result.false, false=result.true)
            case syntax.Junction(operator=operator, operands=operands):
                return self._junction(operator, [self.of(operand, variables) for operand in operands])
            case syntax.Comparison(operator=operator, left=left, right=right):
                return self._compare(operator, left, right, variables, self._lacking(node, variables))
            case syntax.Contains(of=of, value=value):
                return self._compare("in", value, of, variables, self._lacking(node, variables))
            case syntax.ListFunction(of=of, function=function, variable=variable, predicate=predicate):
                result = self.of(predicate, variables | {variable})
                lacking = result.lacking | self._lacking(of, variables)
                # Of an empty list, all is true and any is false.
                return AnalysisResult(
                    result.true if function == "all" else 0, result.false if function == "any" else 0, 0, lacking
                )
            case (
                syntax.Literal()
                | syntax.ListLiteral()
                | syntax.Name()
                | syntax.Field()
                | syntax.Index()
                | syntax.Slice()
                | syntax.Count()
                | syntax.TimeFunction()
            ):
                return AnalysisResult(0, 0, 0, self._lacking(node, variables))
            case _:
                assert_never(node)

    def _junction(self, operator: str, operands: list[AnalysisResult]) -> AnalysisResult:
        if operator == "||":
            negated = self._junction("&&", [one._replace(true=one.false, false=one.true) for one in operands])
            return negated._replace(true=negated.false, false=negated.true)
        true = true_or_unknown = self._shapes.all_shapes
        false = unknown = lacking = 0
        for operand in operands:
            true &= operand.true
            true_or_unknown &= operand.true | operand.unknown
            false |= operand.false
            unknown |= operand.unknown
            lacking |= operand.lacking
        return AnalysisResult(true, false, unknown & true_or_unknown, lacking)

    def _compare(
        self, operator: str, left: syntax.Node, right: syntax.Node, variables: frozenset[str], lacking: int
    ) -> AnalysisResult:
        if not isinstance(left, syntax.Name | syntax.Field):
            left, right = right, left
            if operator == "in":  # a literal in a list that the request gives
                return AnalysisResult(0, 0, 0, lacking)
        values = self._values(left, variables)
        literals = right.items if isinstance(right, syntax.ListLiteral) else (right,)
        if operator not in ("==", "!=", "in") or not all(
            isinstance(literal, syntax.Literal) for literal in literals
        ):
            return AnalysisResult(0, 0, 0, lacking)
        sought = {literal.value for literal in literals if isinstance(literal, syntax.Literal)}
        kinds = set()
        if _path(left, variables) == "activity.type":
            kinds = {activity_kind(str(literal)) for literal in sought}
        equal = different = unknown = 0
        for value, where in values.items():
            if value in sought:
                equal |= where
            elif activity_kind(value) in kinds:
                unknown |= where
            else:
                different |= where
        if operator == "!=":
            equal, different = different, equal
        return AnalysisResult(equal & ~lacking, different & ~lacking, unknown & ~lacking, lacking)

    def _values(self, node: syntax.Node, variables: frozenset[str]) -> Mapping[str, int]:
        path = _path(node, variables)
        return self._shapes.known.get(path, {}) if path else {}

    def _lacking(self, node: syntax.Node, variables: frozenset[str]) -> int:
        """The shapes for which evaluating this node certainly lacking."""
        lacking = 0
        if isinstance(node, syntax.ListFunction):
            return self.of(node, variables).lacking
        path = _path(node, variables)
        if path:
            present = self._shapes.present.get(path)
            if present is not None:
                lacking = self._shapes.all_shapes & ~present
                self.absent[path] = self.absent.get(path, 0) | lacking
        for part in syntax.parts(node):
            lacking |= self._lacking(part, variables)
        return lacking


def _path(node: syntax.Node, variables: frozenset[str]) -> str:
    """The path of a keyword and its fields, such as eth.tx.to; "" for any other node."""
    return ".".join(step.name for step in syntax.keyword_path(node, variables))
