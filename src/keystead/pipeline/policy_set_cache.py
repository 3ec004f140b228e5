"""The cache of compiled policies, in bounded memory. A service owns one object of it.

Here: what is cached and for how long, and compilation in steps that let other requests run. Not here: what
policies compile to (`policies.policy_set`), their evaluation (`policies.authorize`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from keystead.api.records import Policy, User
from keystead.organizations.organization import Organization
from keystead.policies.language.evaluation_context import Budget
from keystead.policies.language.expression import CompiledExpression, ExpressionSource, compile_stored
from keystead.policies.policy import mfa_condition_source, scope_source, sources_of
from keystead.policies.policy_set import PolicySet, policy_set
from keystead.primitives.lru import Lru
from keystead.primitives.share import Share, Work

CHARACTERS_MAX: Final = 1_000_000
"""The most characters of expressions that stay compiled. A compiled expression takes some 100 bytes for each
character."""

MFA_CHARACTERS_MAX: Final = 200_000
"""The most characters of MFA conditions that are compiled for one decision: some 20 MB. Later conditions hold."""

_CHARACTERS_PER_ORGANIZATION: Final = 100
"""How many characters an entry of the cache counts besides its expressions: an organization may have no
policies."""


class CompiledPolicies(msgspec.Struct, frozen=True):
    """The compiled policies of one version of an organization, and compiled conditions of MFA policies by their
    text: at least the `evaluated_conditions` of the requested users."""

    policy_set: PolicySet
    mfa_conditions: Mapping[str, CompiledExpression]


def evaluated_conditions(users: Iterable[User]) -> list[str]:
    """The texts of the MFA conditions of these users, in their order, that are compiled and evaluated for a
    decision."""
    users = [user for user in users if user.mfa_policies]
    if not users:
        return []
    budget = Budget(MFA_CHARACTERS_MAX)
    conditions = dict.fromkeys(policy.condition for user in users for policy in user.mfa_policies)
    return [text for text in conditions if text and budget.spend(len(text))]


class _Entry:
    """The entry of one organization. `expressions`: its compiled expressions. `compiled`: the result for
    `policies`."""

    __slots__ = ("compiled", "expressions", "policies")

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] | None = None
        self.compiled = CompiledPolicies(PolicySet(()), {})
        self.expressions: dict[ExpressionSource, CompiledExpression] = {}

    def characters(self) -> int:
        return _CHARACTERS_PER_ORGANIZATION + sum(len(source.text) for source in self.expressions)


class PolicySetCache:
    """Compiled policies by organization. The least recently used organization is dropped first.

    If the policies of an organization change, unchanged expressions stay compiled and the others are dropped.
    `hits` counts the calls of `of` that found everything compiled, `misses` the others.
    """

    def __init__(self, characters_max: int = CHARACTERS_MAX, share: Share | None = None) -> None:
        self._share = share or Share()
        self._entries = Lru[str, _Entry](characters_max)
        self.hits = 0
        self.misses = 0

    @property
    def characters(self) -> int:
        return self._entries.size

    async def of(self, organization: Organization, users: Iterable[User] = ()) -> CompiledPolicies:
        """The compiled policies of this version of the organization, and the MFA conditions of these users."""
        entry = self._entry(organization.id)
        conditions = evaluated_conditions(users)
        is_current = entry.policies is organization.policies.by_id
        known = entry.compiled  # another version may take its place while this one is compiled
        if is_current and known.mfa_conditions.keys() >= set(conditions):
            self.hits += 1
            return known
        self.misses += 1
        of_mfa = map(mfa_condition_source, conditions)
        mfa_conditions = await self._compile(organization.id, of_mfa, entry.expressions)
        by_text = {source.text: expression for source, expression in mfa_conditions.items()}
        if is_current:
            compiled = CompiledPolicies(known.policy_set, {**known.mfa_conditions, **by_text})
            self._cache(organization, entry, compiled, {**entry.expressions, **mfa_conditions})
            return compiled
        policies = organization.policies.in_order()
        sources = [source for policy in policies for source in sources_of(policy).given]
        expressions = await self._compile(organization.id, sources, entry.expressions)
        compiled = CompiledPolicies(policy_set(policies, expressions.__getitem__), by_text)
        self._cache(organization, entry, compiled, {**expressions, **mfa_conditions})
        return compiled

    async def scope(self, organization: Organization, scope: str) -> CompiledExpression:
        """The compiled scope of a session profile of this organization."""
        entry = self._entry(organization.id)
        source = scope_source(scope)
        if source in entry.expressions:
            return entry.expressions[source]
        compiled = await self._compile(organization.id, [source], entry.expressions)
        self._put(organization.id, entry)
        return compiled[source]

    def _entry(self, organization_id: str) -> _Entry:
        """The entry of an organization, now the most recently used. It is created if it does not exist."""
        entry = self._entries.get(organization_id)
        if entry is None:
            entry = _Entry()
            self._entries.put(organization_id, entry, entry.characters())
        return entry

    def _put(self, organization_id: str, entry: _Entry) -> None:
        """Update the size of the entry, unless it was dropped while its expressions were compiled."""
        if self._entries.peek(organization_id) is entry:
            self._entries.put(organization_id, entry, entry.characters())

    def _cache(
        self,
        organization: Organization,
        entry: _Entry,
        compiled: CompiledPolicies,
        expressions: dict[ExpressionSource, CompiledExpression],
    ) -> None:
        """Cache what was compiled. An organization that does not fit alone is not cached."""
        entry.policies, entry.compiled, entry.expressions = organization.policies.by_id, compiled, expressions
        self._put(organization.id, entry)

    async def _compile(
        self,
        organization_id: str,
        sources: Iterable[ExpressionSource],
        known: dict[ExpressionSource, CompiledExpression],
    ) -> dict[ExpressionSource, CompiledExpression]:
        """The compiled expressions of these sources. A source that `known` lacks is compiled and added to it, so
        that concurrent requests share the work."""
        asked = list(dict.fromkeys(sources))

        for source in asked:
            if source not in known:
                known[source] = await self._share.run(
                    organization_id, Work.COMPILING, partial(compile_stored, source), len(source.text)
                )
        return {source: known[source] for source in asked}
