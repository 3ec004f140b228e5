"""Warnings for the author of a policy: it never applies, denies nothing, allows everything, or can be bypassed.

Here: the warnings of a set of policies. Not here: where they are shown (`operations.policy_warnings`, `server`,
`cli`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from keystead.api.enums import Effect
from keystead.api.records import Policy
from keystead.policies.activity_shapes import ACTIVITY_SHAPES, OPTIONAL
from keystead.policies.expression import is_transaction_named
from keystead.policies.grammar import parse
from keystead.policies.linting.denials import failing
from keystead.policies.linting.literals import Known, compared_literals, impossible_literals
from keystead.policies.linting.survey import Survey, Surveyed
from keystead.policies.request import RAW_ENCODINGS, RAW_PAYLOAD_KINDS
from keystead.policies.syntax import ExpressionRefused, Field, Name, Node, walk

DENY_RAW_PAYLOADS: Final = (
    f"activity.kind in {list(RAW_PAYLOAD_KINDS)} && activity.params.encoding in {list(map(str, RAW_ENCODINGS))}"
)
"""The condition that denies payloads that may be transactions."""

_SAME_EFFECT: Final = (
    RAW_PAYLOAD_KINDS,
    ("CREATE_POLICY", "CREATE_POLICIES"),
    ("DELETE_POLICY", "DELETE_POLICIES"),
    ("CREATE_USERS", "CREATE_API_ONLY_USERS"),
    ("UPDATE_USER", "UPDATE_USER_NAME"),
    ("UPDATE_USER", "UPDATE_USER_EMAIL"),
    ("UPDATE_USER", "UPDATE_USER_PHONE_NUMBER"),
    ("EXPORT_WALLET", "EXPORT_WALLET_ACCOUNT"),
)
"""Pairs of kinds of which each can do what the other does."""


class WarningCode(StrEnum):
    UNREADABLE = "UNREADABLE"
    """An expression does not compile. A DENY policy then denies everything."""
    NEVER_APPLIES = "NEVER_APPLIES"
    IMPOSSIBLE_LITERAL = "IMPOSSIBLE_LITERAL"
    ALLOWS_EVERYTHING = "ALLOWS_EVERYTHING"
    DENIES_NOTHING = "DENIES_NOTHING"
    """The condition fails on activities that the policy might be meant to deny."""
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

    `fails_closed`: a DENY policy that fails denies. `refuses_raw_payloads`: where policies read transactions, raw
    payloads are refused. `legacy_without_chain_id`: Ethereum transactions may lack `chain_id`.
    """

    fails_closed: bool = False
    refuses_raw_payloads: bool = False
    legacy_without_chain_id: bool = False


class _Analyzed(msgspec.Struct, frozen=True):
    policy: Policy
    tree: Node | None
    survey: Survey
    found: Surveyed


def policy_warnings(
    policies: Sequence[Policy],
    known: Known,
    settings: ServerSettings,
    of_policies: Collection[str] | None = None,
) -> Iterator[list[PolicyWarning]]:
    """The warnings of the policies of an organization, or of those with these ids only, policy by policy.

    The caller may let other tasks run between two steps: a step takes some milliseconds for a long policy.
    """
    wanted = [policy for policy in policies if of_policies is None or policy.policy_id in of_policies]
    denials: list[_Analyzed] | None = None
    for policy in wanted:
        try:
            analyzed = _analyzed(policy, settings)
        except ExpressionRefused as refused:
            yield [_warning(policy, WarningCode.UNREADABLE, f"cannot be read: {refused}")]
            continue
        warnings = list(_own_warnings(analyzed, known, settings))
        passed_by = list(_ways_past(analyzed, settings))
        if passed_by and denials is None:
            denials = []
            for other in policies:
                if other.effect is Effect.DENY:
                    denials += _readable(other, settings)
                    yield []
        warnings += [warning for warning, shapes in passed_by if not _denied(shapes, denials or [])]
        yield warnings


def _analyzed(policy: Policy, settings: ServerSettings) -> _Analyzed:
    """Raises ExpressionRefused."""
    optional = OPTIONAL | {"eth.tx.chain_id"} if settings.legacy_without_chain_id else OPTIONAL
    survey = Survey(ACTIVITY_SHAPES, all_versions=policy.effect is Effect.DENY, optional=optional)
    if not policy.condition:
        return _Analyzed(policy, None, survey, Surveyed(ACTIVITY_SHAPES.everywhere, 0, 0))
    tree = parse(policy.condition)
    return _Analyzed(policy, tree, survey, survey.of(tree))


def _readable(policy: Policy, settings: ServerSettings) -> list[_Analyzed]:
    try:
        return [_analyzed(policy, settings)]
    except ExpressionRefused:
        return []


def _denied(shapes: int, denials: Sequence[_Analyzed]) -> bool:
    """Whether DENY policies without consensus and time certainly deny all of these shapes."""
    for denial in denials:
        if not denial.policy.consensus and not denial.policy.time:
            shapes &= ~denial.found.true
    return shapes == 0


def _own_warnings(analyzed: _Analyzed, known: Known, settings: ServerSettings) -> Iterator[PolicyWarning]:
    policy, found = analyzed.policy, analyzed.found
    is_allow, everywhere = policy.effect is Effect.ALLOW, ACTIVITY_SHAPES.everywhere
    never = found.false | (found.fails if is_allow else 0)
    if never == everywhere:
        how = "is false or fails" if is_allow and found.fails else "is false"
        yield _warning(policy, WarningCode.NEVER_APPLIES, f"never applies: its condition {how} for every activity")
    if is_allow and found.true == everywhere and not policy.consensus:
        yield _warning(
            policy,
            WarningCode.ALLOWS_EVERYTHING,
            "allows every activity to every user: give it a condition or a consensus",
        )
    for text in (policy.condition, policy.consensus):
        for sentence in impossible_literals(parse(text), known) if text else ():
            yield _warning(policy, WarningCode.IMPOSSIBLE_LITERAL, f"may never apply: {sentence}")
    if not is_allow:
        denies = "it denies everything" if settings.fails_closed else "it denies nothing"
        for where in failing(analyzed.survey, found):
            yield PolicyWarning(
                policy.policy_id,
                policy.policy_name,
                WarningCode.DENIES_NOTHING,
                f"DENY policy {_called(policy)}: {denies}{where}",
            )


def _ways_past(analyzed: _Analyzed, settings: ServerSettings) -> Iterator[tuple[PolicyWarning, int]]:
    """Warnings about ways to bypass a DENY policy, each with the shapes of activities that must be denied too."""
    policy, tree = analyzed.policy, analyzed.tree
    if policy.effect is not Effect.DENY or tree is None:
        return
    shapes, possible = ACTIVITY_SHAPES, ACTIVITY_SHAPES.everywhere & ~analyzed.found.false
    kinds = shapes.known["activity.kind"]
    for pair in _SAME_EFFECT:
        for one, other in (pair, pair[::-1]):
            if possible & kinds[one] and not possible & kinds[other]:
                sentence = f"speaks of {one} and not of {other}, which can do the same: name both kinds"
                yield _warning(policy, WarningCode.OTHER_KIND, sentence), kinds[other]
    names = {node.name for node in walk(tree) if isinstance(node, Name | Field)}
    raw = 0
    for encoding in RAW_ENCODINGS:
        raw |= shapes.known["activity.params.encoding"][encoding]
    is_of_transactions_alone = bool(possible & kinds["SIGN_TRANSACTION"]) and not possible & raw
    if (is_transaction_named(names) or is_of_transactions_alone) and not settings.refuses_raw_payloads:
        sentence = (
            "can be passed by: the same transaction can be signed as a raw payload. Deny those, too: "
            f"{DENY_RAW_PAYLOADS}"
        )
        yield _warning(policy, WarningCode.RAW_PAYLOAD, sentence), raw
    if any(path == "wallet_account.address" for path, _ in compared_literals(tree, {})):
        sentence = (
            "can be passed by: the key of this account may have addresses of other formats, or sign for other "
            "accounts. Name wallet.id instead"
        )
        yield _warning(policy, WarningCode.OTHER_ADDRESS, sentence), shapes.present["wallet_account"]


def _warning(policy: Policy, code: WarningCode, what: str) -> PolicyWarning:
    effect = policy.effect.removeprefix("EFFECT_")
    return PolicyWarning(policy.policy_id, policy.policy_name, code, f"{effect} policy {_called(policy)} {what}")


def _called(policy: Policy) -> str:
    """A policy in a file has no id of its own."""
    known = f" ({policy.policy_id})" if policy.policy_id != policy.policy_name else ""
    return f"{policy.policy_name!r}{known}"
