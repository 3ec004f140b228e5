"""A policy made ready for decisions: its effect and its three expressions.

Here: what `compile_policy` refuses, and how a stored policy outlives a stricter check. Not here: the policy's
record (`organizations`), and what a decision makes of it (`judgement`).
"""

from __future__ import annotations

import msgspec

from keystead.api.enums import Effect
from keystead.api.errors import InvalidRequest
from keystead.policies.expression import Broken, Expression, compile_expression
from keystead.policies.namespaces import Clause
from keystead.policies.syntax import ExpressionRefused


class CompiledPolicy(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """An expression that a policy leaves out is None, and holds always."""

    effect: Effect
    consensus: Expression | Broken | None = None
    condition: Expression | Broken | None = None
    time: Expression | Broken | None = None


def compile_policy(effect: Effect, consensus: str = "", condition: str = "", time: str = "") -> CompiledPolicy:
    """A policy of these expressions, "" for none. Raises InvalidRequest for the first that is refused.

    Without consensus and condition a policy applies to everything that anybody does.
    """
    return CompiledPolicy(
        effect=effect,
        consensus=_compiled(consensus, Clause.CONSENSUS),
        condition=_compiled(condition, Clause.CONDITION),
        time=_compiled(time, Clause.TIME),
    )


def _compiled(text: str, clause: Clause) -> Expression | None:
    try:
        return compile_expression(text, clause) if text else None
    except ExpressionRefused as refused:
        raise InvalidRequest(f"invalid policy {clause}: {refused}") from None


def compile_stored_policy(
    effect: Effect, consensus: str = "", condition: str = "", time: str = ""
) -> CompiledPolicy:
    """As `compile_policy`, for a policy accepted before: an expression refused now fails in every decision instead.

    A time zone may vanish from the host, a later version may check more, and decisions must be made all the same.
    """
    return CompiledPolicy(
        effect=effect,
        consensus=_recompiled(consensus, Clause.CONSENSUS),
        condition=_recompiled(condition, Clause.CONDITION),
        time=_recompiled(time, Clause.TIME),
    )


def _recompiled(text: str, clause: Clause) -> Expression | Broken | None:
    try:
        return compile_expression(text, clause) if text else None
    except ExpressionRefused as refused:
        return Broken(refused)
