"""Checking a policy before it is saved, and what its expressions may name: queries of our own, for editors.

Not here: the checks (`policies.language.expression`), the warnings (`policies.linting`).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, assert_never

from msgspec import Meta

from keystead.api.enums import Effect
from keystead.api.parameters import QueryRequest
from keystead.api.records import Policy, Timestamp, Wire
from keystead.operations.declare import Reading, query
from keystead.operations.policies.policy_warnings import PolicyWarningRecord, warning_record, warnings_of
from keystead.policies.language.expression import Expression
from keystead.policies.language.namespaces import KEYWORDS
from keystead.policies.language.syntax import ExpressionRefused
from keystead.policies.language.types import ListOf, MapOf, NamedByOrganization, Scalar, StructOf, Type
from keystead.policies.policy import sources_of
from keystead.primitives.share import Work

CheckedText = Annotated[str, Meta(max_length=10_000)]

_UNSAVED: Final = "not saved"
"""The id of a policy that is not saved."""


class CheckPolicyRequest(QueryRequest, frozen=True):
    """A policy as `create_policy` takes it; a clause that is absent or empty is true."""

    effect: Effect
    condition: CheckedText = ""
    consensus: CheckedText = ""
    time: CheckedText = ""


class ExpressionProblem(Wire, frozen=True):
    """Why a clause is refused. `line` and `column` count from 1, columns in characters."""

    clause: str
    message: str
    line: int
    column: int


class CheckPolicyResponse(Wire, frozen=True):
    """`problems`: at most one for each clause; a policy with a problem is refused. `warnings`: what the author may
    not have intended, as in `list_policy_warnings`; empty if there are problems."""

    problems: tuple[ExpressionProblem, ...]
    warnings: tuple[PolicyWarningRecord, ...]


@query(own=True)
async def check_policy(reading: Reading, request: CheckPolicyRequest) -> CheckPolicyResponse:
    """Whether a policy could be saved, and what its author may not have intended. Nothing is saved."""
    policy = unsaved_policy(reading, request)
    environment = reading.environment
    problems = []
    controls = reading.organization.velocity_controls.labels()
    for source in sources_of(policy).given:
        try:
            await environment.share.run(
                reading.organization.id, Work.COMPILING, partial(Expression, source, controls), len(source.text)
            )
        except ExpressionRefused as refused:
            line, column = refused.place
            problems.append(
                ExpressionProblem(clause=source.clause, message=refused.reason, line=line, column=column)
            )
    if problems:
        return CheckPolicyResponse(problems=tuple(problems), warnings=())
    warnings = await warnings_of(reading.organization, environment, {_UNSAVED}, unsaved=policy)
    return CheckPolicyResponse(problems=(), warnings=tuple(map(warning_record, warnings)))


def unsaved_policy(reading: Reading, request: CheckPolicyRequest) -> Policy:
    """The record that the request's policy would be."""
    now = Timestamp.from_ms(reading.now_ms)
    return Policy(
        policy_id=_UNSAVED,
        policy_name="this policy",
        effect=request.effect,
        created_at=now,
        updated_at=now,
        notes="",
        consensus=request.consensus,
        condition=request.condition,
        time=request.time or None,
    )


class ListPolicyKeywordsRequest(QueryRequest, frozen=True):
    pass


class PolicyKeyword(Wire, frozen=True):
    """`path`: as an expression writes it, such as `eth.tx.to`. `[]` after a list stands for one of its items; `[]`
    after a map stands for one of its values. `type`: in words."""

    clause: str
    path: str
    type: str


class ListPolicyKeywordsResponse(Wire, frozen=True):
    policy_keywords: tuple[PolicyKeyword, ...]


@query(of_version=True, own=True)
def list_policy_keywords(_: Reading, __: ListPolicyKeywordsRequest) -> ListPolicyKeywordsResponse:
    """Everything that expressions of policies may name, with its type."""
    return ListPolicyKeywordsResponse(
        policy_keywords=tuple(
            keyword
            for clause, keywords in KEYWORDS.items()
            for name, kind in keywords.items()
            for keyword in paths_of(clause, name, kind)
        )
    )


def paths_of(clause: str, path: str, kind: Type) -> list[PolicyKeyword]:
    """A keyword of this type and everything in it that an expression may name, each by its path."""
    match kind:
        case Scalar():
            return [PolicyKeyword(clause=clause, path=path, type=kind.value)]
        case ListOf(item=item):
            inner = paths_of(clause, f"{path}[]", item)
            return [PolicyKeyword(clause=clause, path=path, type="a list"), *inner]
        case NamedByOrganization(value=value):
            return paths_of(clause, f"{path}.<identifier>", value)
        case MapOf(value=value):
            inner = paths_of(clause, f"{path}[]", value)
            return [PolicyKeyword(clause=clause, path=path, type="a map"), *inner]
        case StructOf(fields=fields):
            return [
                keyword for name, field in fields.items() for keyword in paths_of(clause, f"{path}.{name}", field)
            ]
        case unknown:
            assert_never(unknown)
