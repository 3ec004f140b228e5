"""The step that executes an activity, and builds the commit of the decision and of what the execution asks for.

Here: the activity's next status, its result, refusals; the statements of app proofs, whose exact bytes the
proof key signs; whether it begins a session of a user whose MFA policy is not met. A proof shows which server
answered. It does not attest the hardware of the server. Not here: the functions (`operations`), the
organization's next version (`changes`), writing the commit (`storage`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import PermissionDenied, ServiceError
from keystead.api.records import Evaluation, Status, User, Vote, WalletAccount, Wire
from keystead.api.rendering import encode
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization, Put
from keystead.pipeline import execution
from keystead.pipeline.activity import Event, RecordedActivity, next_status
from keystead.pipeline.changes import changes_of, new_organization_of, result_of, versioned_rows
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import Output
from keystead.pipeline.mfa import MfaStatuses
from keystead.pipeline.store import Changes, Commit
from keystead.pipeline.submission import recorded_envelope

CheckOutput = Callable[[execution.Output[Wire]], Awaitable[None]]


async def execute(
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    environment: Environment,
    *,
    new_votes: tuple[Vote, ...],
    check: CheckOutput | None = None,
) -> Commit:
    """Execute the activity, and return the commit with its result.

    `evaluation`: the record of the decision that allows it. `new_votes`: as in `Commit`. `check` gets the output
    and may refuse it. For a new submission, a refusal that writes nothing is raised, and the commit of another
    refusal has no activity. For an activity on record, the refusal becomes its failure."""
    is_new, changes, made = activity.status is ActivityStatus.CREATED, None, None
    output: execution.Output[Wire] | execution.RefusalWithRows
    try:
        found = _output(basis, environment)
        output = found if isinstance(found, execution.Output | execution.RefusalWithRows) else await found
        if isinstance(output, execution.Output):
            if check is not None:
                await check(output)
            await check_proofs_of_session_users(basis, environment, output)
            settings, share = environment.settings, environment.share
            organization, added = basis.organization, basis.added
            changes = await changes_of(organization, output, added, evaluation.id, settings.limits, share)
            made = new_organization_of(output)
            for change in (changes, made):
                settings.published_keys.check(() if change is None else change.lookups_added)
    except ServiceError as refused:
        if is_new or refused.is_temporary:
            raise
        output = execution.RefusalWithRows(error=refused, rows=())
    if isinstance(output, execution.Output):
        assert changes is None or basis.operation.changes_organization, basis.operation.name
        commit = commit_of(activity, Event.EXECUTED, basis, evaluation, new_votes=new_votes)
        return await _with_output(commit, output, changes, made, basis, environment)
    if is_new:
        return commit_of_refusal(output.error, activity, basis, evaluation, rows=output.rows)
    failure = Status(code=output.error.grpc_code, message=output.error.message)
    failed = replace(activity, failure=failure)
    return replace(commit_of(failed, Event.FAILED, basis, evaluation, new_votes=new_votes), rows=output.rows)


def _output(
    basis: DecisionBasis, environment: Environment
) -> (
    execution.Output[Wire]
    | execution.RefusalWithRows
    | Awaitable[execution.Output[Wire] | execution.RefusalWithRows]
):
    """The output of the operation's function, or of an earlier attempt if that was computed from an equal
    context."""
    if basis.missing is not None:
        raise basis.missing
    computed = basis.computed
    if computed is not None and computed.context == basis.context:
        return computed.output
    return basis.operation.execute(execution_of(basis, environment), basis.intent)


async def _with_output(
    commit: Commit,
    output: execution.Output[Wire],
    changes: Changes | None,
    made: Changes | None,
    basis: DecisionBasis,
    environment: Environment,
) -> Commit:
    """The commit of an executed activity with everything that the execution asks for. `made`: the organization that
    it creates."""
    activity = commit.activity
    assert activity is not None
    recorded = output.result if output.recorded_result is None else output.recorded_result
    activity = replace(activity, result=result_of(basis.version, recorded))
    may_want_proofs = b'"generateAppProofs"' in activity.request  # cheaper than decoding every request
    if may_want_proofs and recorded_envelope(activity.request).generate_app_proofs:
        payloads = app_proof_payloads(activity, basis.organization, output.derived, basis.now_ms)
        activity = replace(activity, app_proofs=await environment.signer.sign_app_proofs(payloads))
    answer = None
    if output.recorded_result is not None:
        answer = replace(activity, result=result_of(basis.version, output.result))
    return replace(
        commit,
        activity=activity,
        changes=changes,
        new_organization=made,
        rows=versioned_rows(output.attachments),
        counted=basis.counted(),
        answer=answer,
        computed=_reusable(output, basis),
    )


def commit_of(
    activity: RecordedActivity,
    event: Event,
    basis: DecisionBasis,
    evaluation: Evaluation,
    *,
    new_votes: tuple[Vote, ...],
) -> Commit:
    """The commit of the activity in the status that the event leads to, which changes nothing else."""
    return Commit(
        organization_id=basis.organization.id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=replace(activity, status=next_status(activity.status, event)),
        new_votes=new_votes,
        evaluations=(evaluation,),
    )


def commit_of_refusal(
    refusal: ServiceError,
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    rows: tuple[VersionedRow, ...] = (),
) -> Commit:
    """The commit of a new submission that is refused: its evaluation and the rows of the refusal, no activity."""
    return Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=None,
        evaluations=(evaluation,),
        rows=rows,
        answer=refusal,
    )


def _reusable(output: execution.Output[Wire], basis: DecisionBasis) -> execution.ComputedOutput | None:
    """What a later attempt may commit without executing again: the output of an operation that depends only on its
    parameters and its context, such as a signature. A new organization also depends on its parent."""
    if output.new_organization is not None:
        return None
    if basis.operation.load_context is None or basis.operation.changes_organization:
        return None
    return execution.ComputedOutput(basis.context, output)


def execution_of(basis: DecisionBasis, environment: Environment) -> execution.Execution:
    """The argument of the operation's function, with the loaded context if the operation loads one."""
    kind: Callable[..., execution.Execution] = execution.Execution
    if basis.operation.asks_provider:
        kind = partial(execution.ExecutionWithOAuth2, context=basis.context, oauth2=environment.oauth2)
    elif basis.operation.load_context is not None:
        kind = partial(execution.ExecutionWith, context=basis.context)
    return kind(
        organization=basis.organization,
        submitter_id=basis.submitter_id,
        submission=basis.submission,
        now_ms=basis.now_ms,
        limits=environment.settings.limits,
        messages=environment.settings.messages,
        webhooks=environment.settings.webhooks,
        signer=environment.signer,
        new_id=environment.new_id,
        share=environment.share,
    )


def app_proof_payloads(
    activity: RecordedActivity, organization: Organization, derived: Sequence[WalletAccount], now_ms: int
) -> list[str]:
    """The statements about an executed activity: that it was allowed, then each derived address.

    The digest of the decision's context covers the activity's id, type and fingerprint. The digest of the
    organization's data covers its id and version. Both can be computed again from the record.
    """
    version = organization.version
    outcome = policy_outcome_payload(
        timestamp_ms=now_ms,
        organization_id=organization.id,
        outcome="OUTCOME_ALLOW",
        decision_context_digest=_digest(
            {"activityId": activity.id, "fingerprint": activity.fingerprint, "type": activity.type}
        ),
        organization_data_digest=_digest(
            {"organizationId": organization.id, "version": version.number, "changedBy": version.changed_by}
        ),
        parent_organization_data_digest="",
        votes=activity.votes,
    )
    return [outcome] + [
        address_derivation_payload(
            timestamp_ms=now_ms,
            organization_id=organization.id,
            wallet_id=account.wallet_id,
            derivation_path=account.path,
            address=account.address,
        )
        for account in derived
    ]


def address_derivation_payload(
    *, timestamp_ms: int, organization_id: str, wallet_id: str, derivation_path: str, address: str
) -> str:
    """This wallet has this address at this path, in the requested spelling. Time in milliseconds since the
    epoch."""
    return _payload(
        "APP_PROOF_TYPE_ADDRESS_DERIVATION",
        timestamp_ms,
        "addressDerivationProof",
        {
            "organizationId": organization_id,
            "walletId": wallet_id,
            "derivationPath": derivation_path,
            "address": address,
        },
    )


def policy_outcome_payload(
    *,
    timestamp_ms: int,
    organization_id: str,
    outcome: str,
    decision_context_digest: str,
    organization_data_digest: str,
    parent_organization_data_digest: str,
    votes: Sequence[Vote],
) -> str:
    """What the policies decided (`outcome`, e.g. OUTCOME_ALLOW), on which data, and who approved.

    Digests are hex. The payload states the approvals among `votes`, in their order, with what the users signed.
    Time in milliseconds since the epoch.
    """
    return _payload(
        "APP_PROOF_TYPE_POLICY_OUTCOME",
        timestamp_ms,
        "policyOutcomeProof",
        {
            "organizationId": organization_id,
            "outcome": outcome,
            "decisionContextDigest": decision_context_digest,
            "organizationDataDigest": organization_data_digest,
            "parentOrganizationDataDigest": parent_organization_data_digest,
            "userRequestApprovals": [
                {
                    "scheme": vote.scheme,
                    "publicKey": vote.public_key,
                    "message": vote.message,
                    "signature": vote.signature,
                }
                for vote in votes
                if vote.selection is VoteSelection.APPROVED
            ],
        },
    )


def _payload(proof_type: str, timestamp_ms: int, member: str, statement: Mapping[str, Any]) -> str:
    payload = {"type": proof_type, "timestampMs": str(timestamp_ms), member: statement}
    return encode(payload).decode()


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(encode(facts)).hexdigest()


async def check_proofs_of_session_users(
    basis: DecisionBasis, environment: Environment, output: Output[Wire]
) -> None:
    """Raise PermissionDenied if the output begins a session of another user, whose MFA policy applies to this
    activity, and who has not approved it with all proofs that the policy asks for."""
    if basis.authorized_by is not None or not any(added.is_session for added in basis.added):
        return
    changed = [change.record for change in output.changes if isinstance(change, Put)]
    ids = {record.user_id for record in changed if isinstance(record, User)} - {basis.submitter_id}
    users = [basis.organization.users[id_] for id_ in ids]
    if not any(user.mfa_policies for user in users):
        return
    voters = {basis.submitter_id, *[proof.user_id for proof in basis.proofs]} - ids
    known = basis.organization.users
    asked = [*users, *[known[id_] for id_ in sorted(voters) if id_ in known]]
    policies = await environment.policy_sets.of(basis.organization, asked)
    statuses = MfaStatuses(replace(basis, policies=policies), sorted(ids))
    for user in users:
        if statuses.lacks_proofs(user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {basis.version.activity_type}, and only that "
                "user can prove what it asks for: log in with stamp_login"
            )
