"""The cache of compiled policies, in bounded memory. A service owns one object of it.

Here: what is cached and for how long, and compilation in steps that let other requests run. Not here: what
policies compile to (`policies.policy_set`), their evaluation (`policies.authorize`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from keystead.api.records import Policy, User
from keystead.organizations.organization import Organization
from keystead.policies.expression import CompiledExpression, Source, compile_stored
from keystead.policies.policy import mfa_condition_source, scope_source, sources_of
from keystead.policies.policy_set import PolicySet, policy_set

CHARACTERS_MAX: Final = 1_000_000
"""Characters of expressions that stay compiled. A compiled expression takes some 100 bytes for each character."""

CHARACTERS_AT_ONCE: Final = 2_000
"""Characters that are compiled before other requests run: some 10 ms of work. One expression is compiled without
a pause; it has at most 10,000 characters."""

_CHARACTERS_PER_ORGANIZATION: Final = 100
"""What an organization in the cache costs besides its expressions, in characters. It may have no policies."""


class CompiledPolicies(msgspec.Struct, frozen=True):
    """The policies of one version of an organization, and conditions of MFA policies by their text: at least
    those of the users that were asked for."""

    policy_set: PolicySet
    mfa_conditions: Mapping[str, CompiledExpression]


class _Entry:
    """The entry of one organization: its compiled expressions, and what `policies` were compiled to with them."""

    __slots__ = ("characters", "compiled", "expressions", "policies")

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] | None = None
        self.compiled = CompiledPolicies(PolicySet(()), {})
        self.expressions: dict[Source, CompiledExpression] = {}
        self.characters = 0


class PolicySets:
    """Compiled policies by organization. The organization that was used longest ago is dropped first.

    If the policies of an organization change, unchanged expressions stay compiled and the others are dropped.
    `hits` counts the calls of `of` that found everything compiled, `misses` the others.
    """

    def __init__(self, characters_max: int = CHARACTERS_MAX) -> None:
        self._characters_max = characters_max
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self.characters = 0
        self.hits = 0
        self.misses = 0

    async def of(self, organization: Organization, users: Iterable[User] = ()) -> CompiledPolicies:
        """The compiled policies of this version of the organization, and the MFA conditions of these users."""
        entry = self._entries.get(organization.id)
        if entry is None:
            entry = self._entries[organization.id] = _Entry()
        self._entries.move_to_end(organization.id)
        conditions = {policy.condition for user in users for policy in user.mfa_policies if policy.condition}
        is_current = entry.policies is organization.policies.by_id
        if is_current and conditions <= entry.compiled.mfa_conditions.keys():
            self.hits += 1
            return entry.compiled
        self.misses += 1
        mfa_conditions = await _compiled(map(mfa_condition_source, conditions), entry.expressions)
        by_text = {source.text: expression for source, expression in mfa_conditions.items()}
        if is_current:
            compiled = CompiledPolicies(entry.compiled.policy_set, {**entry.compiled.mfa_conditions, **by_text})
            self._keep(organization, entry, compiled, {**entry.expressions, **mfa_conditions})
            return compiled
        policies = organization.policies.in_order()
        sources = [source for policy in policies for source in sources_of(policy).given]
        expressions = await _compiled(sources, entry.expressions)
        compiled = CompiledPolicies(policy_set(policies, expressions.__getitem__), by_text)
        self._keep(organization, entry, compiled, {**expressions, **mfa_conditions})
        return compiled

    async def scope(self, organization: Organization, scope: str) -> CompiledExpression:
        """The compiled scope of a session profile of this organization."""
        entry = self._entries.get(organization.id)
        if entry is None:
            entry = self._entries[organization.id] = _Entry()
        self._entries.move_to_end(organization.id)
        source = scope_source(scope)
        if source not in entry.expressions:
            await _compiled([source], entry.expressions)
            if self._entries.get(organization.id) is entry:
                entry.characters += len(scope)
                self.characters += len(scope)
                self._drop_oldest()
        return entry.expressions.get(source) or compile_stored(source)

    def _keep(
        self,
        organization: Organization,
        entry: _Entry,
        compiled: CompiledPolicies,
        expressions: dict[Source, CompiledExpression],
    ) -> None:
        """Cache what was compiled, and drop organizations until the rest fits. An organization that does not fit
        alone is not cached."""
        if self._entries.get(organization.id) is not entry:  # dropped while its expressions were compiled
            return
        self.characters -= entry.characters
        entry.policies, entry.compiled, entry.expressions = organization.policies.by_id, compiled, expressions
        entry.characters = _CHARACTERS_PER_ORGANIZATION + sum(len(source.text) for source in expressions)
        self.characters += entry.characters
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        while self.characters > self._characters_max:
            _, dropped = self._entries.popitem(last=False)
            self.characters -= dropped.characters


async def _compiled(
    sources: Iterable[Source], known: dict[Source, CompiledExpression]
) -> dict[Source, CompiledExpression]:
    """The compiled expressions of these sources. A source that `known` lacks is compiled and added to it, so that
    concurrent requests share the work."""
    compiled: dict[Source, CompiledExpression] = {}
    characters = 0
    for source in dict.fromkeys(sources):
        if source not in known:
            if characters >= CHARACTERS_AT_ONCE:
                await asyncio.sleep(0)
                characters = 0
            if source not in known:
                known[source] = compile_stored(source)
                characters += len(source.text)
        compiled[source] = known[source]
    return compiled
