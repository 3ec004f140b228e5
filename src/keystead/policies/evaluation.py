"""Evaluating a checked expression over the values of one request, at a cost known to be bounded.

Here: an expression compiled once to closures. It has no side effects. Both operands of && and || are always
evaluated, and every item of a list; one part that fails, fails the whole.
Not here: single values (`values`), what a policy makes of the outcome (`judgement`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keystead.policies.checking import Typing
from keystead.policies.frame import Frame
from keystead.policies.operators import (
    Run,
    at_name,
    at_path,
    at_position,
    compared,
    compared_with,
    fail,
    reader,
    settled,
    sliced,
    text_steps,
    time_function,
    weighed,
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
    parts,
    spelled,
)
from keystead.policies.types import TEXTS, ListOf, Scalar, comparison
from keystead.policies.types import Comparison as How
from keystead.policies.values import FORMS, OPERATORS, fits, is_list


def compiled(typing: Typing, *, weighing: bool = False) -> Callable[[Frame], bool]:
    """The expression as a function of a frame, which raises EvaluationFailed where it has no value.

    With `weighing`, a part that fails is outweighed by one that settles the matter whatever the failed one had
    been: false among the operands of &&, true among those of ||. Only the setting that fails closed asks so.
    """
    run = Compiler(typing, weighing).condition(typing.tree, {})
    steps, at = steps_of(typing.tree), typing.tree.at

    def whole(frame: Frame) -> bool:
        frame.charge(steps, at)
        return bool(run(frame))

    return whole


def steps_of(node: Node) -> int:
    """What evaluating a node costs, without the predicates in it: those are charged by the item."""
    inner = (node.of,) if isinstance(node, ListFunction) else parts(node)
    return 1 + sum(map(steps_of, inner))


def free_slot(scope: Mapping[str, int]) -> int:
    """A slot that no variable in sight has. Not their number: one may hide another of its name."""
    return max(scope.values(), default=-1) + 1


class Compiler:
    """Makes a closure of each node. A `scope` maps the variables in sight to their slots in the frame."""

    def __init__(self, typing: Typing, weighing: bool) -> None:
        self._typing = typing
        self._settle = weighed if weighing else settled

    def condition(self, node: Node, scope: Mapping[str, int]) -> Run:
        run = self._run(node, scope)
        if self._typing.of(node) is Scalar.BOOL:
            return run

        def dynamic(frame: Frame) -> bool:
            value = run(frame)
            if not isinstance(value, bool):
                fail(f"{spelled(node)} is not a boolean", node.at)
            return value

        return dynamic

    def _run(self, node: Node, scope: Mapping[str, int]) -> Run:
        match node:
            case Literal(value=value):
                return lambda _: value
            case ListLiteral(items=items):
                runs = tuple(self._run(item, scope) for item in items)
                return lambda frame: [run(frame) for run in runs]
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
                return self._membership(node.at, sought, of, scope)
            case Count(of=of):
                items_of = self.items(of, scope)
                return lambda frame: len(items_of(frame))
            case TimeFunction():
                return time_function(node)
            case Not(of=of):
                negated = self.condition(of, scope)
                return lambda frame: not negated(frame)
            case Comparison(operator="in", left=left, right=right):
                return self._membership(node.at, left, right, scope)
            case Comparison():
                return self._comparison(node, scope)
            case Junction():
                return self._junction(node, scope)

    def _name(self, node: Name, scope: Mapping[str, int]) -> Run:
        name, read = node.name, reader(node, self._typing.of(node))
        if name in scope:
            slot = scope[name]
            return lambda frame: read(frame.variables[slot])
        return lambda frame: read(frame.namespaces.get(name))

    def _field(self, node: Field, scope: Mapping[str, int]) -> Run:
        read = reader(node, self._typing.of(node))
        path = _path(node, scope)
        if path:
            return at_path(path, fits(self._typing.of(node)), read)
        of, name = self._run(node.of, scope), node.name

        def field(frame: Frame) -> Any:
            holder = of(frame)
            try:
                value = holder[name]
            except (KeyError, TypeError, IndexError):
                value = None
            return read(value)

        return field

    def _index(self, node: Index, scope: Mapping[str, int]) -> Run:
        of, index_of = self._run(node.of, scope), self._run(node.index, scope)
        read = reader(node, self._typing.of(node))

        def indexed(frame: Frame) -> Any:
            holder, index = of(frame), index_of(frame)
            return read((at_name if isinstance(index, str) else at_position)(node, holder, index))

        return indexed

    def _slice(self, node: Slice, scope: Mapping[str, int]) -> Run:
        of, start_of, end_of = (self._run(part, scope) for part in parts(node))
        return lambda frame: sliced(node, frame, of(frame), start_of(frame), end_of(frame))

    def items(self, of: Node, scope: Mapping[str, int]) -> Run:
        """The list that a list function is called on."""
        run = self._run(of, scope)
        if isinstance(self._typing.of(of), ListOf):
            return run

        def dynamic(frame: Frame) -> Any:
            value = run(frame)
            if not is_list(value):
                fail(f"{spelled(of)} is not a list", of.at)
            return value

        return dynamic

    def _list_function(self, node: ListFunction, scope: Mapping[str, int]) -> Run:
        items_of, slot, at = self.items(node.of, scope), free_slot(scope), node.at
        predicate = self.condition(node.predicate, {**scope, node.variable: slot})
        steps = steps_of(node.predicate)
        settle, deciding = self._settle, node.function == "any"

        def filtered(frame: Frame) -> Any:
            items = items_of(frame)
            frame.charge(steps * len(items), at)
            return [item for frame.variables[slot], item in zip(items, items, strict=True) if predicate(frame)]

        def quantified(frame: Frame) -> bool:
            items = items_of(frame)
            frame.charge(steps * len(items), at)
            # The variable is set anew before each run of the predicate.
            return settle(frame, (predicate for frame.variables[slot] in items), deciding)

        return filtered if node.function == "filter" else quantified

    def _junction(self, node: Junction, scope: Mapping[str, int]) -> Run:
        runs = tuple(self.condition(operand, scope) for operand in node.operands)
        settle, deciding = self._settle, node.operator == "||"
        return lambda frame: settle(frame, runs, deciding)

    def _comparison(self, node: Comparison, scope: Mapping[str, int]) -> Run:
        left_type = self._typing.of(node.left)
        how = comparison(left_type, self._typing.of(node.right))
        assert how is not None
        left_of, right_of = self._run(node.left, scope), self._run(node.right, scope)
        if how is How.EXACT and (left_type not in TEXTS or isinstance(node.right, Literal)):
            # Nothing here grows with the request: a literal bounds the text that equals it.
            operator = OPERATORS[node.operator]
            return lambda frame: operator(left_of(frame), right_of(frame))
        if how is not How.DYNAMIC and isinstance(node.right, Literal):
            matches = compared_with(how, node.operator, node.right.value, node.at)
            return lambda frame: matches(frame, left_of(frame))
        compare = compared(how, node.operator, node.at)
        return lambda frame: compare(frame, left_of(frame), right_of(frame))

    def _membership(self, at: Place, sought: Node, among: Node, scope: Mapping[str, int]) -> Run:
        list_type = self._typing.of(among)
        item_type = list_type.item if isinstance(list_type, ListOf) else Scalar.DYNAMIC
        how = comparison(self._typing.of(sought), item_type)
        assert how is not None
        sought_of, items_of = self._run(sought, scope), self.items(among, scope)
        if how is not How.DYNAMIC and isinstance(among, ListLiteral):
            literals = [item.value for item in among.items if isinstance(item, Literal)]
            if len(literals) == len(among.items):
                return _among_literals(sought_of, frozenset(map(FORMS[how], literals)), FORMS[how], at)
        if how is How.EXACT and item_type in TEXTS:
            return _among_texts(sought_of, items_of, at)
        equal, read = compared(how, "==", at), reader(among, item_type)

        def contained(frame: Frame) -> bool:
            value, items = sought_of(frame), items_of(frame)
            frame.charge(len(items), at)
            found = False
            for item in items:
                if equal(frame, value, read(item)):
                    found = True
            return found

        return contained


def _path(node: Node, scope: Mapping[str, int]) -> tuple[Name | Field, ...]:
    """A keyword and the fields that lead from it, such as eth.tx.to; empty if the node is something else."""
    match node:
        case Name(name=name) if name not in scope:
            return (node,)
        case Field(of=of):
            path = _path(of, scope)
            return (*path, node) if path else ()
        case _:
            return ()


def _among_literals(sought_of: Run, literals: frozenset[Any], form: Run, at: Place) -> Run:
    def among_literals(frame: Frame) -> bool:
        value = sought_of(frame)
        frame.charge(text_steps(value), at)
        return form(value) in literals

    return among_literals


def _among_texts(sought_of: Run, items_of: Run, at: Place) -> Run:
    """Consensus expressions ask this of every user, so Python's own search does it."""

    def among_texts(frame: Frame) -> bool:
        value, items = sought_of(frame), items_of(frame)
        frame.charge(len(items) * (1 + (len(value) >> 6)), at)
        return value in items

    return among_texts
