"""From a checked expression to closures that evaluate it over the values of a request, at a bounded cost.

Here: one closure for each node, without side effects. Not here: what an unknown operand makes of a junction or a
list (`three_valued`), single values (`operators`, `values`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from keystead.policies.language import operators, syntax, three_valued
from keystead.policies.language.evaluation_context import EvaluationContext, Run, ValueUnknown
from keystead.policies.language.namespaces import CONTROLS
from keystead.policies.language.type_checker import NodeTypes
from keystead.policies.language.types import TEXTS, ComparisonKind, ListOf, Scalar, StructOf, Type, comparison
from keystead.policies.language.values import FORMS, OPERATORS, fits, is_list
from keystead.primitives.unreadable import Unreadable


def steps_of(node: syntax.Node) -> int:
    """The steps of evaluating a node without the predicates in it, which are charged for each item."""
    inner = (node.of,) if isinstance(node, syntax.ListFunction) else syntax.parts(node)
    return 1 + sum(map(steps_of, inner))


def free_slot(scope: Mapping[str, int]) -> int:
    """A slot that no variable in scope uses. It is not the number of variables, because one variable may hide
    another."""
    return max(scope.values(), default=-1) + 1


class Compiler:
    """Makes a closure of each node. A `scope` maps the variables in scope to their slots in the context.

    `keywords`, `controls`: the keywords and the velocity controls that the compiled nodes name, each with the place
    of its first use.
    """

    def __init__(self, node_types: NodeTypes) -> None:
        self._node_types = node_types
        self.keywords: dict[str, syntax.Place] = {}
        self.controls: dict[str, syntax.Place] = {}

    def expression(self) -> Run:
        """The whole tree. It also charges for its own steps."""
        tree = self._node_types.tree
        run, steps, at = self.condition(tree, {}), steps_of(tree), tree.at

        def whole(context: EvaluationContext) -> bool:
            context.charge(steps, at)
            return bool(run(context))

        return whole

    def value(self, node: syntax.Node) -> Run:
        """A node that names no variables of list functions."""
        return self._run(node, {})

    def condition(self, node: syntax.Node, scope: Mapping[str, int]) -> Run:
        run = self._run(node, scope)
        if self._node_types.of(node) is Scalar.BOOL:
            return run

        def dynamic(context: EvaluationContext) -> bool:
            value = run(context)
            if not isinstance(value, bool):
                operators.fail(f"{syntax.spelled(node)} is not a boolean", node.at)
            return value

        return dynamic

    def _run(self, node: syntax.Node, scope: Mapping[str, int]) -> Run:
        match node:
            case syntax.Literal(value=value):
                return lambda _: value
            case syntax.ListLiteral():
                return self._list_literal(node, scope)
            case syntax.Name():
                return self._name(node, scope)
            case syntax.Field():
                return self._field(node, scope)
            case syntax.Index():
                return self._index(node, scope)
            case syntax.Slice():
                return self._slice(node, scope)
            case syntax.ListFunction():
                return self._list_function(node, scope)
            case syntax.Contains(of=of, value=sought):
                return self._membership(node, sought, of, scope)
            case syntax.Count():
                return self._count(node, scope)
            case syntax.TimeFunction():
                return operators.time_function(node)
            case syntax.Not(of=of):
                negated = self.condition(of, scope)
                return lambda context: not negated(context)
            case syntax.Comparison(operator="in", left=left, right=right):
                return self._membership(node, left, right, scope)
            case syntax.Comparison():
                return self._comparison(node, scope)
            case syntax.Junction():
                return self._junction(node, scope)
            case unknown:
                assert_never(unknown)

    def _list_literal(self, node: syntax.ListLiteral, scope: Mapping[str, int]) -> Run:
        runs = tuple((item, self._run(item, scope)) for item in node.items)
        if all(isinstance(item, syntax.Literal) for item in node.items):
            values = [item.value for item in node.items if isinstance(item, syntax.Literal)]
            return lambda _: values

        def item_of(item: syntax.Node, run: Run, context: EvaluationContext) -> Any:
            try:
                return run(context)
            except ValueUnknown as failed:
                return Unreadable(failed.reason, failed.literal if failed.node is item else None)

        return lambda context: [item_of(item, run, context) for item, run in runs]

    def _name(self, node: syntax.Name, scope: Mapping[str, int]) -> Run:
        name, read = node.name, operators.reader(node, self._node_types.of(node))
        if name in scope:
            slot = scope[name]
            return lambda context: read(context.variables[slot])
        self._note_keyword((node,))
        return lambda context: read(context.values.get(name))

    def _field(self, node: syntax.Field, scope: Mapping[str, int]) -> Run:
        read = operators.reader(node, self._node_types.of(node))
        path = syntax.keyword_path(node, scope)
        if path:
            self._note_keyword(path)
            if path[0].name == CONTROLS:
                self.controls.setdefault(node.name, node.at)
            return operators.at_path(path, fits(self._node_types.of(node)), read)
        of = self._run(node.of, scope)

        return lambda context: read(operators.field_of(node, of(context)))

    def _note_keyword(self, path: tuple[syntax.Name | syntax.Field, ...]) -> None:
        """Add the keyword at which this path begins: its first step below the namespaces."""
        for length, step in enumerate(path, 1):
            kind = self._node_types.of(step)
            if not (isinstance(kind, StructOf) and kind.is_namespace):
                self.keywords.setdefault(".".join(step.name for step in path[:length]), step.at)
                return

    def _index(self, node: syntax.Index, scope: Mapping[str, int]) -> Run:
        of, index_of = self._run(node.of, scope), self._run(node.index, scope)
        read = operators.reader(node, self._node_types.of(node))

        def indexed(context: EvaluationContext) -> Any:
            holder, index = of(context), index_of(context)
            return read(
                (operators.at_name if isinstance(index, str) else operators.at_position)(node, holder, index)
            )

        return indexed

    def _slice(self, node: syntax.Slice, scope: Mapping[str, int]) -> Run:
        of, start_of, end_of = (self._run(part, scope) for part in syntax.parts(node))
        return lambda context: operators.slice_of(node, context, of(context), start_of(context), end_of(context))

    def items(self, of: syntax.Node, scope: Mapping[str, int]) -> Run:
        """The list that a list function is called on."""
        run = self._run(of, scope)
        if isinstance(self._node_types.of(of), ListOf):
            return run

        def dynamic(context: EvaluationContext) -> Any:
            value = run(context)
            if not is_list(value):
                operators.fail(f"{syntax.spelled(of)} is not a list", of.at)
            return value

        return dynamic

    def _count(self, node: syntax.Count, scope: Mapping[str, int]) -> Run:
        number_of = self._number(node, scope)

        def counted(context: EvaluationContext) -> int:
            number = number_of(context)
            if isinstance(number, three_valued.CountBetween):
                raise number.why
            return int(number)

        return counted if _is_filtered(node.of) else number_of

    def _number(self, node: syntax.Node, scope: Mapping[str, int]) -> Run:
        """As `_run`, but the count of a filtered list may be a CountBetween."""
        if not isinstance(node, syntax.Count):
            return self._run(node, scope)
        items_of = self.items(node.of, scope)
        number = three_valued.count if _is_filtered(node.of) else len
        return lambda context: number(items_of(context))

    def _list_function(self, node: syntax.ListFunction, scope: Mapping[str, int]) -> Run:
        items_of, slot, at = self.items(node.of, scope), free_slot(scope), node.at
        predicate = self.condition(node.predicate, {**scope, node.variable: slot})
        steps = steps_of(node.predicate)
        deciding = node.function == "any"

        def filter_of(context: EvaluationContext) -> list[Any]:
            items = items_of(context)
            context.charge(steps * len(items), at)
            return three_valued.filtered(context, slot, items, predicate)

        def quantified(context: EvaluationContext) -> bool:
            items = items_of(context)
            context.charge(steps * len(items), at)
            # The variable is set anew before each run of the predicate.
            return three_valued.junction(context, (predicate for context.variables[slot] in items), deciding)

        def quantified_perhaps(context: EvaluationContext) -> bool:
            items = items_of(context)
            context.charge(steps * len(items), at)
            return three_valued.junction(
                context, three_valued.each_item(context, slot, items, predicate, deciding), deciding
            )

        if node.function == "filter":
            return filter_of
        return quantified_perhaps if _is_filtered(node.of) else quantified

    def _junction(self, node: syntax.Junction, scope: Mapping[str, int]) -> Run:
        runs = tuple(self.condition(operand, scope) for operand in node.operands)
        deciding = node.operator == "||"
        return lambda context: three_valued.junction(context, runs, deciding)

    def _comparison(self, node: syntax.Comparison, scope: Mapping[str, int]) -> Run:
        left, right, operator = node.left, node.right, OPERATORS[node.operator]
        how = _comparison(self._node_types.of(left), self._node_types.of(right))
        if how is ComparisonKind.EXACT and any(
            isinstance(side, syntax.Count) and _is_filtered(side.of) for side in (left, right)
        ):
            low_of, high_of = self._number(left, scope), self._number(right, scope)
            return lambda context: three_valued.compare_counts(operator, low_of(context), high_of(context))
        compared = self._compared(node, how, scope)
        if node.operator in ("==", "!="):
            for read, literal in ((left, right), (right, left)):
                if isinstance(literal, syntax.Literal):
                    return _or_literal(compared, read, (literal.value,), if_equal=node.operator == "==")
        return compared

    def _compared(self, node: syntax.Comparison, how: ComparisonKind, scope: Mapping[str, int]) -> Run:
        left_of, right_of = self._run(node.left, scope), self._run(node.right, scope)
        has_literal = isinstance(node.right, syntax.Literal)
        if how is ComparisonKind.EXACT and (has_literal or self._node_types.of(node.left) not in TEXTS):
            # The cost does not grow with the request: a literal bounds the text that can equal it.
            operator = OPERATORS[node.operator]
            return lambda context: operator(left_of(context), right_of(context))
        if how in FORMS and isinstance(node.right, syntax.Literal):
            matches = operators.literal_comparer(how, node.operator, node.right.value, node.at)
            return lambda context: matches(context, left_of(context))
        compare = operators.comparer(how, node.operator, node.at, node.left, node.right)
        return lambda context: compare(context, left_of(context), right_of(context))

    def _membership(
        self, node: syntax.Node, sought: syntax.Node, among: syntax.Node, scope: Mapping[str, int]
    ) -> Run:
        at, list_type = node.at, self._node_types.of(among)
        item_type = list_type.item if isinstance(list_type, ListOf) else Scalar.DYNAMIC
        how = _comparison(self._node_types.of(sought), item_type)
        sought_of, items_of = self._run(sought, scope), self.items(among, scope)
        items = among.items if isinstance(among, syntax.ListLiteral) else ()
        literals = [item.value for item in items if isinstance(item, syntax.Literal)]
        if how in FORMS and literals and len(literals) == len(items):
            contained = _among_literals(sought_of, literals, FORMS[how], at)
        else:
            contains = self._contains(how, (sought, among), at, scope)
            if how is ComparisonKind.EXACT and item_type in TEXTS:
                contained = _text_search(sought_of, items_of, contains, at)
            else:
                contained = _search(sought_of, items_of, contains)
        return _or_literal(contained, sought, literals) if literals else contained

    def _contains(
        self,
        how: ComparisonKind,
        operands: tuple[syntax.Node, syntax.Node],
        at: syntax.Place,
        scope: Mapping[str, int],
    ) -> _HasItem:
        """Whether a list has an item that equals the value: it is compared with one after the other."""
        sought, among = operands
        list_type = self._node_types.of(among)
        item_type = list_type.item if isinstance(list_type, ListOf) else Scalar.DYNAMIC
        item_node = syntax.Index(among.at, among, among)  # stands for each item
        equal, read = operators.comparer(how, "==", at, sought, item_node), operators.reader(item_node, item_type)
        item_slot = free_slot(scope)
        sought_slot = item_slot + 1

        def equals(context: EvaluationContext) -> bool:
            return equal(context, context.variables[sought_slot], read(context.variables[item_slot]))

        equals_item: Run = equals
        if isinstance(sought, syntax.Literal):
            equals_item = _or_literal(equals, item_node, [sought.value])

        def contains(context: EvaluationContext, value: Any, items: Sequence[Any]) -> bool:
            context.charge(len(items), at)
            context.variables[sought_slot] = value
            operands = three_valued.each_item(context, item_slot, items, equals_item, deciding=True)
            return three_valued.junction(context, operands, deciding=True)

        return contains


_HasItem = Callable[[EvaluationContext, Any, Sequence[Any]], bool]


def _search(sought_of: Run, items_of: Run, contains: _HasItem) -> Run:
    """A search in a list. An empty list contains nothing, whatever is sought."""

    def contained(context: EvaluationContext) -> bool:
        items = items_of(context)
        return bool(items) and contains(context, sought_of(context), items)

    return contained


def _text_search(sought_of: Run, items_of: Run, contains: _HasItem, at: syntax.Place) -> Run:
    """A search in a list of texts, by Python's own `in`, which is fast: consensus expressions search for every
    user. `contains` is for lists with other items."""

    def contained(context: EvaluationContext) -> bool:
        items = items_of(context)
        if not items:
            return False
        value = sought_of(context)
        context.charge(len(items) * (1 + (len(value) >> 6)), at)
        if value in items:
            return True
        return not all(map(_is_text, items)) and contains(context, value, items)

    return contained


def _is_text(item: Any) -> bool:
    return isinstance(item, str)


def _comparison(left: Type, right: Type) -> ComparisonKind:
    """How two operands are compared. The types were checked."""
    how = comparison(left, right)
    assert how is not None
    return how


def _is_filtered(node: syntax.Node) -> bool:
    """Whether a list may have items as Perhaps."""
    return isinstance(node, syntax.ListFunction) and node.function == "filter"


def _or_literal(compared: Run, read: syntax.Node, literals: Sequence[Any], *, if_equal: bool = True) -> Run:
    """A comparison with literals, in which an unreadable value equals the literal that it has."""

    def compared_or_literal(context: EvaluationContext) -> bool:
        try:
            return bool(compared(context))
        except ValueUnknown as failed:
            return operators.equals_literal(failed, read, literals) is if_equal

    return compared_or_literal


def _among_literals(sought_of: Run, literals: Sequence[Any], form: Callable[[Any], Any], at: syntax.Place) -> Run:
    forms = frozenset(map(form, literals))

    def among_literals(context: EvaluationContext) -> bool:
        value = sought_of(context)
        context.charge(operators.text_steps(value), at)
        return form(value) in forms

    return among_literals
