"""The static check: an expression names existing fields, its types fit, and it is a boolean.

Here: the type of every node. Not here: syntax (`grammar`), and what depends on the request: whether a keyword is
present, a map has the key, a list is long enough, a dynamic value has the type that it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, assert_never

from keystead.api.choices import did_you_mean
from keystead.policies.language import syntax, types
from keystead.policies.language.hints import quotes_hint
from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.source_text import text_of
from keystead.policies.language.time import TimeRefused, cron_span, timestamp
from keystead.policies.language.values import quotes_number

_CONDITIONS = (types.Scalar.BOOL, types.Scalar.DYNAMIC)
_POSITIONS = (types.Scalar.INT, types.Scalar.NUMERAL, types.Scalar.DYNAMIC)
_KEYS = (*types.TEXTS, types.Scalar.DYNAMIC)


class NodeTypes:
    """The type of each node of one tree. A node is known by identity: equal nodes may have different types."""

    def __init__(self, tree: syntax.Node) -> None:
        self.tree = tree
        self._by_node: dict[int, types.Type] = {}

    def set(self, node: syntax.Node, kind: types.Type) -> types.Type:
        self._by_node[id(node)] = kind
        return kind

    def of(self, node: syntax.Node) -> types.Type:
        return self._by_node[id(node)]


def check_types(tree: syntax.Node, clause: Clause) -> NodeTypes:
    """The types in a tree. Raises ExpressionRefused unless the tree is a valid boolean expression of this
    clause."""
    node_types = NodeTypes(tree)
    checker = _Checker(clause, node_types)
    checker.condition(tree, {}, "the whole expression")
    return node_types


def unknown_function_error(unknown: syntax.UnknownFunction, clause: Clause) -> syntax.ExpressionRefused:
    """The refusal of a function that does not exist, by the type of the value that it is called on."""
    checker = _Checker(clause, NodeTypes(unknown.of))
    variables: dict[str, types.Type] = {}
    try:
        for name, among in unknown.scope:
            variables[name] = checker.items(among, variables, unknown.name)
        kind = checker.type(unknown.of, variables)
    except syntax.ExpressionRefused as refused:
        return refused
    if isinstance(kind, types.ListOf) or kind is types.Scalar.DYNAMIC:
        return unknown
    of = text_of(unknown.of)
    part = f"; a part of it is written `{of}[0..4]`" if kind in types.TEXTS else ""
    return syntax.ExpressionRefused(
        f"function does not exist: {unknown.name}: only lists have functions, "
        f"and {of} is {types.type_name(kind)}{part}",
        unknown.place,
    )


def _refuse(reason: str, at: syntax.Place) -> NoReturn:
    raise syntax.ExpressionRefused(f"Expression cannot be evaluated: {reason}", at)


def _compare(how: types.ComparisonKind | None, left: syntax.Node, right: syntax.Node) -> bool:
    """Whether two operands compare in this way. A number compares with a quoted number, but with no other text."""
    if how is types.ComparisonKind.NUMERAL:
        return _quotes_numbers(left) or _quotes_numbers(right)
    return how is not None


def _quotes_numbers(node: syntax.Node) -> bool:
    """Whether a node is a literal that quotes a number, or a list of such literals."""
    items = node.items if isinstance(node, syntax.ListLiteral) else (node,)
    return all(isinstance(item, syntax.Literal) and quotes_number(item.value) for item in items)


class _Checker:
    def __init__(self, clause: Clause, node_types: NodeTypes) -> None:
        self._clause = clause
        self._node_types = node_types

    def condition(self, node: syntax.Node, variables: Mapping[str, types.Type], what: str) -> None:
        kind = self.type(node, variables)
        if kind not in _CONDITIONS:
            _refuse(f"expected a boolean as {what}, found {types.type_name(kind)}", node.at)

    def type(self, node: syntax.Node, variables: Mapping[str, types.Type]) -> types.Type:
        return self._node_types.set(node, self._infer(node, variables))

    def _infer(self, node: syntax.Node, variables: Mapping[str, types.Type]) -> types.Type:
        match node:
            case syntax.Literal(value=value):
                if isinstance(value, bool):
                    return types.Scalar.BOOL
                return types.Scalar.INT if isinstance(value, int) else types.Scalar.STRING
            case syntax.ListLiteral():
                return self._list(node, variables)
            case syntax.Name():
                return self._name(node, variables)
            case syntax.Field():
                return self._field(node, variables)
            case syntax.Index():
                return self._index(node, variables)
            case syntax.Slice():
                return self._slice(node, variables)
            case syntax.ListFunction():
                return self._list_function(node, variables)
            case syntax.Contains(of=of, value=value):
                self._membership(value, of, self.items(of, variables, "contains"), variables, node.at)
                return types.Scalar.BOOL
            case syntax.Count(of=of):
                self.items(of, variables, "count")
                return types.Scalar.INT
            case syntax.TimeFunction():
                return self._time_function(node)
            case syntax.Not(of=of):
                self.condition(of, variables, "the operand of `!`")
                return types.Scalar.BOOL
            case syntax.Comparison():
                return self._comparison(node, variables)
            case syntax.Junction(operator=operator, operands=operands):
                for operand in operands:
                    self.condition(operand, variables, f"an operand of `{operator}`")
                return types.Scalar.BOOL
            case unknown:
                assert_never(unknown)

    def _list(self, node: syntax.ListLiteral, variables: Mapping[str, types.Type]) -> types.Type:
        common = types.Scalar.NOTHING
        for item in node.items:
            kind = self.type(item, variables)
            if not isinstance(kind, types.Scalar):
                _refuse(f"a list literal holds numbers, strings or booleans, not {types.type_name(kind)}", item.at)
            both = types.common_type(common, kind)
            if both is None:
                _refuse(
                    f"the items of a list are of one type, not {types.type_name(common)} "
                    f"and {types.type_name(kind)}",
                    item.at,
                )
            common = both
        return types.ListOf(common)

    def _name(self, node: syntax.Name, variables: Mapping[str, types.Type]) -> types.Type:
        if node.name in variables:
            return variables[node.name]
        keywords = KEYWORDS[self._clause]
        if node.name in keywords:
            return keywords[node.name]
        for clause, others in KEYWORDS.items():
            if node.name in others:
                _refuse(f"{node.name} is known to {clause} expressions only", node.at)
        near = quotes_hint(node.name) or did_you_mean(node.name, (*variables, *keywords))
        known = f": a {self._clause} expression knows {', '.join(keywords)}"
        _refuse(f"field does not exist: {node.name}{near or known}", node.at)

    def _field(self, node: syntax.Field, variables: Mapping[str, types.Type]) -> types.Type:
        of = self.type(node.of, variables)
        if of is types.Scalar.DYNAMIC:
            return types.Scalar.DYNAMIC
        if isinstance(of, types.NamedByOrganization):
            return of.value
        if isinstance(of, types.StructOf) and node.name in of.fields:
            return of.fields[node.name]
        if isinstance(of, types.MapOf):
            _refuse(f"{syntax.spelled(node.of)} is a map: its values are written ['{node.name}']", node.at)
        fields = of.fields if isinstance(of, types.StructOf) else ()
        _refuse(f"field does not exist: {syntax.spelled(node)}{did_you_mean(node.name, fields)}", node.at)

    def _index(self, node: syntax.Index, variables: Mapping[str, types.Type]) -> types.Type:
        of = self.type(node.of, variables)
        index = self.type(node.index, variables)
        allowed: tuple[types.Type, ...] = _POSITIONS
        if isinstance(of, types.MapOf):
            allowed = _KEYS
        elif of is types.Scalar.DYNAMIC:
            allowed = (*_POSITIONS, *_KEYS)
        elif not isinstance(of, types.ListOf) and of not in types.TEXTS:
            _refuse(f"{types.type_name(of)} has no `[…]`", node.at)
        if index not in allowed:
            expected = "a string" if isinstance(of, types.MapOf) else "an integer"
            _refuse(f"expected {expected} between `[` and `]`, found {types.type_name(index)}", node.index.at)
        match of:
            case types.ListOf(item=item):
                return item
            case types.MapOf(value=value):
                return value
            case types.Scalar() | types.StructOf() | types.NamedByOrganization():
                return of
            case _:
                assert_never(of)

    def _slice(self, node: syntax.Slice, variables: Mapping[str, types.Type]) -> types.Type:
        of = self.type(node.of, variables)
        if not isinstance(of, types.ListOf) and of not in types.TEXTS and of is not types.Scalar.DYNAMIC:
            _refuse(f"{types.type_name(of)} has no `[…..…]`", node.at)
        for bound in (node.start, node.end):
            kind = self.type(bound, variables)
            if kind not in _POSITIONS:
                _refuse(f"expected an integer on either side of `..`, found {types.type_name(kind)}", bound.at)
        return of

    def items(self, of: syntax.Node, variables: Mapping[str, types.Type], function: str) -> types.Type:
        """The type of the items of the list that a list function is called on."""
        kind = self.type(of, variables)
        if isinstance(kind, types.ListOf):
            return kind.item
        if kind is types.Scalar.DYNAMIC:
            return types.Scalar.DYNAMIC
        _refuse(f"{function} is a function of lists, and {syntax.spelled(of)} is {types.type_name(kind)}", of.at)

    def _list_function(self, node: syntax.ListFunction, variables: Mapping[str, types.Type]) -> types.Type:
        item = self.items(node.of, variables, node.function)
        # A variable hides a keyword of the same name, so that wallets.any(wallet, …) is allowed.
        inner = {**variables, node.variable: item}
        self.condition(node.predicate, inner, f"the predicate of `{node.function}`")
        return self._node_types.of(node.of) if node.function == "filter" else types.Scalar.BOOL

    def _membership(
        self,
        value: syntax.Node,
        among: syntax.Node,
        item: types.Type,
        variables: Mapping[str, types.Type],
        at: syntax.Place,
    ) -> None:
        kind = self.type(value, variables)
        if not _compare(types.comparison(kind, item), value, among):
            _refuse(f"{types.type_name(kind)} cannot be in a list whose items are each {types.type_name(item)}", at)

    def _comparison(self, node: syntax.Comparison, variables: Mapping[str, types.Type]) -> types.Type:
        if node.operator == "in":
            items = self.items(node.right, variables, "in")
            self._membership(node.left, node.right, items, variables, node.at)
            return types.Scalar.BOOL
        left, right = self.type(node.left, variables), self.type(node.right, variables)
        how = (types.comparison if node.operator in ("==", "!=") else types.ordering)(left, right)
        if not _compare(how, node.left, node.right):
            _refuse(
                f"`{node.operator}` cannot compare {types.type_name(left)} with {types.type_name(right)}", node.at
            )
        return types.Scalar.BOOL

    def _time_function(self, node: syntax.TimeFunction) -> types.Type:
        if self._clause is not Clause.TIME:
            _refuse(f"{node.function} can be called in time expressions only", node.at)
        texts = [str(argument.value) for argument in node.arguments]
        try:
            if node.function == "Timestamp":
                timestamp(*texts)
                return types.Scalar.TIMESTAMP
            cron_span(*texts)
        except TimeRefused as refused:
            _refuse(str(refused), node.arguments[refused.argument].at)
        return types.Scalar.BOOL
