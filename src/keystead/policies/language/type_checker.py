"""The static check: an expression names existing fields, its types fit, and it is a boolean.

Here: the type of every node. Not here: syntax (`grammar`), and what depends on the request: whether a keyword is
present, a map has the key, a list is long enough, a dynamic value has the type that it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, assert_never

from keystead.api.spelling import did_you_mean
from keystead.policies.language.hints import quotes_hint
from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.source_text import text_of
from keystead.policies.language.syntax import (
    Comparison,
    Contains,
    Count,
    ExpressionRefused,
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
    UnknownFunction,
    spelled,
)
from keystead.policies.language.time import TimeRefused, cron_span, timestamp
from keystead.policies.language.types import (
    TEXTS,
    ComparisonKind,
    ListOf,
    MapOf,
    Scalar,
    StructOf,
    Type,
    common_type,
    comparison,
    ordering,
    type_name,
)
from keystead.policies.language.values import quotes_number

_CONDITIONS = (Scalar.BOOL, Scalar.DYNAMIC)
_POSITIONS = (Scalar.INT, Scalar.NUMERAL, Scalar.DYNAMIC)
_KEYS = (*TEXTS, Scalar.DYNAMIC)


class NodeTypes:
    """The type of each node of one tree. A node is known by identity: equal nodes may have different types."""

    def __init__(self, tree: Node) -> None:
        self.tree = tree
        self._by_node: dict[int, Type] = {}

    def set(self, node: Node, kind: Type) -> Type:
        self._by_node[id(node)] = kind
        return kind

    def of(self, node: Node) -> Type:
        return self._by_node[id(node)]


def check_types(tree: Node, clause: Clause) -> NodeTypes:
    """The types in a tree. Raises ExpressionRefused unless the tree is a valid boolean expression of this
    clause."""
    node_types = NodeTypes(tree)
    checker = _Checker(clause, node_types)
    checker.condition(tree, {}, "the whole expression")
    return node_types


def unknown_function_error(unknown: UnknownFunction, clause: Clause) -> ExpressionRefused:
    """The refusal of a function that does not exist, by the type of the value that it is called on."""
    checker = _Checker(clause, NodeTypes(unknown.of))
    variables: dict[str, Type] = {}
    try:
        for name, among in unknown.scope:
            variables[name] = checker.items(among, variables, unknown.name)
        kind = checker.type(unknown.of, variables)
    except ExpressionRefused as refused:
        return refused
    if isinstance(kind, ListOf) or kind is Scalar.DYNAMIC:
        return unknown
    of = text_of(unknown.of)
    part = f"; a part of it is written `{of}[0..4]`" if kind in TEXTS else ""
    return ExpressionRefused(
        f"function does not exist: {unknown.name}: only lists have functions, and {of} is {type_name(kind)}{part}",
        unknown.place,
    )


def _refuse(reason: str, at: Place) -> NoReturn:
    raise ExpressionRefused(f"Expression cannot be evaluated: {reason}", at)


def _compare(how: ComparisonKind | None, left: Node, right: Node) -> bool:
    """Whether two operands compare in this way. A number compares with a quoted number, but with no other text."""
    if how is ComparisonKind.NUMERAL:
        return _quotes_numbers(left) or _quotes_numbers(right)
    return how is not None


def _quotes_numbers(node: Node) -> bool:
    """Whether a node is a literal that quotes a number, or a list of such literals."""
    items = node.items if isinstance(node, ListLiteral) else (node,)
    return all(isinstance(item, Literal) and quotes_number(item.value) for item in items)


class _Checker:
    def __init__(self, clause: Clause, node_types: NodeTypes) -> None:
        self._clause = clause
        self._node_types = node_types

    def condition(self, node: Node, variables: Mapping[str, Type], what: str) -> None:
        kind = self.type(node, variables)
        if kind not in _CONDITIONS:
            _refuse(f"expected a boolean as {what}, found {type_name(kind)}", node.at)

    def type(self, node: Node, variables: Mapping[str, Type]) -> Type:
        return self._node_types.set(node, self._infer(node, variables))

    def _infer(self, node: Node, variables: Mapping[str, Type]) -> Type:
        match node:
            case Literal(value=value):
                if isinstance(value, bool):
                    return Scalar.BOOL
                return Scalar.INT if isinstance(value, int) else Scalar.STRING
            case ListLiteral():
                return self._list(node, variables)
            case Name():
                return self._name(node, variables)
            case Field():
                return self._field(node, variables)
            case Index():
                return self._index(node, variables)
            case Slice():
                return self._slice(node, variables)
            case ListFunction():
                return self._list_function(node, variables)
            case Contains(of=of, value=value):
                self._membership(value, of, self.items(of, variables, "contains"), variables, node.at)
                return Scalar.BOOL
            case Count(of=of):
                self.items(of, variables, "count")
                return Scalar.INT
            case TimeFunction():
                return self._time_function(node)
            case Not(of=of):
                self.condition(of, variables, "the operand of `!`")
                return Scalar.BOOL
            case Comparison():
                return self._comparison(node, variables)
            case Junction(operator=operator, operands=operands):
                for operand in operands:
                    self.condition(operand, variables, f"an operand of `{operator}`")
                return Scalar.BOOL
            case unknown:
                assert_never(unknown)

    def _list(self, node: ListLiteral, variables: Mapping[str, Type]) -> Type:
        common = Scalar.NOTHING
        for item in node.items:
            kind = self.type(item, variables)
            if not isinstance(kind, Scalar):
                _refuse(f"a list literal holds numbers, strings or booleans, not {type_name(kind)}", item.at)
            both = common_type(common, kind)
            if both is None:
                _refuse(
                    f"the items of a list are of one type, not {type_name(common)} and {type_name(kind)}", item.at
                )
            common = both
        return ListOf(common)

    def _name(self, node: Name, variables: Mapping[str, Type]) -> Type:
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

    def _field(self, node: Field, variables: Mapping[str, Type]) -> Type:
        of = self.type(node.of, variables)
        if of is Scalar.DYNAMIC:
            return Scalar.DYNAMIC
        if isinstance(of, StructOf) and node.name in of.fields:
            return of.fields[node.name]
        if isinstance(of, MapOf):
            _refuse(f"{spelled(node.of)} is a map: its values are written ['{node.name}']", node.at)
        fields = of.fields if isinstance(of, StructOf) else ()
        _refuse(f"field does not exist: {spelled(node)}{did_you_mean(node.name, fields)}", node.at)

    def _index(self, node: Index, variables: Mapping[str, Type]) -> Type:
        of = self.type(node.of, variables)
        index = self.type(node.index, variables)
        allowed: tuple[Type, ...] = _POSITIONS
        if isinstance(of, MapOf):
            allowed = _KEYS
        elif of is Scalar.DYNAMIC:
            allowed = (*_POSITIONS, *_KEYS)
        elif not isinstance(of, ListOf) and of not in TEXTS:
            _refuse(f"{type_name(of)} has no `[…]`", node.at)
        if index not in allowed:
            expected = "a string" if isinstance(of, MapOf) else "an integer"
            _refuse(f"expected {expected} between `[` and `]`, found {type_name(index)}", node.index.at)
        match of:
            case ListOf(item=item):
                return item
            case MapOf(value=value):
                return value
            case Scalar() | StructOf():
                return of
            case _:
                assert_never(of)

    def _slice(self, node: Slice, variables: Mapping[str, Type]) -> Type:
        of = self.type(node.of, variables)
        if not isinstance(of, ListOf) and of not in TEXTS and of is not Scalar.DYNAMIC:
            _refuse(f"{type_name(of)} has no `[…..…]`", node.at)
        for bound in (node.start, node.end):
            kind = self.type(bound, variables)
            if kind not in _POSITIONS:
                _refuse(f"expected an integer on either side of `..`, found {type_name(kind)}", bound.at)
        return of

    def items(self, of: Node, variables: Mapping[str, Type], function: str) -> Type:
        """The type of the items of the list that a list function is called on."""
        kind = self.type(of, variables)
        if isinstance(kind, ListOf):
            return kind.item
        if kind is Scalar.DYNAMIC:
            return Scalar.DYNAMIC
        _refuse(f"{function} is a function of lists, and {spelled(of)} is {type_name(kind)}", of.at)

    def _list_function(self, node: ListFunction, variables: Mapping[str, Type]) -> Type:
        item = self.items(node.of, variables, node.function)
        # A variable hides a keyword of the same name, so that wallets.any(wallet, …) is allowed.
        inner = {**variables, node.variable: item}
        self.condition(node.predicate, inner, f"the predicate of `{node.function}`")
        return self._node_types.of(node.of) if node.function == "filter" else Scalar.BOOL

    def _membership(self, value: Node, among: Node, item: Type, variables: Mapping[str, Type], at: Place) -> None:
        kind = self.type(value, variables)
        if not _compare(comparison(kind, item), value, among):
            _refuse(f"{type_name(kind)} cannot be in a list whose items are each {type_name(item)}", at)

    def _comparison(self, node: Comparison, variables: Mapping[str, Type]) -> Type:
        if node.operator == "in":
            items = self.items(node.right, variables, "in")
            self._membership(node.left, node.right, items, variables, node.at)
            return Scalar.BOOL
        left, right = self.type(node.left, variables), self.type(node.right, variables)
        how = (comparison if node.operator in ("==", "!=") else ordering)(left, right)
        if not _compare(how, node.left, node.right):
            _refuse(f"`{node.operator}` cannot compare {type_name(left)} with {type_name(right)}", node.at)
        return Scalar.BOOL

    def _time_function(self, node: TimeFunction) -> Type:
        if self._clause is not Clause.TIME:
            _refuse(f"{node.function} can be called in time expressions only", node.at)
        texts = [str(argument.value) for argument in node.arguments]
        try:
            if node.function == "Timestamp":
                timestamp(*texts)
                return Scalar.TIMESTAMP
            cron_span(*texts)
        except TimeRefused as refused:
            _refuse(str(refused), node.arguments[refused.argument].at)
        return Scalar.BOOL
