"""A policy, compiled: its effect and its three clauses.

Here: the check of a new policy, and the sources of a policy's clauses. Not here: the policy's record
(`api.records`), the policies of an organization together (`policy_set`).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from keystead.api.enums import Effect
from keystead.api.errors import InvalidRequest
from keystead.api.records import Policy
from keystead.policies.language.expression import CompiledExpression, Expression, ExpressionSource
from keystead.policies.language.namespaces import Clause
from keystead.policies.language.syntax import ExpressionRefused


class CompiledPolicy(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A compiled policy. A clause that the policy leaves out is None, and counts as true."""

    id: str
    effect: Effect
    consensus: CompiledExpression | None = None
    condition: CompiledExpression | None = None
    time: CompiledExpression | None = None


def characters_of(policy: Policy) -> int:
    """The characters of its expressions."""
    return len(policy.consensus) + len(policy.condition) + len(policy.time or "")


class PolicySources(msgspec.Struct, frozen=True):
    """The sources of the clauses of a policy; None for one that is left out."""

    consensus: ExpressionSource | None
    condition: ExpressionSource | None
    time: ExpressionSource | None

    @property
    def given(self) -> tuple[ExpressionSource, ...]:
        return tuple([source for source in (self.consensus, self.condition, self.time) if source is not None])


def sources_of(policy: Policy) -> PolicySources:
    """The sources of a policy's clauses."""
    return PolicySources(
        consensus=ExpressionSource(policy.consensus, Clause.CONSENSUS) if policy.consensus else None,
        condition=ExpressionSource(policy.condition, Clause.CONDITION, denies=policy.effect is not Effect.ALLOW)
        if policy.condition
        else None,
        time=ExpressionSource(policy.time, Clause.TIME) if policy.time else None,
    )


def mfa_condition_source(condition: str) -> ExpressionSource:
    """The source of an MFA policy's condition."""
    return ExpressionSource(condition, Clause.CONDITION, denies=True)


def scope_source(scope: str) -> ExpressionSource:
    """The source of a session profile's scope."""
    return ExpressionSource(scope, Clause.CONDITION)


def check_scope(scope: str, controls: Collection[str] | None) -> None:
    """Raise InvalidRequest unless the scope of a session profile compiles. `controls`: the identifiers of the
    organization's velocity controls; None if they are not known."""
    try:
        Expression(scope_source(scope), controls)
    except ExpressionRefused as refused:
        raise InvalidRequest(f"invalid session profile scope: field `parameters.scope`: {refused}") from None


def check_policy(policy: Policy, controls: Collection[str] | None) -> None:
    """Raise InvalidRequest for the first clause that does not compile. `controls`: the identifiers of the
    organization's velocity controls; None if they are not known."""
    for source in sources_of(policy).given:
        try:
            Expression(source, controls)
        except ExpressionRefused as refused:
            raise InvalidRequest(f"invalid policy {source.clause}: {refused}") from None
