"""Warnings for the author of a policy or MFA policy: it never applies, denies nothing, allows everything, or can be
bypassed.

Here: the warnings of a set of policies, and the activities that a DENY policy might be meant for. Not here: where
they are shown (`operations.policies.policy_warnings`, `server`, `cli`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.api.enums import Effect
from keystead.api.records import MfaPolicy, Policy
from keystead.policies.activity_shapes import ACTIVITY_SHAPES, ActivityShapes
from keystead.policies.bounds import ANALYZED_MFA_CHARACTERS_MAX, WARNING_NAMES_MAX
from keystead.policies.language.evaluation_context import Budget
from keystead.policies.language.expression import names_transaction
from keystead.policies.language.grammar import parse
from keystead.policies.language.syntax import ExpressionRefused, Field, Name, Node, walk
from keystead.policies.linting.condition_analysis import AnalysisResult, ConditionAnalysis
from keystead.policies.linting.literals import KnownIds, compared_literals, impossible_literals
from keystead.policies.request import RAW_ENCODINGS, RAW_PAYLOAD_KINDS
from keystead.policies.resources import GOVERNED_KINDS


def lacking_activities(analysis: ConditionAnalysis, result: AnalysisResult) -> Iterator[str]:
    """Where the analyzed condition lacks a keyword and is not false, as text that continues "it denies nothing"."""
    shapes = ACTIVITY_SHAPES
    unsafe = result.lacking & ~result.false & shapes.governed
    if unsafe == shapes.governed:
        yield f", because no activity has all of the keywords that it names: {_join(analysis.absent)}"
        return
    for path, absent in analysis.absent.items():
        if absent & unsafe:
            yield f" where {path} is absent: {_kinds_text(shapes, absent & unsafe)}"


def _join(keywords: Iterable[str]) -> str:
    listed = list(keywords)
    more = f" and {len(listed) - WARNING_NAMES_MAX} more" if len(listed) > WARNING_NAMES_MAX else ""
    return ", ".join(listed[:WARNING_NAMES_MAX]) + more


def _kinds_text(shapes: ActivityShapes, unsafe: int) -> str:
    """The kinds of activity in a set of shapes, in few words."""
    whole, partly = shapes.kinds_in(unsafe)
    spared = GOVERNED_KINDS.keys() - whole - partly
    some = [f"some forms of {kind}" for kind in sorted(partly)]
    if len(whole) > WARNING_NAMES_MAX and len(spared) <= WARNING_NAMES_MAX and len(some) <= WARNING_NAMES_MAX:
        but = f" but {', '.join(sorted(spared))}" if spared else ""
        return " and ".join([f"every kind of activity{but}", *([", ".join(some)] if some else [])])
    kinds = [*some, *sorted(whole)]
    more = f" and {len(kinds) - WARNING_NAMES_MAX} more kinds of activity" if len(kinds) > WARNING_NAMES_MAX else ""
    return ", ".join(kinds[:WARNING_NAMES_MAX]) + more


DENY_RAW_PAYLOADS: Final = (
    f"activity.kind in {list(RAW_PAYLOAD_KINDS)} && activity.params.encoding in {list(map(str, RAW_ENCODINGS))}"
)
"""The condition that denies payloads that may be transactions."""


Alternatives = Mapping[str, Sequence[str]]
"""For a kind of activity, the other kinds that can do the same (`pipeline.operation.alternatives`)."""


class WarningCode(StrEnum):
    UNREADABLE = "UNREADABLE"
    """An expression does not compile. A DENY policy then denies everything."""
    NEVER_APPLIES = "NEVER_APPLIES"
    IMPOSSIBLE_LITERAL = "IMPOSSIBLE_LITERAL"
    ALLOWS_EVERYTHING = "ALLOWS_EVERYTHING"
    DENIES_NOTHING = "DENIES_NOTHING"
    """The condition names a keyword that activities lack which the policy might be meant to deny."""
    OTHER_KIND = "OTHER_KIND"
    """Another kind of activity does the same."""
    RAW_PAYLOAD = "RAW_PAYLOAD"
    """The same transaction can be signed as a raw payload."""
    OTHER_ADDRESS = "OTHER_ADDRESS"
    """The same key has other addresses."""


class PolicyWarning(msgspec.Struct, frozen=True):
    """`message` is a whole sentence, and names the policy."""

    policy_id: str
    policy_name: str
    code: WarningCode
    message: str


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a server that warnings depend on.

    `refuses_raw_payloads`: where policies read transactions, raw payloads are refused.
    """

    refuses_raw_payloads: bool = False


class _Analyzed(msgspec.Struct, frozen=True):
    """A policy with the analysis of its condition. For an MFA policy, `policy` is a DENY policy with the same
    condition."""

    policy: Policy
    tree: Node | None
    analysis: ConditionAnalysis
    result: AnalysisResult
    is_mfa: bool = False


def policy_warnings(
    policies: Sequence[Policy],
    known: KnownIds,
    settings: ServerSettings,
    alternatives: Alternatives,
    of_policies: Collection[str] | None = None,
    mfa_policies: Iterable[Sequence[MfaPolicy]] = (),
) -> Iterator[list[PolicyWarning]]:
    """The warnings of the policies of an organization, policy by policy, and then of its MFA policies.

    `mfa_policies`: the MFA policies of each user, which are analyzed up to MFA_CHARACTERS_MAX. `of_policies`: the
    ids of the policies whose warnings are wanted; None for all. A step of the iterator takes some milliseconds for
    a long policy, and may return no warnings, so that the caller can let other tasks run.
    """
    denials: list[_Analyzed] | None = None

    def warnings_of(analyzed: _Analyzed, further_denials: Sequence[_Analyzed]) -> Iterator[list[PolicyWarning]]:
        nonlocal denials
        warnings = list(_own_warnings(analyzed, known))
        bypasses = list(_bypass_warnings(analyzed, settings, alternatives))
        if bypasses and denials is None:
            denials = []
            for other in policies:
                if other.effect is Effect.DENY:
                    denials += _analyze_readable(other)
                    yield []
        warnings += [
            warning for warning, shapes in bypasses if not _are_denied(shapes, [*(denials or ()), *further_denials])
        ]
        yield warnings

    for policy in policies:
        if of_policies is None or policy.policy_id in of_policies:
            try:
                analyzed = _analyze(policy)
            except ExpressionRefused as refused:
                yield [_unreadable(policy, refused)]
                continue
            yield from warnings_of(analyzed, ())
    budget = Budget(ANALYZED_MFA_CHARACTERS_MAX)
    for own in mfa_policies:
        if of_policies is not None and not any(policy.mfa_policy_id in of_policies for policy in own):
            continue
        if not budget.spend(sum(len(policy.condition) for policy in own)):
            return
        of_user: list[_Analyzed] = []
        for mfa_policy in own:
            of_user += _analyze_readable(_as_denial(mfa_policy), is_mfa=True)
            yield []
        for analyzed in of_user:
            if of_policies is None or analyzed.policy.policy_id in of_policies:
                yield from warnings_of(analyzed, of_user)


def _as_denial(policy: MfaPolicy) -> Policy:
    """A policy that denies what the MFA policy asks further proofs for."""
    return Policy(
        policy_id=policy.mfa_policy_id,
        policy_name=policy.mfa_policy_name,
        effect=Effect.DENY,
        created_at=policy.created_at,
        updated_at=policy.updated_at,
        notes="",
        consensus="",
        condition=policy.condition,
    )


def _analyze(policy: Policy) -> _Analyzed:
    """The analysis of the policy's condition. Raises ExpressionRefused if it does not compile."""
    analysis = ConditionAnalysis(ACTIVITY_SHAPES)
    if not policy.condition:
        return _Analyzed(policy, None, analysis, AnalysisResult(ACTIVITY_SHAPES.all_shapes, 0, 0, 0))
    tree = parse(policy.condition)
    return _Analyzed(policy, tree, analysis, analysis.of(tree))


def _analyze_readable(policy: Policy, *, is_mfa: bool = False) -> list[_Analyzed]:
    """The analysis of the policy's condition, as a list of one; empty if the condition does not compile."""
    try:
        return [replace(_analyze(policy), is_mfa=is_mfa)]
    except ExpressionRefused:
        return []


def _are_denied(shapes: int, denials: Sequence[_Analyzed]) -> bool:
    """Whether DENY policies without consensus and time certainly deny all of these shapes."""
    for denial in denials:
        if not denial.policy.consensus and not denial.policy.time:
            shapes &= ~((denial.result.true | denial.result.unknown) & ~denial.result.lacking)
    return shapes == 0


def _own_warnings(analyzed: _Analyzed, known: KnownIds) -> Iterator[PolicyWarning]:
    policy, result = analyzed.policy, analyzed.result
    is_allow = policy.effect is Effect.ALLOW
    decided = ACTIVITY_SHAPES.all_shapes if analyzed.is_mfa else ACTIVITY_SHAPES.governed
    never = result.false | (result.lacking | result.unknown if is_allow else 0)
    if not decided & ~never:
        how = "is false or names an absent keyword" if is_allow and result.lacking else "is false"
        yield _warning(
            analyzed, WarningCode.NEVER_APPLIES, f"never applies: its condition {how} for every activity"
        )
    if is_allow and not decided & ~(result.true & ~result.lacking) and not policy.consensus:
        yield _warning(
            analyzed,
            WarningCode.ALLOWS_EVERYTHING,
            "allows every activity to every user: give it a condition or a consensus",
        )
    for text in (policy.condition, policy.consensus):
        for sentence in impossible_literals(parse(text), known) if text else ():
            yield _warning(analyzed, WarningCode.IMPOSSIBLE_LITERAL, f"may never apply: {sentence}")
    if not is_allow and not analyzed.is_mfa:  # an MFA condition may lack keywords: it then asks for no proofs
        for where in lacking_activities(analyzed.analysis, result):
            yield PolicyWarning(
                policy.policy_id,
                policy.policy_name,
                WarningCode.DENIES_NOTHING,
                f"DENY policy {_policy_label(policy)}: it denies nothing{where}",
            )


def _bypass_warnings(
    analyzed: _Analyzed, settings: ServerSettings, alternatives: Alternatives
) -> Iterator[tuple[PolicyWarning, int]]:
    """Warnings about ways to bypass a DENY policy, each with the shapes of activities that must be denied too."""
    policy, tree = analyzed.policy, analyzed.tree
    if policy.effect is not Effect.DENY or tree is None:
        return
    shapes, possible = ACTIVITY_SHAPES, ACTIVITY_SHAPES.all_shapes & ~analyzed.result.false
    kinds = shapes.known["activity.kind"]
    for one, others in alternatives.items():
        for other in others:
            if possible & kinds[one] and not possible & kinds[other]:
                sentence = f"applies to {one} and not to {other}, which can do the same: name both kinds"
                yield _warning(analyzed, WarningCode.OTHER_KIND, sentence), kinds[other]
    names = {node.name for node in walk(tree) if isinstance(node, Name | Field)}
    raw = 0
    for encoding in RAW_ENCODINGS:
        raw |= shapes.known["activity.params.encoding"][encoding]
    is_of_transactions_alone = bool(possible & kinds["SIGN_TRANSACTION"]) and not possible & raw
    if (names_transaction(names) or is_of_transactions_alone) and not settings.refuses_raw_payloads:
        sentence = (
            "can be bypassed: the same transaction can be signed as a raw payload. "
            f"{'Ask for proofs of' if analyzed.is_mfa else 'Deny'} those, too: {DENY_RAW_PAYLOADS}"
        )
        yield _warning(analyzed, WarningCode.RAW_PAYLOAD, sentence), raw
    if any(path == "wallet_account.address" for path, _ in compared_literals(tree, {})):
        sentence = (
            "can be bypassed: the key of this account may have addresses of other formats, or sign for other "
            "accounts. Name wallet.id instead"
        )
        yield _warning(analyzed, WarningCode.OTHER_ADDRESS, sentence), shapes.present["wallet_account"]


def _warning(analyzed: _Analyzed, code: WarningCode, what: str) -> PolicyWarning:
    policy = analyzed.policy
    kind = "MFA" if analyzed.is_mfa else policy.effect.removeprefix("EFFECT_")
    return PolicyWarning(
        policy.policy_id, policy.policy_name, code, f"{kind} policy {_policy_label(policy)} {what}"
    )


def _unreadable(policy: Policy, refused: ExpressionRefused) -> PolicyWarning:
    effect, sentence = policy.effect.removeprefix("EFFECT_"), f"cannot be read: {refused}"
    message = f"{effect} policy {_policy_label(policy)} {sentence}"
    return PolicyWarning(policy.policy_id, policy.policy_name, WarningCode.UNREADABLE, message)


def _policy_label(policy: Policy) -> str:
    """The name of a policy, with its id if it has one of its own: a policy in a file has none."""
    known = f" ({policy.policy_id})" if policy.policy_id != policy.policy_name else ""
    return f"{policy.policy_name!r}{known}"
