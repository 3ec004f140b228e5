"""Whether more approvals could meet a consensus, and which users it counts.

Both answers are approximations, because it is too costly to try every set of users. A consensus can be met if it
is true once all users have approved. It counts a user who matches the predicate of a list function on `approvers`
in it, or who owns a credential that matches one on `credentials`. If either list is used as a whole, as in
approvers.count() >= 2, it counts all users. Not here: the use of the answers (`evaluator`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from keystead.policies.language.compiler import Compiler, free_slot, steps_of
from keystead.policies.language.evaluation_context import EvaluationContext
from keystead.policies.language.syntax import ListFunction, Name, Node, Slice, parts
from keystead.policies.language.three_valued import Perhaps

UserValue = Mapping[str, Any]
CredentialValue = Mapping[str, Any]

Counter = Callable[[EvaluationContext, UserValue, Sequence[CredentialValue]], bool]
"""Whether one part of a consensus counts this user, who owns these credentials. In the context all users are
approvers. Raises ValueUnknown, StepsExceeded."""


def counters_of(compiler: Compiler, tree: Node) -> tuple[Counter, ...]:
    """The parts of a consensus that count users."""
    return tuple(_CounterFinder(compiler).counters(tree, {}))


class _CounterFinder:
    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def counters(self, node: Node, scope: Mapping[str, int]) -> Iterator[Counter]:
        chain = _chain(node, scope)
        if chain is not None:
            yield self._chain_counter(*chain, scope)
        elif isinstance(node, ListFunction):
            yield from self.counters(node.of, scope)
            inner = {**scope, node.variable: free_slot(scope)}
            for counter in self.counters(node.predicate, inner):
                yield self._for_any_item(node.of, counter, scope)
        else:
            for part in parts(node):
                yield from self.counters(part, scope)

    def _chain_counter(self, keyword: str, functions: Sequence[ListFunction], scope: Mapping[str, int]) -> Counter:
        """approvers.filter(u, …).any(v, …) counts a user who matches every predicate."""
        slot = free_slot(scope)
        predicates = [
            (
                self._compiler.condition(function.predicate, {**scope, function.variable: slot}),
                steps_of(function.predicate),
                function.at,
            )
            for function in functions
        ]

        def matches(context: EvaluationContext, value: Mapping[str, Any]) -> bool:
            for predicate, steps, at in predicates:
                context.charge(steps, at)
                context.variables[slot] = value
                if not predicate(context):
                    return False
            return True

        if keyword == "approvers":
            return lambda context, user, _: matches(context, user)
        return lambda context, _, credentials: any(matches(context, credential) for credential in credentials)

    def _for_any_item(self, of: Node, counter: Counter, scope: Mapping[str, int]) -> Counter:
        """['A', 'B'].all(id, approvers.any(u, u.id == id)) counts a user that it counts for one of the items."""
        items_of, slot = self._compiler.items(of, scope), free_slot(scope)

        def counted(context: EvaluationContext, user: UserValue, credentials: Sequence[CredentialValue]) -> bool:
            items = [item.item if isinstance(item, Perhaps) else item for item in items_of(context)]
            return any(counter(context, user, credentials) for context.variables[slot] in items)

        return counted


def _chain(node: Node, scope: Mapping[str, int]) -> tuple[str, tuple[ListFunction, ...]] | None:
    """The list of approvers or credentials in a node, and the list functions applied to it."""
    if isinstance(node, Name) and node.name in ("approvers", "credentials") and node.name not in scope:
        return node.name, ()
    if isinstance(node, Slice):
        return _chain(node.of, scope)
    if isinstance(node, ListFunction) and (chain := _chain(node.of, scope)) is not None:
        return chain[0], (*chain[1], node)
    return None
