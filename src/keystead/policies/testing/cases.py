"""Test cases of policies: who submits an activity, who approves it, and the expected outcome.

Here: from decoded TOML or JSON to a decision, vote by vote as in the life of an activity. Not here: files, servers
and printing (`cli`), the decision (`authorize`), MFA policies, and approvals that lapse: no case lasts a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.choices import did_you_mean
from keystead.api.errors import InvalidRequest
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.policies.authorize import Authorizer, Decision, Verdict
from keystead.policies.language.expression import CompiledExpression, compile_stored
from keystead.policies.policy import check_scope, scope_source
from keystead.policies.policy_set import PolicySet
from keystead.policies.request import (
    Approval,
    AuthorizationRequest,
    RequestedActivity,
    may_sign_transaction_unseen,
    visible_params,
)
from keystead.policies.resources import OWN_RIGHTS
from keystead.policies.testing import schema
from keystead.policies.testing.organization import OrganizationUnderTest, named_user

Moment = Annotated[datetime, Meta(tz=True)]
Expectation = Literal["allow", "needs consensus", "deny"]

EXPECTATIONS: Mapping[Verdict, Expectation] = {
    Verdict.ALLOW: "allow",
    Verdict.NEEDS_CONSENSUS: "needs consensus",
    Verdict.DENY_IMPLICIT: "deny",
    Verdict.DENY_EXPLICIT: "deny",
}
_VOTES = frozenset({"APPROVE_ACTIVITY", "REJECT_ACTIVITY"})


class CaseFile(schema.TomlTable, frozen=True):
    """A file of cases. `policies` are paths, or policies; `at` is the time of cases without a time of their own."""

    cases: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    policies: str | tuple[str | dict[str, Any], ...] | None = None
    users: tuple[dict[str, Any], ...] | None = None
    root_quorum: dict[str, Any] | None = None
    refuse_raw_payloads: bool = False
    at: Moment | None = None


class ApprovalTable(schema.TomlTable, frozen=True):
    """`with` is the id or the type of a credential."""

    who: str
    with_: str = msgspec.field(default="", name="with")


class CaseTable(schema.TomlTable, frozen=True):
    """One case. `by`: the policy that must decide. `owner`: the user whose own credentials the activity is about.
    `scope`: that of the session profile, if a session under one submits it."""

    name: str
    who: str | ApprovalTable
    type: str
    expect: Expectation
    by: str = ""
    approvals: tuple[str | ApprovalTable, ...] = ()
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    resources: dict[str, Any] = msgspec.field(default_factory=dict)
    at: Moment | None = None
    owner: str = ""
    scope: str = ""


class PolicyCase(msgspec.Struct, frozen=True, kw_only=True):
    """`request`: the submission. `approvals`: those that follow, each with the name that the file gives its
    user."""

    table: CaseTable
    request: AuthorizationRequest
    policies: PolicySet
    approvals: tuple[tuple[str, Approval], ...]


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """`uncounted`: the users whose vote would be refused."""

    case: CaseTable
    outcome: Expectation
    decision: Decision
    uncounted: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        by = self.case.by
        return self.outcome == self.case.expect and (not by or by in self.decision.policy_ids)


def read_cases(file: CaseFile, organization: OrganizationUnderTest, now_ms: int, where: str) -> list[PolicyCase]:
    """The cases of a file, on this organization. `now_ms` is the time of cases that do not state one. Raises
    MalformedTable with every case that is malformed."""
    default_ms = now_ms if file.at is None else _ms(file.at)
    cases: list[PolicyCase] = []
    malformed = schema.MalformedTables()
    for number, table in enumerate(file.cases, 1):
        with malformed.collect():
            cases.append(_case(table, organization, default_ms, f"{where}, case {number}"))
    malformed.check()
    return cases


def _case(table: Mapping[str, Any], organization: OrganizationUnderTest, default_ms: int, where: str) -> PolicyCase:
    written = schema.read(table, CaseTable, where)
    where = f"{where} ({written.name})"
    _check_type(written.type, f"{where}.type")
    schema.check_params(written.type, written.params, f"{where}.params")
    schema.check_resources(written.resources, f"{where}.resources")
    policy_names = [policy.id for policy in organization.policies.policies]
    if written.by and written.by not in set(policy_names):
        raise schema.MalformedTable(f"{where}.by", _unknown("policy", written.by, policy_names))
    now_ms = default_ms if written.at is None else _ms(written.at)
    _, submitted = _approval(written.who, organization, now_ms, f"{where}.who")
    activity = RequestedActivity(type=written.type, params=visible_params(written.type, written.params))
    request = AuthorizationRequest(
        root_quorum=organization.root_quorum,
        users=organization.users,
        approvals=(submitted,),
        submitter_id=submitted.user_id,
        activity=activity,
        now_ms=now_ms,
        owner_id=_owner(written, organization, f"{where}.owner"),
        resources=written.resources,
        scope=_scope(written.scope, f"{where}.scope"),
        refuses_raw_payload=organization.refuse_raw_payloads
        and organization.policies.reads_transactions
        and may_sign_transaction_unseen(activity),
    )
    approvals = tuple(
        _approval(approver, organization, now_ms, f"{where}.approvals") for approver in written.approvals
    )
    return PolicyCase(table=written, request=request, policies=organization.policies, approvals=approvals)


def run_case(case: PolicyCase) -> CaseResult:
    """The result of the submission and of its approvals, which are cast one after the other while more are needed.
    A vote that would not count is refused, as on a server."""
    request, policies = case.request, case.policies
    authorizer = Authorizer(request, policies)
    decision = authorizer.decision()
    uncounted = []
    for called, approval in case.approvals:
        if decision.verdict is not Verdict.NEEDS_CONSENSUS:
            break
        if not authorizer.may_vote(approval.user_id):
            uncounted.append(called)
            continue
        request = replace(request, approvals=(*request.approvals, approval))
        authorizer = authorizer.with_approvals(request.approvals)
        decision = authorizer.decision()
    return CaseResult(
        case=case.table,
        outcome=EXPECTATIONS[decision.verdict],
        decision=decision,
        uncounted=tuple(uncounted),
    )


def _check_type(activity_type: str, where: str) -> None:
    if activity_type not in ACTIVITY_TYPES:
        raise schema.MalformedTable(where, _unknown("type of activity", activity_type, ACTIVITY_TYPES))
    if activity_kind(activity_type) in _VOTES:
        raise schema.MalformedTable(
            where, "a vote is not a case of its own: list it in the `approvals` of the activity"
        )


def _unknown(what: str, given: str, known: Iterable[str]) -> str:
    return f"there is no {what} {given!r}{did_you_mean(given, known)}"


def _approval(
    who: str | ApprovalTable, organization: OrganizationUnderTest, now_ms: int, where: str
) -> tuple[str, Approval]:
    written = ApprovalTable(who=who) if isinstance(who, str) else who
    return written.who, organization.approval(written.who, written.with_, now_ms, where)


def _owner(written: CaseTable, organization: OrganizationUnderTest, where: str) -> str | None:
    """The owner that the case names; otherwise, for an activity that users may submit about themselves, the user in
    its parameters."""
    called = written.owner
    if not called and activity_kind(written.type) in OWN_RIGHTS:
        called = written.params.get("user_id", "")
    return named_user(organization.users, called, where).user_id if called else None


def _scope(scope: str, where: str) -> CompiledExpression | None:
    if not scope:
        return None
    try:
        check_scope(scope, None)
    except InvalidRequest as refused:
        raise schema.MalformedTable(where, refused.message) from None
    return compile_stored(scope_source(scope))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
