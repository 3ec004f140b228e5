"""Cases on which policies are tried: who asks for what, who approves it, and what is to come of it.

Here: from decoded TOML or JSON to a decision, vote by vote as in the life of an activity. Not here: files, servers
and printing (`cli`), the decision (`judgement`), MFA policies, and approvals that lapse: no case lasts a day.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.policies.facts import Approval, AskedActivity, Facts, visible_params
from keystead.policies.judgement import Judgement, Verdict, judge, may_vote
from keystead.policies.resources import OWN_RIGHTS
from keystead.policies.stage import Stage, named_user
from keystead.policies.written import Written, WrittenWrong, check_params, check_resources, read

Moment = Annotated[datetime, Meta(tz=True)]
Outcome = Literal["allow", "needs consensus", "deny"]

OUTCOMES: Mapping[Verdict, Outcome] = {
    Verdict.ALLOW: "allow",
    Verdict.NEEDS_CONSENSUS: "needs consensus",
    Verdict.DENY_IMPLICIT: "deny",
    Verdict.DENY_EXPLICIT: "deny",
}
_VOTES = frozenset({"APPROVE_ACTIVITY", "REJECT_ACTIVITY"})


class CaseFile(Written, frozen=True):
    """A file of cases. `policies` are paths, or policies; `at` holds for cases that name no time of their own."""

    cases: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    policies: str | tuple[str | dict[str, Any], ...] | None = None
    users: tuple[dict[str, Any], ...] | None = None
    root_quorum: dict[str, Any] | None = None
    deny_policies_fail_closed: bool = False
    at: Moment | None = None


class WrittenApproval(Written, frozen=True):
    """`with` is the id or the type of a credential."""

    who: str
    with_: str = msgspec.field(default="", name="with")


class WrittenCase(Written, frozen=True):
    """One case. `by`: the policy that is to decide. `owner`: whose own credentials the activity is about."""

    name: str
    who: str | WrittenApproval
    type: str
    expect: Outcome
    by: str = ""
    approvals: tuple[str | WrittenApproval, ...] = ()
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    resources: dict[str, Any] = msgspec.field(default_factory=dict)
    at: Moment | None = None
    owner: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A case on its stage: what is decided on first, and the approvals that follow, each with what its user is
    called."""

    written: WrittenCase
    facts: Facts
    approvals: tuple[tuple[str, Approval], ...]


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a case. `uncounted` are those whose vote would be refused, `unsafe` DENY policies that failed
    although they might have been meant to deny.
    """

    case: WrittenCase
    outcome: Outcome
    judgement: Judgement
    uncounted: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        by = self.case.by
        return self.outcome == self.case.expect and (not by or by in self.judgement.policy_ids)


def read_cases(file: CaseFile, stage: Stage, now_ms: int, where: str) -> list[Case]:
    """The cases of a file, on this stage. `now_ms` is for those that no time is given for. Raises WrittenWrong."""
    default_ms = now_ms if file.at is None else _ms(file.at)
    return [
        _case(table, stage, default_ms, f"{where}, case {number}") for number, table in enumerate(file.cases, 1)
    ]


def _case(table: Mapping[str, Any], stage: Stage, default_ms: int, where: str) -> Case:
    written = read(table, WrittenCase, where)
    where = f"{where} ({written.name})"
    _check_type(written.type, f"{where}.type")
    check_params(written.type, written.params, f"{where}.params")
    check_resources(written.resources, f"{where}.resources")
    if written.by and written.by not in {named.id for named in stage.policies}:
        raise WrittenWrong(f"{where}.by", _unknown("policy", written.by, [named.id for named in stage.policies]))
    now_ms = default_ms if written.at is None else _ms(written.at)
    _, submitted = _approval(written.who, stage, now_ms, f"{where}.who")
    facts = Facts(
        root_quorum=stage.root_quorum,
        users=stage.users,
        policies=stage.policies,
        approvals=(submitted,),
        submitter_id=submitted.user_id,
        activity=AskedActivity(type=written.type, params=visible_params(written.type, written.params)),
        now_ms=now_ms,
        owner_id=_owner(written, stage, f"{where}.owner"),
        resources=written.resources,
        fail_closed=stage.fail_closed,
    )
    approvals = tuple(_approval(each, stage, now_ms, f"{where}.approvals") for each in written.approvals)
    return Case(written=written, facts=facts, approvals=approvals)


def play(case: Case) -> CaseResult:
    """The submission and, as long as more approvals are needed, one after the other; a vote that would not count
    is refused, as it is by a server."""
    facts = case.facts
    judgement = judge(facts)
    uncounted = []
    for called, approval in case.approvals:
        if judgement.verdict is not Verdict.NEEDS_CONSENSUS:
            break
        if not may_vote(facts, approval.user_id):
            uncounted.append(called)
            continue
        facts = replace(facts, approvals=(*facts.approvals, approval))
        judgement = judge(facts)
    return CaseResult(
        case=case.written,
        outcome=OUTCOMES[judgement.verdict],
        judgement=judgement,
        uncounted=tuple(uncounted),
        unsafe=() if facts.fail_closed else _unsafe(facts),
    )


def _unsafe(facts: Facts) -> tuple[str, ...]:
    """The DENY policies that would deny if failing were set to deny."""
    closed = judge(replace(facts, fail_closed=True))
    return tuple(each.policy_id for each in closed.evaluations if each.failed_closed)


def _check_type(activity_type: str, where: str) -> None:
    if activity_type not in ACTIVITY_TYPES:
        raise WrittenWrong(where, _unknown("type of activity", activity_type, ACTIVITY_TYPES))
    if activity_kind(activity_type) in _VOTES:
        raise WrittenWrong(where, "votes are decided with the activity voted on: list them as its `approvals`")


def _unknown(what: str, given: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(given, list(known), 1)
    return f"there is no {what} {given!r}" + (f"; is it {near[0]!r}?" if near else "")


def _approval(who: str | WrittenApproval, stage: Stage, now_ms: int, where: str) -> tuple[str, Approval]:
    written = WrittenApproval(who=who) if isinstance(who, str) else who
    return written.who, stage.approval(written.who, written.with_, now_ms, where)


def _owner(written: WrittenCase, stage: Stage, where: str) -> str | None:
    """Who is named; else, of what users may do to themselves, the user that the parameters name."""
    called = written.owner
    if not called and activity_kind(written.type) in OWN_RIGHTS:
        called = written.params.get("user_id", "")
    return named_user(stage.users, called, where).user_id if called else None


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
