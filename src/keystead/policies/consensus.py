"""Could more approvals meet a consensus, and whose approvals does it count?

Both are approximations by rule, since trying every set of users is out of the question. A consensus can be met
if it holds once everybody has approved. It counts a user who matches the predicate of a list function on
`approvers` in it, or who owns a credential that matches one on `credentials`; where either list is used as a whole,
such as approvers.count() >= 2, it counts everyone.
Not here: what a decision makes of that (`judgement`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from keystead.policies.checking import check
from keystead.policies.evaluation import Compiler, free_slot, steps_of
from keystead.policies.expression import KEPT_CHARACTERS, Kept
from keystead.policies.frame import STEPS_MAX, EvaluationFailed, Frame
from keystead.policies.grammar import parse
from keystead.policies.namespaces import Clause
from keystead.policies.syntax import ListFunction, Name, Node, Slice, parts

UserValue = Mapping[str, Any]
CredentialValue = Mapping[str, Any]

Place = Callable[[Frame, UserValue, Sequence[CredentialValue]], bool]
"""Whether one place in a consensus counts this user, who owns these credentials."""


def counts(consensus: str, frame: Frame, user: UserValue, credentials: Sequence[CredentialValue]) -> bool:
    """Whether a consensus counts this user. The frame holds everybody as approvers."""
    frame.steps = STEPS_MAX
    for place in _PLACES.of(consensus, Clause.CONSENSUS):
        # A predicate that has no value for this user does not match.
        with suppress(EvaluationFailed):
            if place(frame, user, credentials):
                return True
    return False


def _places(text: str, clause: Clause) -> tuple[Place, ...]:
    typing = check(parse(text), clause)
    return tuple(_Finder(Compiler(typing, weighing=False)).places(typing.tree, {}))


_PLACES = Kept(_places, KEPT_CHARACTERS)


class _Finder:
    """Finds the places in a consensus that count users."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def places(self, node: Node, scope: Mapping[str, int]) -> Iterator[Place]:
        chain = _chain(node, scope)
        if chain is not None:
            yield self._chained(*chain, scope)
        elif isinstance(node, ListFunction):
            yield from self.places(node.of, scope)
            inner = {**scope, node.variable: free_slot(scope)}
            for place in self.places(node.predicate, inner):
                yield self._for_any_item(node.of, place, scope)
        else:
            for part in parts(node):
                yield from self.places(part, scope)

    def _chained(self, keyword: str, functions: Sequence[ListFunction], scope: Mapping[str, int]) -> Place:
        """approvers.filter(u, …).any(v, …): whoever matches every predicate."""
        slot = free_slot(scope)
        predicates = [
            (
                self._compiler.condition(function.predicate, {**scope, function.variable: slot}),
                steps_of(function.predicate),
                function.at,
            )
            for function in functions
        ]

        def matches(frame: Frame, value: Mapping[str, Any]) -> bool:
            for predicate, steps, at in predicates:
                frame.charge(steps, at)
                frame.variables[slot] = value
                if not predicate(frame):
                    return False
            return True

        if keyword == "approvers":
            return lambda frame, user, _: matches(frame, user)
        return lambda frame, _, credentials: any(matches(frame, credential) for credential in credentials)

    def _for_any_item(self, of: Node, place: Place, scope: Mapping[str, int]) -> Place:
        """['A', 'B'].all(id, approvers.any(u, u.id == id)): whoever the place counts for one of the items."""
        items_of, slot = self._compiler.items(of, scope), free_slot(scope)

        def counted(frame: Frame, user: UserValue, credentials: Sequence[CredentialValue]) -> bool:
            return any(place(frame, user, credentials) for frame.variables[slot] in items_of(frame))

        return counted


def _chain(node: Node, scope: Mapping[str, int]) -> tuple[str, tuple[ListFunction, ...]] | None:
    """The list of approvers or credentials that a node is made of, and the list functions applied to it."""
    match node:
        case Name(name=("approvers" | "credentials") as name) if name not in scope:
            return name, ()
        case Slice(of=of):
            return _chain(of, scope)
        case ListFunction(of=of):
            chain = _chain(of, scope)
            return None if chain is None else (chain[0], (*chain[1], node))
        case _:
            return None
