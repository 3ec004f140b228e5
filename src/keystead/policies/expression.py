"""One expression, compiled: evaluated as a clause of a policy, as the condition of an MFA policy.

Here: from text to `Expression`, and the replacement of a stored text that no longer compiles. An expression does
not depend on requests. Not here: the clauses of a policy (`policy`), the compiled policies of an organization
(`policy_set`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from keystead.policies.compiler import Compiler
from keystead.policies.consensus import Counter, counters_of
from keystead.policies.evaluation_context import (
    STEPS_MAX,
    EvaluationContext,
    EvaluationError,
    EvaluationFailed,
    strict_junction,
    three_valued_junction,
)
from keystead.policies.grammar import parse
from keystead.policies.namespaces import TRANSACTION_KEYWORDS, Clause
from keystead.policies.syntax import (
    ExpressionRefused,
    Field,
    Index,
    Literal,
    Name,
    Slice,
    UnknownFunction,
    walk,
)
from keystead.policies.type_checker import check_types, unknown_function_error

Value = bool | EvaluationError
"""True, false, or the reason why the expression has no value."""


class ThreeValued(NamedTuple):
    """A value in Kleene's logic; None is unknown. `unreadable`: some part that counts is present and cannot be
    read."""

    value: bool | None
    unreadable: bool


class ExpressionSource(NamedTuple):
    """The source of a compiled expression.

    `all_versions`: a literal that `activity.type` is compared with stands for every version of its kind if that
    makes the expression true for more activities. It is set for DENY policies and MFA conditions.
    """

    text: str
    clause: Clause
    all_versions: bool = False


def names_transaction(names: Collection[str]) -> bool:
    """Whether one of these keywords and fields is a transaction."""
    return "tx" in names and not TRANSACTION_KEYWORDS.isdisjoint(names)


def _names_signing(literal: Literal) -> bool:
    """Whether the literal is a kind or type of activities that sign transactions, or a type of transactions."""
    value = literal.value
    return isinstance(value, str) and ("SIGN_TRANSACTION" in value or value.startswith("TRANSACTION_TYPE_"))


class Expression:
    """A checked expression. Several evaluations may use it at the same time.

    - `names`: the keywords, fields and variables that it names.
    - `may_lack_items`: it reads items by position, which a request may not have.
    - `names_transactions`: it names a field of a transaction. Or it is meant to deny (`all_versions`), and a
      literal in it names an activity that signs transactions.
    """

    __slots__ = ("_counters", "_run", "may_lack_items", "names", "names_transactions", "source")

    def __init__(self, source: ExpressionSource) -> None:
        """Raises ExpressionRefused if the text does not compile."""
        self.source = source
        try:
            tree = parse(source.text)
        except UnknownFunction as unknown:
            raise unknown_function_error(unknown, source.clause) from None
        node_types = check_types(tree, source.clause)
        compiler = Compiler(node_types, all_versions=source.all_versions)
        nodes = list(walk(tree))
        self.names = frozenset([node.name for node in nodes if isinstance(node, Name | Field)])
        self.may_lack_items = any(isinstance(node, Index | Slice) for node in nodes)
        self.names_transactions = names_transaction(self.names) or (
            source.all_versions and any(isinstance(node, Literal) and _names_signing(node) for node in nodes)
        )
        self._run = compiler.expression()
        is_consensus = source.clause is Clause.CONSENSUS
        self._counters: tuple[Counter, ...] = counters_of(compiler, tree) if is_consensus else ()

    def evaluate(self, context: EvaluationContext, steps: int = STEPS_MAX) -> Value:
        """The value in this context. Every operand of `&&` and `||` is evaluated; if one fails, the whole fails."""
        context.junction = strict_junction
        return self._value(context, steps)

    def evaluate_three_valued(self, context: EvaluationContext, steps: int = STEPS_MAX) -> ThreeValued:
        """The value in Kleene's logic: an operand that fails is unknown, and the whole too unless others decide it.

        So `activity.action == 'SIGN' && eth.tx.value > 5` is false for an activity that does not sign.
        """
        context.junction, context.outweighed_unreadable = three_valued_junction, False
        value = self._value(context, steps)
        if isinstance(value, EvaluationError):
            return ThreeValued(None, value.unreadable or context.outweighed_unreadable)
        return ThreeValued(value, context.outweighed_unreadable)

    def _value(self, context: EvaluationContext, steps: int) -> Value:
        context.steps = steps
        try:
            return bool(self._run(context))
        except EvaluationFailed as failed:
            return failed.error

    def counts(
        self, everybody: EvaluationContext, user: Mapping[str, Any], credentials: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Whether this consensus counts the user, who owns these credentials. In `everybody` all users are
        approvers."""
        everybody.junction, everybody.steps = strict_junction, STEPS_MAX
        for counter in self._counters:
            try:
                if counter(everybody, user, credentials):
                    return True
            except EvaluationFailed:
                continue  # A predicate that has no value for this user does not match.
        return False


class UncompilableExpression:
    """Replaces an expression that was accepted before and no longer compiles: it always fails, as unreadable.

    A time zone may disappear from the host, and a later version may check more.
    """

    __slots__ = ("_error", "names", "names_transactions", "source")

    may_lack_items = True

    def __init__(self, source: ExpressionSource, refused: ExpressionRefused) -> None:
        self.source = source
        self.names: frozenset[str] = frozenset()
        self.names_transactions = True
        self._error = EvaluationError(refused.reason, refused.place, unreadable=True)

    def evaluate(self, context: EvaluationContext, steps: int = STEPS_MAX) -> Value:
        context.steps = steps
        return self._error

    def evaluate_three_valued(self, context: EvaluationContext, steps: int = STEPS_MAX) -> ThreeValued:
        context.steps = steps
        return ThreeValued(None, unreadable=True)

    def counts(self, *_: Any) -> bool:
        return False


CompiledExpression = Expression | UncompilableExpression


def compile_stored(source: ExpressionSource) -> CompiledExpression:
    """The expression of a record. If it no longer compiles, it fails in every decision instead of here."""
    try:
        return Expression(source)
    except ExpressionRefused as refused:
        return UncompilableExpression(source, refused)
