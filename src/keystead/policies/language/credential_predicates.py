"""What a consensus says about `credentials`: the predicates that tell those that it counts from others.

A policy that asks for a passkey, or for anything but an API key, protects nothing if an API key may add a passkey
and approve with that. So each use of `credentials` in a consensus becomes a predicate over one credential, with the
values by which a further credential helps. Not here: what may be added (`added_credentials`), which users a
consensus counts (`consensus`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from keystead.policies.language import syntax
from keystead.policies.language.compiler import Compiler, free_slot, steps_of
from keystead.policies.language.evaluation_context import EvaluationContext, Run, ValueUnknown
from keystead.policies.language.three_valued import Perhaps

MORE, LESS, EITHER = 1, -1, 0
"""What happens to a consensus if a node in it is true more often: it is true more often, less often, or either."""

_ORDERS: Final = {">": MORE, ">=": MORE, "<": LESS, "<=": LESS}


Loops = tuple[tuple[Run, int], ...]
"""The lists around a predicate, from the outermost, each with the slot of its variable."""


class CredentialPredicate(NamedTuple):
    """One use of `credentials` in a consensus, inside `loops`.

    - `conditions`: all of them must be true for a credential, whose value is in the variable of `slot`; each with
      its steps and its place.
    - `direction`: what a credential for which the conditions are true does to the consensus. EITHER also stands for
      a use that looks at credentials in another way, such as credentials[0].
    """

    conditions: tuple[tuple[Run, int, syntax.Place], ...]
    slot: int
    loops: Loops
    direction: int
    at: syntax.Place

    def helpful(self, *, allows: bool) -> frozenset[bool]:
        """The values with which a further credential may let the policy allow, or stop it from denying."""
        if self.direction == EITHER:
            return frozenset({True, False})
        return frozenset({(self.direction == MORE) is allows})

    def matches(self, context: EvaluationContext, credential: Mapping[str, Any]) -> bool | None:
        """Whether the conditions are true for this credential in some round of the loops; None if that is unknown.

        Raises StepsExceeded.
        """
        values = list(self._values(context, credential, self.loops))
        return True if True in values else None if None in values else False

    def _values(
        self, context: EvaluationContext, credential: Mapping[str, Any], loops: Loops
    ) -> Iterator[bool | None]:
        if not loops:
            yield self._value(context, credential)
            return
        (items_of, slot), *inner = loops
        try:
            items = items_of(context)
        except ValueUnknown:
            yield None
            return
        for item in items:
            context.variables[slot] = item.item if isinstance(item, Perhaps) else item
            yield from self._values(context, credential, tuple(inner))

    def _value(self, context: EvaluationContext, credential: Mapping[str, Any]) -> bool | None:
        value: bool | None = True
        context.charge(1, self.at)
        for condition, steps, at in self.conditions:
            context.charge(steps, at)
            context.variables[self.slot] = credential
            try:
                if not condition(context):
                    return False
            except ValueUnknown:
                value = None
        return value


def credential_predicates(compiler: Compiler, tree: syntax.Node) -> tuple[CredentialPredicate, ...]:
    """The predicates of a consensus, in no particular order."""
    return tuple(_Finder(compiler).inside(tree, MORE, {}, ()))


class _Finder:
    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def inside(
        self, node: syntax.Node, direction: int, scope: Mapping[str, int], loops: Loops
    ) -> Iterator[CredentialPredicate]:
        """The predicates in a node of this direction."""
        if isinstance(node, syntax.Name):
            if node.name == "credentials" and node.name not in scope:
                yield CredentialPredicate((), free_slot(scope), loops, direction, node.at)
        elif isinstance(node, syntax.ListFunction):
            yield from self._list_function(node, direction, scope, loops)
        else:
            for part, inner in zip(syntax.parts(node), _directions(node, direction), strict=True):
                yield from self.inside(part, inner, scope, loops)

    def _list_function(
        self, node: syntax.ListFunction, direction: int, scope: Mapping[str, int], loops: Loops
    ) -> Iterator[CredentialPredicate]:
        functions, of = [node], node.of
        while isinstance(of, syntax.ListFunction) and of.function == "filter":
            functions.insert(0, of)
            of = of.of
        if isinstance(of, syntax.Name) and of.name == "credentials" and of.name not in scope:
            is_plain = node.function != "all" or len(functions) == 1
            yield self._predicate(functions, scope, loops, direction if is_plain else EITHER)
        else:
            # Of a filtered list, `all` is true less often if the list has more items.
            yield from self.inside(node.of, -direction if node.function == "all" else direction, scope, loops)
            functions, is_plain = [node], True
        slot = free_slot(scope)
        for function in functions:
            loop = (self._compiler.items(function.of, scope), slot)
            inner = {**scope, function.variable: slot}
            yield from self.inside(function.predicate, direction if is_plain else EITHER, inner, (*loops, loop))

    def _predicate(
        self, functions: Sequence[syntax.ListFunction], scope: Mapping[str, int], loops: Loops, direction: int
    ) -> CredentialPredicate:
        """credentials.filter(c, …).any(d, …) is about a credential for which every predicate is true."""
        slot = free_slot(scope)
        conditions = [
            (
                self._compiler.condition(function.predicate, {**scope, function.variable: slot}),
                steps_of(function.predicate),
                function.at,
            )
            for function in functions
        ]
        return CredentialPredicate(tuple(conditions), slot, loops, direction, functions[0].at)


def _directions(node: syntax.Node, direction: int) -> tuple[int, ...]:
    """The directions of the parts of a node."""
    if isinstance(node, syntax.Not):
        return (-direction,)
    if isinstance(node, syntax.Junction | syntax.Count):
        return (direction,) * len(syntax.parts(node))
    if isinstance(node, syntax.Comparison):
        order = _ORDERS.get(node.operator, EITHER) * direction
        if order != EITHER:
            return order, -order
        for side in (node.left, node.right):
            if node.operator in ("==", "!=") and isinstance(side, syntax.Literal) and isinstance(side.value, bool):
                same = direction if side.value is (node.operator == "==") else -direction
                return same, same
    return (EITHER,) * len(syntax.parts(node))
