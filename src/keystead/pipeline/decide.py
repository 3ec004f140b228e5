"""The step that decides on a submission or a vote, on one version of its organization: what to commit.

Here: the versions that it is decided on, whether the caller still has the key, what must be written before, the
webhook events; what users of a parent may not do; which requests may not wait; a new submission, also of the
operator, and in a status that a developer chose. Not here: the order of decisions and the write
(`organization_writer`), a vote (`vote`), the execution (`execute`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import Catalogue
from keystead.api.enums import FINAL_STATUSES, ActivityStatus, FeatureName, VoteSelection
from keystead.api.errors import NotFound, PermissionDenied
from keystead.api.parameters import RequestStruct
from keystead.api.records import Evaluation, Status, Timestamp, User, Wire
from keystead.api.rendering import Form, rendered_activity
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.ip_allowlists import check_source
from keystead.organizations.organization import Organization, Put
from keystead.organizations.principals import Principal, principal_in, unknown_key_error
from keystead.organizations.webhooks import webhooks
from keystead.organizations.webhooks.filters import filters_of
from keystead.pipeline.activity import Event, RecordedActivity, chosen_by_developer
from keystead.pipeline.authorization import (
    authorization_request,
    authorize_activity,
    controls_in_the_way,
    evaluation_of,
    event_of,
    limits_by_policy,
)
from keystead.pipeline.bounds import EVENT_BYTES_MAX
from keystead.pipeline.decision_basis import DecisionBasis, basis_of_activity, basis_of_submission, operation_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execute import commit_of, commit_of_refusal, execute
from keystead.pipeline.execution import ComputedOutput, Output
from keystead.pipeline.mfa import MfaStatuses
from keystead.pipeline.operation import UserProof
from keystead.pipeline.organization_writer import Decided, MustBeFirst
from keystead.pipeline.proofs import vote_of
from keystead.pipeline.store import Commit, Store
from keystead.pipeline.submission import Submission, SubmissionBody, view
from keystead.pipeline.vote import decide_vote
from keystead.policies.added_credentials import policies_without_approval
from keystead.policies.authorize import Verdict
from keystead.policies.denial import denied
from keystead.primitives.share import Work
from keystead.sessions.verification_tokens import claimed_id_without_key


def check_user_is_proven(basis: DecisionBasis) -> None:
    """Raise PermissionDenied if nothing proves the sub-organization's user whom the activity changes, unless the
    sub-organization allows this to users of its parent."""
    by_parent, organization = basis.operation.by_parent, basis.organization
    proven = by_parent is not None and by_parent.proof is not UserProof.NONE
    if not proven and FeatureName.PARENT_AUTH not in organization.profile.features:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization needs a proof of the user: use "
            "otp_login or oauth_login, which take a code or an ID token; or let the root quorum of organization "
            f"{organization.id} enable {FeatureName.PARENT_AUTH} with set_organization_feature"
        )


def check_waits_for_nobody(event: Event, basis: DecisionBasis) -> None:
    """Raise PermissionDenied unless the activity of a user of the parent is executed at once."""
    if event is not Event.EXECUTED:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            "proofs; write a policy of the parent that allows it with this user's approval alone"
        )


def check_chosen_waits_for_nobody(chosen: ActivityStatus, basis: DecisionBasis) -> None:
    """The same for the status that a developer chose: votes on a waiting activity do not ask about MFA policies of
    the user whom it changes."""
    if chosen not in FINAL_STATUSES:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            f"proofs: choose a final status for it, not {chosen}"
        )


async def check_rules_of_users(basis: DecisionBasis, environment: Environment, output: Output[Wire]) -> None:
    """Raise PermissionDenied if an MFA policy of a user whom the execution changes applies to this activity, or if
    a policy of the sub-organization would count a lasting credential that it adds.

    The parent's user cannot give that user's proofs or approvals, so the activity would bypass these rules.
    """
    organization = basis.organization
    changed = [change.record for change in output.changes if isinstance(change, Put)]
    users = [organization.users[record.user_id] for record in changed if isinstance(record, User)]
    policies = await environment.policy_sets.of(organization, users)
    added = [added for added in basis.added if not added.is_session]
    by_users = replace(basis, authority=organization, proofs=(), policies=policies, added=added)
    statuses = MfaStatuses(by_users, [user.user_id for user in users])
    for user in users:
        if statuses.lacks_proofs(user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {basis.version.activity_type}, and only that "
                "user can prove what it asks for: log in with stamp_login"
            )
    request = authorization_request(by_users)
    if policy_ids := policies_without_approval(request, policies.policy_set):
        raise PermissionDenied(
            f"the consensus of policy {policy_ids[0]} of organization {organization.id} would count the credential "
            f"that {basis.version.activity_type} adds: only a user of that organization can add it"
        )


async def decide(
    submission: Submission,
    organization: Organization | None,
    unwritten: Sequence[Commit],
    computed: ComputedOutput | None,
    environment: Environment,
) -> Decided:
    """What to commit for this submission, or the activity that the same bytes made or voted on before.

    `organization`: the version to decide on; None if it does not exist. `unwritten`: the commits that led to it and
    are not written yet. `computed`: the output of an earlier attempt. Raises MustBeFirst, and ServiceError if it is
    refused with nothing to commit.
    """
    store, operation, voted_on = environment.store, submission.body.operation, None
    if submission.is_vote:
        fingerprint = submission.activity_fingerprint
        if fingerprint in [one.activity.fingerprint for one in unwritten if one.activity is not None]:
            raise MustBeFirst
        voted_on = await _activity_voted_on(submission, store)
        if _was_carried_out(submission, voted_on):
            return voted_on
        operation = operation_of(voted_on, environment)
    if unwritten and (operation.context_is_own or any(commit.counted for commit in unwritten)):
        raise MustBeFirst
    now_ms, existing = environment.clock.now_ms(), _existing(organization, submission)
    decided: Decided
    if voted_on is None:
        authority = await _authority(submission, existing, environment)
        caller = _caller_in(authority, submission, now_ms)
        basis = await basis_of_submission(submission, caller, existing, authority, environment, now_ms, computed)
        decided = await decide_submission(submission, caller, basis, environment)
    else:
        # The clocks of two servers differ. No vote may be older than the activity's last change.
        now_ms = max(now_ms, voted_on.updated_at_ms)
        caller = _caller_in(existing, submission, now_ms)
        decided = await decide_vote(voted_on, submission, caller, existing, environment, now_ms)
    if isinstance(decided, RecordedActivity):
        return decided
    if decided.activity is None:
        # It is refused, and the reason may be what the same bytes did before.
        known = await existing_activity(submission, store)
        return decided if known is None else known
    parent_id = existing.profile.parent_id
    parent = None if parent_id is None else await store.organization(parent_id)
    return with_event(decided, decided.activity, voted_on, (existing, parent), environment, now_ms)


async def _authority(submission: Submission, organization: Organization, environment: Environment) -> Organization:
    """The organization whose policies decide: the caller's, which may be the parent."""
    if submission.caller.organization_id == organization.id:
        return organization
    return _existing(await environment.store.organization(submission.caller.organization_id), submission)


def _existing(organization: Organization | None, submission: Submission) -> Organization:
    if organization is None or organization.profile.deleted:
        raise NotFound(
            f"no organization found with the given ID: {submission.organization_id}",
            machine_code="ORGANIZATION_NOT_FOUND",
        )
    return organization


def _caller_in(authority: Organization, submission: Submission, now_ms: int) -> Principal:
    """The caller in this version of the organization, which may have changed since the stamp was verified. Its IP
    allow-list must have the address of the request."""
    known = submission.caller
    if authority is submission.seen and not known.has_expired(now_ms):
        return known
    caller = principal_in(authority, known.proven, now_ms)
    if caller is None or caller.user.user_id != known.user.user_id:
        raise unknown_key_error(submission.organization_id, known.proven)
    check_source(authority, known.proven.public_key, submission.source)
    return caller


async def existing_activity(submission: Submission, store: Store) -> RecordedActivity | None:
    """The activity that the same bytes made or voted on before, in this or another process, if they did."""
    activity = await store.activities.with_fingerprint(submission.organization_id, submission.activity_fingerprint)
    return activity if activity is not None and _was_carried_out(submission, activity) else None


def _was_carried_out(submission: Submission, activity: RecordedActivity) -> bool:
    """Whether the activity on record shows that the request was carried out before: it has the request's vote."""
    return not submission.is_vote or any(
        proof.user_id == submission.caller.user.user_id and proof.fingerprint == submission.body.fingerprint
        for proof in activity.proofs
    )


async def _activity_voted_on(vote: Submission, store: Store) -> RecordedActivity:
    """The activity that this request votes on. Raises NotFound if it is not on record."""
    activity = await store.activities.with_fingerprint(vote.organization_id, vote.activity_fingerprint)
    if activity is None:
        raise NotFound(
            f"No activity found with fingerprint {vote.activity_fingerprint[:100]!r}. Consensus activities "
            "must target an existing activity by fingerprint"
        )
    return activity


async def decide_submission(
    submission: Submission, caller: Principal, basis: DecisionBasis, environment: Environment
) -> Commit:
    """What to commit for a new submission.

    For a denied submission, only its evaluation is committed. Raises ServiceError for a refusal with nothing to
    commit.
    """
    is_by_parent = basis.authorized_by is not None
    if is_by_parent:
        check_user_is_proven(basis)
    activity = _new_activity(submission, caller, basis, environment)
    decision = await environment.share.run(basis.authority.id, Work.DECISION, partial(authorize_activity, basis))
    event = event_of(decision, basis.submitter_id)
    (vote,) = activity.votes
    new_id, now_ms = environment.new_id(), basis.now_ms
    evaluation = evaluation_of(decision, event, new_id, activity, vote, now_ms, limits_by_policy(basis))
    if environment.chosen_status and (chosen := environment.chosen_status(activity.type, activity.fingerprint)):
        return await commit_in_chosen_status(chosen, activity, basis, evaluation, environment)
    if decision.is_denial:
        refusal = denied(decision, activity.type, activity.id, controls_in_the_way(basis))
        return commit_of_refusal(refusal, activity, basis, evaluation)
    check = None
    if is_by_parent:
        check_waits_for_nobody(event, basis)
        check = partial(check_rules_of_users, basis, environment)
    if event is not Event.EXECUTED:
        check_may_wait(basis.intent)
        return commit_of(activity, event, basis, evaluation, new_votes=activity.votes)
    return await execute(activity, basis, evaluation, environment, new_votes=activity.votes, check=check)


def _new_activity(
    submission: Submission, caller: Principal, basis: DecisionBasis, environment: Environment
) -> RecordedActivity:
    """The activity before its first status. The submitter's stamp is the first approval."""
    activity_id = environment.new_id()
    vote = vote_of(VoteSelection.APPROVED, activity_id, submission, caller, environment.new_id(), basis.now_ms)
    return RecordedActivity(
        id=activity_id,
        organization_id=submission.organization_id,
        type=basis.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=submission.body.fingerprint,
        request=submission.body.request,
        result={},
        votes=(vote,),
        app_proofs=(),
        failure=None,
        submitter_id=basis.submitter_id,
        proofs=basis.proofs,
        approvals_since_ms=basis.now_ms,
        revision=0,
        created_at_ms=basis.now_ms,
        updated_at_ms=basis.now_ms,
    )


async def commit_in_chosen_status(
    chosen: ActivityStatus,
    activity: RecordedActivity,
    basis: DecisionBasis,
    evaluation: Evaluation,
    environment: Environment,
) -> Commit:
    """The commit of a new activity in this status, whatever the policies and the submitter's MFA policies ask for.
    It is executed only if the status is COMPLETED; in another status, an approval may still do that.

    Raises ServiceError if the execution is refused, and for what a user of the parent may not do.
    """
    if basis.authorized_by is not None:
        check_chosen_waits_for_nobody(chosen, basis)
    if chosen is ActivityStatus.COMPLETED:
        check = None
        if basis.authorized_by is not None:
            check = partial(check_rules_of_users, basis, environment)
        return await execute(activity, basis, evaluation, environment, new_votes=activity.votes, check=check)
    failure = None
    if chosen is ActivityStatus.FAILED:
        failure = Status(code=13, message="a developer chose that this activity fails")
    activity = replace(activity, status=chosen_by_developer(activity.status, chosen), failure=failure)
    return Commit(
        organization_id=activity.organization_id,
        decided_on=basis.organization.version,
        authorized_by=basis.authorized_by,
        activity=activity,
        new_votes=activity.votes,
        evaluations=(evaluation,),
    )


OPERATOR_RULE: Final = "the operator of this server asks for it"
"""The rule in the evaluation of such an activity."""


async def commit_of_operator(
    body: SubmissionBody, organization: Organization, parent: Organization | None, environment: Environment
) -> Commit:
    """What to commit for this request of the operator, on this version of the organization.

    `parent`: the organization's parent; its webhook endpoints get the event too. Raises ServiceError if the
    execution is refused.
    """
    now_ms = environment.clock.now_ms()
    activity = RecordedActivity(
        id=environment.new_id(),
        organization_id=organization.id,
        type=body.version.activity_type,
        status=ActivityStatus.CREATED,
        fingerprint=body.fingerprint,
        request=body.request,
        result={},
        votes=(),
        app_proofs=(),
        failure=None,
        submitter_id="",
        proofs=(),
        approvals_since_ms=now_ms,
        revision=0,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    evaluation = Evaluation(
        id=environment.new_id(),
        activity_id=activity.id,
        organization_id=organization.id,
        vote_id="",
        policy_evaluations=(),
        created_at=Timestamp.from_ms(now_ms),
        verdict=Verdict.ALLOW.value,
        rule=OPERATOR_RULE,
        policy_ids=(),
    )
    basis = await basis_of_activity(activity, organization, environment, now_ms)
    commit = await execute(activity, basis, evaluation, environment, new_votes=())
    assert commit.activity is not None
    return with_event(commit, commit.activity, None, (organization, parent), environment, now_ms)


_READ_AFTER_MS = 600_000
"""How long an event is kept after its deliveries were given up: an attempt may be in progress."""


def with_event(
    commit: Commit,
    activity: RecordedActivity,
    on_record: RecordedActivity | None,
    holders: Sequence[Organization | None],
    environment: Environment,
    now_ms: int,
) -> Commit:
    """The commit, which also writes the event if its activity is new or has a new status.

    `activity`: as the commit leaves it, `on_record`: as it was. `holders`: the organization and its parent, if it
    has one. An event is written only if an endpoint of them wants it, with a delivery for each endpoint."""
    if on_record is not None and on_record.status is activity.status:
        return commit
    wanted: list[tuple[str, str]] = []
    for holder in holders:
        if holder is not None and (
            holder.webhook_endpoints.by_id.size or holder.profile.features.get(webhooks.FEATURE)
        ):
            wanted += [(endpoint_id, holder.id) for endpoint_id in _endpoints(activity, holder)]
    if not wanted:
        return commit
    return replace(commit, rows=(*commit.rows, *_rows(activity, wanted, environment, now_ms)))


def _rows(
    activity: RecordedActivity, wanted: Sequence[tuple[str, str]], environment: Environment, now_ms: int
) -> Iterator[VersionedRow]:
    """The event, and a delivery for each of the endpoints, which are named with their organizations."""
    settings = environment.settings.webhooks
    row_id, event_id = webhooks.event_row_id(activity.id, activity.revision), environment.new_id()
    give_up_at_ms = now_ms + settings.last_ms
    form = Form.DOCUMENTED if settings.documented_form else Form.SDK
    body = _body(activity, environment.catalogue, form)
    yield webhooks.WebhookEvent(id=row_id, expires_at_ms=give_up_at_ms + _READ_AFTER_MS, body=body)
    for endpoint_id, holder_id in wanted:
        yield webhooks.WebhookDelivery(
            endpoint_id=endpoint_id,
            id=row_id,
            organization_id=activity.organization_id,
            endpoint_organization_id=holder_id,
            event_id=event_id,
            event_type=webhooks.ACTIVITY_UPDATES,
            due_ms=now_ms,
            give_up_at_ms=give_up_at_ms,
            expires_at_ms=give_up_at_ms + _READ_AFTER_MS,
            body_bytes=len(body),
        )


def _endpoints(activity: RecordedActivity, holder: Organization) -> Iterator[str]:
    """The ids of the endpoints of one organization that want this event."""
    for endpoint in holder.webhook_endpoints.values():
        if endpoint.is_active and any(
            subscription.event_type == webhooks.ACTIVITY_UPDATES
            and subscription.is_active is not False
            and filters_of(subscription.filters_json).matches(
                activity.type, activity.status, activity.organization_id
            )
            for subscription in endpoint.subscriptions or ()
        ):
            yield endpoint.endpoint_id
    if holder.profile.features.get(webhooks.FEATURE):
        yield holder.id


def _body(activity: RecordedActivity, catalogue: Catalogue, form: Form) -> bytes:
    """The activity as get_activity shows it to somebody who may not vote on it."""
    seen = view(activity, catalogue, "", may_vote=False, lacks_proofs=False)
    body = rendered_activity(seen, form)
    if len(body) > EVENT_BYTES_MAX:
        votes = tuple(replace(vote, message="") for vote in seen.votes)
        body = rendered_activity(replace(seen, votes=votes), form)
    return body


_CODE: Final = "otp_code"


def check_may_wait(intent: RequestStruct) -> None:
    """Raise PermissionDenied if an activity with this intent may not wait for approvals or proofs."""
    if getattr(intent, _CODE, ""):
        raise _refusal("a one-time code", "send it encrypted")
    if any(claimed_id_without_key(text) is not None for text in _texts(msgspec.to_builtins(intent))):
        raise _refusal("a verification token that names no key", "name a key in verify_otp")


def _refusal(what: str, how: str) -> PermissionDenied:
    return PermissionDenied(
        f"the request holds {what}, and cannot wait for approvals or proofs: meanwhile everybody who may read the "
        f"activity could use it. {how.capitalize()}, or let a policy allow the request at once"
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
