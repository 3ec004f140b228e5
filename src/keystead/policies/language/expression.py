"""One expression, compiled: evaluated as a clause of a policy, as the condition of an MFA policy.

Here: from text to `Expression`, and the replacement of a stored text that no longer compiles. An expression does
not depend on requests. Not here: the clauses of a policy (`policy`), the compiled policies of an organization
(`policy_set`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from keystead.api.choices import did_you_mean
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language import evaluation_context, syntax
from keystead.policies.language.compiler import Compiler
from keystead.policies.language.consensus import Counter, counters_of
from keystead.policies.language.credential_predicates import CredentialPredicate, credential_predicates
from keystead.policies.language.evaluation_context import Budget
from keystead.policies.language.grammar import parse
from keystead.policies.language.namespaces import CONTROLS, TRANSACTION_KEYWORDS, Clause
from keystead.policies.language.type_checker import check_types, unknown_function_error


class ExpressionSource(NamedTuple):
    """The source of a compiled expression. `denies`: of a DENY policy, or of the condition of an MFA policy."""

    text: str
    clause: Clause
    denies: bool = False


TOO_MANY_STEPS: Final = "the evaluation takes more steps than it may"


def not_applicable(
    places: Mapping[str, syntax.Place], context: evaluation_context.EvaluationContext
) -> evaluation_context.NotApplicable:
    """The first of these keywords that the request does not have. There must be one."""
    keyword = next(keyword for keyword in places if keyword not in context.keywords)
    return evaluation_context.NotApplicable(keyword, places[keyword])


def names_transaction(names: Collection[str]) -> bool:
    """Whether one of these keywords and fields is a transaction."""
    return "tx" in names and not TRANSACTION_KEYWORDS.isdisjoint(names)


def _names_signing(literal: syntax.Literal) -> bool:
    """Whether the literal is a kind or type of activities that sign transactions, or a type of transactions."""
    value = literal.value
    return isinstance(value, str) and ("SIGN_TRANSACTION" in value or value.startswith("TRANSACTION_TYPE_"))


def _check_controls(named: Mapping[str, syntax.Place], known: Collection[str]) -> None:
    """Raise ExpressionRefused for an identifier that no velocity control of the organization has."""
    for identifier, at in named.items():
        if identifier not in known:
            near = (
                did_you_mean(identifier, known) or ": the organization has no velocity control with this identifier"
            )
            raise syntax.ExpressionRefused(
                f"Expression cannot be evaluated: field does not exist: {CONTROLS}.{identifier}{near}", at
            )


class Expression:
    """A checked expression. Several evaluations may use it at the same time.

    - `names`: the keywords, fields and variables that it names.
    - `keywords`: the keywords that it names. It applies to activities that have all of them.
    - `controls`: the identifiers of the velocity controls that it names.
    - `credential_predicates`: what a consensus says about credentials.
    - `names_transactions`: it names a field of a transaction. Or it is meant to deny (`denies`), and a
      literal in it names an activity that signs transactions.
    """

    __slots__ = (
        "_counters",
        "_places",
        "_run",
        "controls",
        "credential_predicates",
        "keywords",
        "names",
        "names_transactions",
        "source",
    )

    def __init__(self, source: ExpressionSource, controls: Collection[str] | None = None) -> None:
        """Raises ExpressionRefused if the text does not compile. `controls`: the identifiers of the organization's
        velocity controls, by which those in the text are checked; None for a text that was checked before."""
        self.source = source
        try:
            tree = parse(source.text)
        except syntax.UnknownFunction as unknown:
            raise unknown_function_error(unknown, source.clause) from None
        node_types = check_types(tree, source.clause)
        compiler = Compiler(node_types)
        nodes = list(syntax.walk(tree))
        self.names = frozenset([node.name for node in nodes if isinstance(node, syntax.Name | syntax.Field)])
        self.names_transactions = names_transaction(self.names) or (
            source.denies and any(isinstance(node, syntax.Literal) and _names_signing(node) for node in nodes)
        )
        self._run = compiler.expression()
        self.controls = frozenset(compiler.controls)
        if controls is not None:
            _check_controls(compiler.controls, controls)
        is_consensus = source.clause is Clause.CONSENSUS
        self._counters: tuple[Counter, ...] = counters_of(compiler, tree) if is_consensus else ()
        self.credential_predicates = credential_predicates(compiler, tree) if is_consensus else ()
        self._places = compiler.keywords
        self.keywords = frozenset(compiler.keywords)

    def evaluate(
        self,
        context: evaluation_context.EvaluationContext,
        budget: Budget,
        steps_max: int = EXPRESSION_STEPS_MAX,
    ) -> evaluation_context.Value:
        """The value in this context, in at most `steps_max` steps of the budget.

        NotApplicable if the expression names a keyword that the request does not have, whatever else it says.
        Otherwise its value in Kleene's logic.
        """
        if not self.keywords <= context.keywords:
            return not_applicable(self._places, context)
        context.steps = given = min(steps_max, budget.left)
        try:
            return bool(self._run(context))
        except evaluation_context.ValueUnknown as failed:
            return evaluation_context.Unknown(
                failed.reason, failed.at, isinstance(failed, evaluation_context.OtherVersion)
            )
        except evaluation_context.StepsExceeded as exceeded:
            return evaluation_context.Unknown(TOO_MANY_STEPS, exceeded.at)
        finally:
            budget.settle(given, context.steps)

    def counts(
        self,
        everybody: evaluation_context.EvaluationContext,
        user: Mapping[str, Any],
        credentials: Sequence[Mapping[str, Any]],
        budget: Budget,
    ) -> bool:
        """Whether this consensus counts the user, who owns these credentials. In `everybody` all users are
        approvers."""
        everybody.steps = given = min(EXPRESSION_STEPS_MAX, budget.left)
        try:
            for counter in self._counters:
                try:
                    if counter(everybody, user, credentials):
                        return True
                except (evaluation_context.ValueUnknown, evaluation_context.StepsExceeded):
                    continue  # A predicate that is unknown for this user does not match.
        finally:
            budget.settle(given, everybody.steps)
        return False


class UncompilableExpression:
    """Replaces an expression that was accepted before and no longer compiles: its value is always unknown.

    A time zone may disappear from the host, and a later version may check more.
    """

    __slots__ = (
        "_unknown",
        "controls",
        "credential_predicates",
        "keywords",
        "names",
        "names_transactions",
        "source",
    )

    def __init__(self, source: ExpressionSource, refused: syntax.ExpressionRefused) -> None:
        self.source = source
        self.names = self.keywords = self.controls = frozenset[str]()
        self.names_transactions = True
        self.credential_predicates: tuple[CredentialPredicate, ...] = ()
        self._unknown = evaluation_context.Unknown(refused.reason, refused.place)

    def evaluate(self, *_: object) -> evaluation_context.Value:
        return self._unknown

    def counts(self, *_: Any) -> bool:
        return False


CompiledExpression = Expression | UncompilableExpression


def compile_stored(source: ExpressionSource) -> CompiledExpression:
    """The expression of a record. If it no longer compiles, it is unknown in every decision."""
    try:
        return Expression(source)
    except syntax.ExpressionRefused as refused:
        return UncompilableExpression(source, refused)
