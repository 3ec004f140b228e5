"""Everything that an activity is decided on and executed with, besides the rules: versions, what it asks for,
proofs.

Here: the value, how it is made for a new submission and for an activity on record, and how policies see the
activity. Not here: what operations look up (`operations`), the proofs in it (`proofs`), the decision
(`authorization`)."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.errors import PermissionDenied, ServiceError
from keystead.api.parameters import RequestStruct
from keystead.organizations.organization import Organization, Version
from keystead.organizations.principals import Principal
from keystead.organizations.velocity.counters import Counted
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.context import ContextSource
from keystead.pipeline.controls import Controls, controls_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ComputedOutput
from keystead.pipeline.operation import (
    THE_SUBMITTER,
    ActivityOperation,
    AddedCredential,
    IntentVersion,
    KnownBefore,
)
from keystead.pipeline.policy_set_cache import CompiledPolicies
from keystead.pipeline.proofs import counted_proofs, proof_of
from keystead.pipeline.submission import Submission, recorded_request
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.request import RequestedActivity, ResourceKeywords, visible_params


class DecisionBasis(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What one decision is made on.

    - `organization`: the version of the request's organization, which the commit replaces. `authority`: the
      organization whose policies decide. It is the parent if a user of the parent submits to a sub-organization;
      then `authorized_by` is its id and version. Otherwise it is `organization`.
    - `version`: the version of the activity type that was submitted. `intent`: what it asks for, in the current
      version.
    - `policies`: the authority's, with the MFA conditions of the submitter and of the users who approve.
    - `added`: the credentials that it adds to `organization`.
    - `owner_id`: the user whose own credentials or session it is about; None if it is about anything else.
    - `submission`: the proof that the stamp of the submission gives; None for an activity of the operator.
      `proofs`: those of the approvals that count.
    - `scope`: the scope of the session profile that a new submission is under.
    - `refuses_raw_payloads`: the operator's setting, by which raw payloads are refused if a policy reads
      transactions, and MFA policies about transactions apply to them.
    - `context`: what the operation looked up.
    - `controls`: the velocity controls of the authority, None if it has none. `further_controls`: those of
      `organization`, if that is not the authority; no rule reads them, and the activity counts.
    - `missing`: the error, if the look-up failed because a record was deleted after the submission. Then policies
      see no resources, and the execution fails with this error.
    - `computed`: the output of an earlier attempt at the same request.
    """

    organization: Organization
    authority: Organization
    authorized_by: tuple[str, Version] | None = None
    operation: ActivityOperation
    version: IntentVersion
    intent: RequestStruct
    policies: CompiledPolicies
    submitter_id: str
    added: Sequence[AddedCredential]
    owner_id: str | None
    submission: Proof | None
    proofs: tuple[Proof, ...]
    now_ms: int
    scope: CompiledExpression | None = None
    refuses_raw_payloads: bool = False
    context: Any = None
    controls: Controls | None = None
    further_controls: Controls | None = None
    missing: ServiceError | None = None
    computed: ComputedOutput | None = None

    @cached_property
    def requested(self) -> RequestedActivity:
        """The activity as policies see it. Its parameters are always those of the current version, as values of the
        policy language: text, numbers and lists."""
        intent, type_ = self.intent, self.version.activity_type
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name in intent.__struct_fields__
            if (value := getattr(intent, name)) is not None and not isinstance(value, msgspec.Struct)
        }
        return RequestedActivity(type=type_, params=visible_params(type_, given))

    @cached_property
    def resources(self) -> ResourceKeywords:
        """The keywords that policies see besides `activity`."""
        of_activity = _resources(self.operation, self.authority, self.intent, self.context, self.missing)
        if self.controls is None:
            return of_activity
        values, *others = ({**item, "controls": self.controls} for item in of_activity.items)
        return ResourceKeywords(values, tuple(others))

    def counted(self) -> tuple[Counted, ...]:
        """What the commit of the executed activity adds to the counters of velocity controls."""
        return tuple(
            [
                each
                for controls in (self.controls, self.further_controls)
                if controls is not None
                for each in controls.counted()
            ]
        )


def _resources(
    operation: ActivityOperation,
    authority: Organization,
    intent: RequestStruct,
    context: Any,
    missing: ServiceError | None,
) -> ResourceKeywords:
    if operation.resources is None or missing is not None:
        return ResourceKeywords()
    return operation.resources(authority, intent, context)


async def basis_of_submission(
    submission: Submission,
    caller: Principal,
    organization: Organization,
    authority: Organization,
    environment: Environment,
    now_ms: int,
    computed: ComputedOutput | None,
) -> DecisionBasis:
    """The basis for a new submission.

    Raises the error of the operation's precondition or of its look-up.
    """
    body, submitter_id = submission.body, caller.user.user_id
    operation, intent = body.operation, body.version.upgrade(body.intent)
    if operation.precondition is not None:
        operation.precondition(submitter_id, intent)
    scope = await scope_of(caller, authority, environment)
    proof = proof_of(caller, submission, authority, now_ms)
    context = await _load_context(operation, intent, organization, submitter_id, environment)
    known = KnownBefore(organization, submitter_id, submission.identities, context)
    basis = DecisionBasis(
        organization=organization,
        authority=authority,
        authorized_by=None if authority is organization else (authority.id, authority.version),
        operation=operation,
        version=body.version,
        intent=intent,
        policies=await environment.policy_sets.of(authority, (caller.user,)),
        submitter_id=submitter_id,
        added=added_credentials(operation, intent, known),
        owner_id=_owner_of(operation, intent, submitter_id),
        scope=scope,
        submission=proof,
        proofs=(proof,),
        now_ms=now_ms,
        refuses_raw_payloads=environment.settings.refuse_raw_payloads,
        context=context,
        computed=computed,
    )
    named = {*basis.policies.policy_set.controls, *(() if scope is None else scope.controls)}
    for condition in basis.policies.mfa_conditions.values():
        named |= condition.controls
    return await _with_controls(basis, named, environment)


async def basis_of_activity(
    activity: RecordedActivity,
    organization: Organization,
    environment: Environment,
    now_ms: int,
    user_ids: Sequence[str] = (),
) -> DecisionBasis:
    """The basis for an activity on record at the time `now_ms`, with its context as it is now. If the look-up is
    refused, the error is `missing`. The MFA conditions are those of the submitter, of all users who approve, and of
    `user_ids`.

    Raises ServiceError if the look-up failed for a temporary reason.
    """
    operation = operation_of(activity, environment)
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    _, submitted = recorded_request(version, activity.request)
    intent, submitter_id = version.upgrade(submitted), activity.submitter_id
    proofs = counted_proofs(activity, organization)
    voters = dict.fromkeys([submitter_id, *[proof.user_id for proof in proofs], *user_ids])
    users = [user for user_id in voters if (user := organization.users.get(user_id)) is not None]
    context = missing = None
    try:
        context = await _load_context(operation, intent, organization, submitter_id, environment)
    except ServiceError as refused:
        if refused.is_temporary:
            raise
        missing = refused
    identities = {} if activity.submission is None else activity.submission.identities
    known = KnownBefore(organization, submitter_id, identities, context)
    basis = DecisionBasis(
        organization=organization,
        authority=organization,
        operation=operation,
        version=version,
        intent=intent,
        policies=await environment.policy_sets.of(organization, users),
        submitter_id=submitter_id,
        added=added_credentials(operation, intent, known),
        owner_id=_owner_of(operation, intent, submitter_id),
        submission=activity.submission,
        proofs=proofs,
        now_ms=now_ms,
        refuses_raw_payloads=environment.settings.refuse_raw_payloads,
        context=context,
        missing=missing,
    )
    return await _with_controls(basis, None, environment)


async def _with_controls(basis: DecisionBasis, named: Set[str] | None, environment: Environment) -> DecisionBasis:
    """The basis with the velocity controls, if there are any. `named`: those that the rules may read, besides those
    by which the activity counts; None for all."""
    if not any(len(each.velocity_controls) for each in (basis.authority, basis.organization)):
        return basis
    keywords = _resources(basis.operation, basis.authority, basis.intent, basis.context, basis.missing).values
    used = keywords.get("wallet") or keywords.get("private_key") or {}
    signs = basis.operation.signs
    signed = None if signs is None or basis.missing is not None else signs(basis.context)

    async def of(organization: Organization, named: Set[str] | None) -> Controls | None:
        return await controls_of(
            organization,
            basis.version.activity_type,
            basis.submitter_id,
            used.get("id", ""),
            signed,
            named,
            environment.store,
            basis.now_ms,
        )

    further = None if basis.authority is basis.organization else await of(basis.organization, frozenset())
    return replace(basis, controls=await of(basis.authority, named), further_controls=further)


async def scope_of(
    caller: Principal, organization: Organization, environment: Environment
) -> CompiledExpression | None:
    """The scope of the session that stamped the caller's request; None if no session profile limits it.

    The profile belongs to the organization or to its parent. Raises PermissionDenied if neither has it.
    """
    profile_id = caller.session_profile_id
    if not profile_id:
        return None
    holder: Organization | None = organization
    if profile_id not in organization.session_profiles and organization.profile.parent_id is not None:
        holder = await environment.store.organization(organization.profile.parent_id)
    if holder is None or profile_id not in holder.session_profiles:
        raise PermissionDenied(f"the session profile {profile_id} of this session no longer exists; log in again")
    return await environment.policy_sets.scope(holder, holder.session_profiles[profile_id].scope)


def operation_of(activity: RecordedActivity, environment: Environment) -> ActivityOperation:
    """The operation of an activity on record."""
    operation = environment.catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    return operation


def _owner_of(operation: ActivityOperation, intent: RequestStruct, submitter_id: str) -> str | None:
    """The user whose own credentials or session the activity is about. None if it is about anything else, or if the
    user is not known."""
    owner = None if operation.owner is None else operation.owner(intent)
    return submitter_id if owner == THE_SUBMITTER else owner


def added_credentials(
    operation: ActivityOperation, intent: RequestStruct, known: KnownBefore
) -> list[AddedCredential]:
    """The credentials that the activity adds, each with its user."""
    declared = () if operation.adds is None else operation.adds(known, intent)
    return [replace(each, holder=known.submitter_id) if each.holder == THE_SUBMITTER else each for each in declared]


async def _load_context(
    operation: ActivityOperation,
    intent: RequestStruct,
    organization: Organization,
    submitter_id: str,
    environment: Environment,
) -> Any:
    if operation.load_context is None:
        return None
    source = ContextSource(
        organization=organization,
        submitter_id=submitter_id,
        store=environment.store,
        transactions=environment.settings.transactions,
        cache=environment.signing_cache,
        share=environment.share,
    )
    return await operation.load_context(source, intent)
