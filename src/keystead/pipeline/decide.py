"""The step that decides on a submission or a vote, on one version of its organization: what to commit.

Here: the versions that it is decided on, whether the caller still has the key, what must be written before, the
webhook events. Not here: the order of decisions and the write (`organization_writer`), a new submission (`submit`),
a vote (`vote`)."""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.errors import NotFound
from keystead.organizations.ip_allowlists import check_source
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, principal_in, unknown_key_error
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.decision_basis import basis_of_submission, operation_of
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ComputedOutput
from keystead.pipeline.organization_writer import Decided, MustBeFirst
from keystead.pipeline.store import Commit, Store
from keystead.pipeline.submission import Submission
from keystead.pipeline.submit import decide_submission
from keystead.pipeline.vote import decide_vote
from keystead.pipeline.webhook_events import with_event


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
    if operation.context_is_own and unwritten:
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
