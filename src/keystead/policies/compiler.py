"""From a checked expression to closures that evaluate it over the values of a request, at a bounded cost.

Here: one closure for each node, without side effects. Every operand of && and || is evaluated, and every item of a
list. Not here: the effect of an operand that fails (`evaluation_context`), single values (`values`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from keystead.policies.evaluation_context import EvaluationContext, Run
from keystead.policies.operators import (
    at_name,
    at_path,
    at_position,
    comparer,
    fail_unreadable,
    field_of,
    literal_comparer,
    reader,
    slice_of,
    text_steps,
    time_function,
)
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
    keyword_path,
    parts,
    spelled,
)
from keystead.policies.type_checker import NodeTypes
from keystead.policies.types import TEXTS, ComparisonKind, ListOf, Scalar, Type, comparison
from keystead.policies.values import FORMS, OPERATORS, fits, is_list


def steps_of(node: Node) -> int:
    """The steps of evaluating a node without the predicates in it, which are charged for each item."""
    inner = (node.of,) if isinstance(node, ListFunction) else parts(node)
    return 1 + sum(map(steps_of, inner))


def free_slot(scope: Mapping[str, int]) -> int:
    """A slot that no variable in scope uses. It is not the number of variables, because one variable may hide
    another."""
    return max(scope.values(), default=-1) + 1


class Compiler:
    """Makes a closure of each node. A `scope` maps the variables in scope to their slots in the context.

    `all_versions`: a literal that `activity.type` is compared with stands for every version of its kind if that
    makes the expression true for more activities, else for itself.
    """

    def __init__(self, node_types: NodeTypes, *, all_versions: bool = False) -> None:
        self._node_types = node_types
        self._all_versions = all_versions
        self._negated = _negated_nodes(node_types.tree) if all_versions else frozenset[int]()

    def expression(self) -> Run:
        """The whole tree. It also charges for its own steps."""
        tree = self._node_types.tree
        run, steps, at = self.condition(tree, {}), steps_of(tree), tree.at

        def whole(context: EvaluationContext) -> bool:
            context.charge(steps, at)
            return bool(run(context))

        return whole

    def value(self, node: Node) -> Run:
        """A node that names no variables of list functions."""
        return self._run(node, {})

    def condition(self, node: Node, scope: Mapping[str, int]) -> Run:
        run = self._run(node, scope)
        if self._node_types.of(node) is Scalar.BOOL:
            return run

        def dynamic(context: EvaluationContext) -> bool:
            value = run(context)
            if not isinstance(value, bool):
                fail_unreadable(f"{spelled(node)} is not a boolean", node.at)
            return value

        return dynamic

    def _run(self, node: Node, scope: Mapping[str, int]) -> Run:
        match node:
            case Literal(value=value):
                return lambda _: value
            case ListLiteral(items=items):
                runs = tuple(self._run(item, scope) for item in items)
                return lambda context: [run(context) for run in runs]
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
            case Contains(of=of, value=sought):
                return self._membership(node, sought, of, scope)
            case Count(of=of):
                items_of = self.items(of, scope)
                return lambda context: len(items_of(context))
            case TimeFunction():
                return time_function(node)
            case Not(of=of):
                negated = self.condition(of, scope)
                return lambda context: not negated(context)
            case Comparison(operator="in", left=left, right=right):
                return self._membership(node, left, right, scope)
            case Comparison():
                return self._comparison(node, scope)
            case Junction():
                return self._junction(node, scope)
            case unknown:
                assert_never(unknown)

    def _name(self, node: Name, scope: Mapping[str, int]) -> Run:
        name, read = node.name, reader(node, self._node_types.of(node))
        if name in scope:
            slot = scope[name]
            return lambda context: read(context.variables[slot])
        return lambda context: read(context.values.get(name))

    def _field(self, node: Field, scope: Mapping[str, int]) -> Run:
        read = reader(node, self._node_types.of(node))
        path = keyword_path(node, scope)
        if path:
            return at_path(path, fits(self._node_types.of(node)), read)
        of = self._run(node.of, scope)

        return lambda context: read(field_of(node, of(context)))

    def _index(self, node: Index, scope: Mapping[str, int]) -> Run:
        of, index_of = self._run(node.of, scope), self._run(node.index, scope)
        read = reader(node, self._node_types.of(node))

        def indexed(context: EvaluationContext) -> Any:
            holder, index = of(context), index_of(context)
            return read((at_name if isinstance(index, str) else at_position)(node, holder, index))

        return indexed

    def _slice(self, node: Slice, scope: Mapping[str, int]) -> Run:
        of, start_of, end_of = (self._run(part, scope) for part in parts(node))
        return lambda context: slice_of(node, context, of(context), start_of(context), end_of(context))

    def items(self, of: Node, scope: Mapping[str, int]) -> Run:
        """The list that a list function is called on."""
        run = self._run(of, scope)
        if isinstance(self._node_types.of(of), ListOf):
            return run

        def dynamic(context: EvaluationContext) -> Any:
            value = run(context)
            if not is_list(value):
                fail_unreadable(f"{spelled(of)} is not a list", of.at)
            return value

        return dynamic

    def _list_function(self, node: ListFunction, scope: Mapping[str, int]) -> Run:
        items_of, slot, at = self.items(node.of, scope), free_slot(scope), node.at
        predicate = self.condition(node.predicate, {**scope, node.variable: slot})
        steps = steps_of(node.predicate)
        deciding = node.function == "any"

        def filtered(context: EvaluationContext) -> Any:
            items = items_of(context)
            context.charge(steps * len(items), at)
            return [item for context.variables[slot], item in zip(items, items, strict=True) if predicate(context)]

        def quantified(context: EvaluationContext) -> bool:
            items = items_of(context)
            context.charge(steps * len(items), at)
            # The variable is set anew before each run of the predicate.
            return context.junction(context, (predicate for context.variables[slot] in items), deciding)

        return filtered if node.function == "filter" else quantified

    def _junction(self, node: Junction, scope: Mapping[str, int]) -> Run:
        runs = tuple(self.condition(operand, scope) for operand in node.operands)
        deciding = node.operator == "||"
        return lambda context: context.junction(context, runs, deciding)

    def _comparison(self, node: Comparison, scope: Mapping[str, int]) -> Run:
        left_type = self._node_types.of(node.left)
        how = self._how(node, left_type, self._node_types.of(node.right), widens=node.operator == "==")
        left_of, right_of = self._run(node.left, scope), self._run(node.right, scope)
        if how is ComparisonKind.EXACT and (left_type not in TEXTS or isinstance(node.right, Literal)):
            # The cost does not grow with the request: a literal bounds the text that can equal it.
            operator = OPERATORS[node.operator]
            return lambda context: operator(left_of(context), right_of(context))
        if how is not ComparisonKind.DYNAMIC and isinstance(node.right, Literal):
            matches = literal_comparer(how, node.operator, node.right.value, node.at)
            return lambda context: matches(context, left_of(context))
        compare = comparer(how, node.operator, node.at)
        return lambda context: compare(context, left_of(context), right_of(context))

    def _how(self, node: Node, left: Type, right: Type, *, widens: bool) -> ComparisonKind:
        """How two operands are compared. `widens`: whether this node is true more often if more pairs are equal."""
        how = comparison(left, right)
        assert how is not None
        if how is ComparisonKind.ACTIVITY_TYPE and not (
            self._all_versions and widens is (id(node) not in self._negated)
        ):
            return ComparisonKind.EXACT
        return how

    def _membership(self, node: Node, sought: Node, among: Node, scope: Mapping[str, int]) -> Run:
        at, list_type = node.at, self._node_types.of(among)
        item_type = list_type.item if isinstance(list_type, ListOf) else Scalar.DYNAMIC
        how = self._how(node, self._node_types.of(sought), item_type, widens=True)
        sought_of, items_of = self._run(sought, scope), self.items(among, scope)
        if how is not ComparisonKind.DYNAMIC and isinstance(among, ListLiteral):
            literals = [item.value for item in among.items if isinstance(item, Literal)]
            if len(literals) == len(among.items):
                return _among_literals(sought_of, frozenset(map(FORMS[how], literals)), FORMS[how], at)
        if how is ComparisonKind.EXACT and item_type in TEXTS:
            return _among_texts(sought_of, items_of, at)
        equal, read = comparer(how, "==", at), reader(among, item_type)

        def contained(context: EvaluationContext) -> bool:
            value, items = sought_of(context), items_of(context)
            context.charge(len(items), at)
            is_contained = False
            for item in items:  # to the end, so that every item is read and compared
                if equal(context, value, read(item)):
                    is_contained = True
            return is_contained

        return contained


def _negated_nodes(tree: Node) -> frozenset[int]:
    """The ids of the nodes under an odd number of negations. If such a node is true more often, the whole
    expression is true less often."""
    negated_ids: set[int] = set()
    waiting = [(tree, False)]
    while waiting:
        node, negated = waiting.pop()
        if negated:
            negated_ids.add(id(node))
        inner = negated is not _negates(node)
        waiting.extend((part, inner) for part in parts(node))
    return frozenset(negated_ids)


def _negates(node: Node) -> bool:
    """Whether a node is `!a`, `a == false` or `a != true`."""
    if isinstance(node, Not):
        return True
    if isinstance(node, Comparison) and node.operator in ("==", "!="):
        for operand in (node.left, node.right):
            if isinstance(operand, Literal) and isinstance(operand.value, bool):
                return operand.value is (node.operator == "!=")
    return False


def _among_literals(sought_of: Run, literals: frozenset[Any], form: Run, at: Place) -> Run:
    def among_literals(context: EvaluationContext) -> bool:
        value = sought_of(context)
        context.charge(text_steps(value), at)
        return form(value) in literals

    return among_literals


def _among_texts(sought_of: Run, items_of: Run, at: Place) -> Run:
    """A search in a list of texts, by Python's own `in`, which is fast: consensus expressions search for every
    user."""

    def among_texts(context: EvaluationContext) -> bool:
        value, items = sought_of(context), items_of(context)
        context.charge(len(items) * (1 + (len(value) >> 6)), at)
        return value in items

    return among_texts
