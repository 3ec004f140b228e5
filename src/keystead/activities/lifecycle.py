"""The one road of every write: known or new, in time, decided, executed, committed. Votes travel it too.

Here: the order of these steps. Not here: what is allowed (`policies`), what an activity does (`operations`), the
statuses (`states`), how submissions take turns (`lanes`), the database (`storage`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from keystead.activities import changing, deciding, states
from keystead.activities.activity import Activity, ActivityOperation, Execution, Outcome
from keystead.activities.deciding import Case
from keystead.activities.lanes import InFlight, Lanes
from keystead.activities.ports import Clock, Signer
from keystead.activities.proofs import proof_payloads
from keystead.activities.requests import (
    Liveness,
    Submission,
    check_liveness,
    read_intent,
    recorded_envelope,
)
from keystead.activities.states import Event
from keystead.activities.store import Commit, CommitOutcome, Store
from keystead.api.catalogue import Catalogue
from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, ServiceError, Unavailable
from keystead.api.records import Evaluation, Status, Timestamp, User, Vote, Wire
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, unknown
from keystead.policies.denial import denied
from keystead.policies.judgement import Judgement, Verdict, judge

ATTEMPTS = 50
"""How often one submission may lose the race for its organization before its caller is told to try again."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator sets about decisions. `approvals_last_ms`: then approvals lapse and must be cast again.

    `fail_closed`: a DENY policy that fails to evaluate denies.
    """

    limits: Limits
    liveness: Liveness
    approvals_last_ms: int = 24 * 3_600_000
    fail_closed: bool = False


class Lifecycle:
    """Takes submissions and votes to their end. One per process; processes meet in the store."""

    def __init__(
        self,
        *,
        store: Store,
        signer: Signer,
        clock: Clock,
        new_id: Callable[[], str],
        catalogue: Catalogue,
        rules: Rules,
    ) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock
        self._new_id = new_id
        self._catalogue = catalogue
        self._rules = rules
        self._lanes = Lanes()
        self._in_flight = InFlight()

    async def submit(self, submission: Submission, caller: Principal) -> Activity:
        """The activity that these bytes make, or made when they came before; of a vote, the activity voted on.

        Raises ServiceError if refused, and then nothing is changed.
        """
        organization_id = submission.envelope.organization_id
        async with self._in_flight.alone((organization_id, submission.fingerprint)):
            for _ in range(ATTEMPTS):
                try:
                    activity = await self._attempt(submission, caller)
                except Unavailable:
                    raise
                except ServiceError:
                    # Another process may have committed the same bytes after they were looked for here: then what
                    # refuses this try is what they did.
                    activity = await self._done_before(submission, caller)
                    if activity is None:
                        raise
                if activity is not None:
                    return activity
        raise Conflict("the organization is being changed by many others at once; send the same request again")

    async def _done_before(self, submission: Submission, caller: Principal) -> Activity | None:
        """The activity, if exactly these bytes have done their work already."""
        activity = await self._targeted(submission)
        if activity is None or (submission.operation.casts and not _has_cast(activity, caller, submission.request)):
            return None
        return activity

    async def _targeted(self, submission: Submission) -> Activity | None:
        """The activity that these bytes are about: the one they made, or the one they vote on."""
        fingerprint = _target(submission) if submission.operation.casts else submission.fingerprint
        return await self._store.activity_with_fingerprint(submission.envelope.organization_id, fingerprint)

    async def _attempt(self, submission: Submission, caller: Principal) -> Activity | None:
        """One try: the activity, or None if somebody else changed organization or activity first."""
        organization_id, casts = submission.envelope.organization_id, submission.operation.casts
        known = await self._targeted(submission)
        if known is not None and (casts is None or _has_cast(known, caller, submission.request)):
            return known
        now_ms = self._clock.now_ms()
        check_liveness(submission.envelope, now_ms, self._rules.liveness)
        if casts and known is None:
            raise NotFound(
                f"No activity found with fingerprint {_target(submission)[:100]!r}. Consensus activities must "
                "target an existing activity by fingerprint"
            )
        async with self._lanes.lane(organization_id) as lane:
            async with lane.turn:
                organization = lane.head or await self._store.organization(organization_id)
                if organization is None or organization.profile.deleted:
                    raise NotFound(
                        f"no organization found with the given ID: {organization_id}",
                        machine_code="ORGANIZATION_NOT_FOUND",
                    )
                voter = organization.users.get(caller.user.user_id)
                if voter is None:
                    raise unknown(organization.id, caller.proven)
                refusal = None
                if known is None:
                    commit, refusal = await self._decided(submission, organization, caller, voter, now_ms)
                else:
                    vote = await self._voted(known, submission, organization, caller, voter, now_ms)
                    if vote is None:
                        return known
                    commit = vote
                committing = self._store.commit(commit)
                lane.handed_in(commit.change.after if commit.change else None)
            outcome = await lane.committed(committing)
        if outcome is not CommitOutcome.COMMITTED:
            return None
        if refusal is not None:
            raise refusal
        return commit.activity

    async def _decided(
        self,
        submission: Submission,
        organization: Organization,
        caller: Principal,
        voter: User,
        now_ms: int,
    ) -> tuple[Commit, PermissionDenied | None]:
        """What to commit for a new submission. One that is denied leaves what the rules said of it."""
        activity_id = self._new_id()
        vote = self._vote(VoteSelection.APPROVED, activity_id, submission, caller, voter, now_ms)
        case = Case(
            activity_type=submission.version.activity_type,
            operation=submission.operation,
            intent=submission.intent,
            submitter_id=voter.user_id,
            proofs=(deciding.proof_of(caller, now_ms),),
            now_ms=now_ms,
        )
        judgement = self._judged(case, organization)
        said = self._said(judgement, activity_id, vote.id, organization.id, now_ms)
        if judgement.verdict in (Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT):
            refusal = denied(judgement, case.activity_type, activity_id)
            return Commit(organization_id=organization.id, activity=None, evaluations=(said,)), refusal
        activity = Activity(
            id=activity_id,
            organization_id=organization.id,
            type=case.activity_type,
            status=ActivityStatus.CREATED,
            fingerprint=submission.fingerprint,
            request=submission.request,
            result={},
            votes=(vote,),
            app_proofs=(),
            failure=None,
            submitter_id=voter.user_id,
            proofs=case.proofs,
            approvals_since_ms=now_ms,
            revision=0,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        return await self._moved(activity, case, organization, judgement, said), None

    async def _voted(
        self,
        activity: Activity,
        vote_submission: Submission,
        organization: Organization,
        caller: Principal,
        voter: User,
        now_ms: int,
    ) -> Commit | None:
        """What to commit for a vote on an activity; None if the vote changes nothing."""
        selection = vote_submission.operation.casts
        assert selection is not None
        if states.is_final(activity.status):
            raise InvalidRequest(
                f"the activity is already in status {activity.status}: votes on it are closed "
                "(field `parameters.fingerprint`)"
            )
        if now_ms >= activity.approvals_since_ms + self._rules.approvals_last_ms:
            activity = replace(activity, approvals_since_ms=now_ms)
        proof = deciding.proof_of(caller, now_ms)
        counted = deciding.counted_proofs(activity, organization)
        case = replace(self.case_of(activity, organization), proofs=counted, now_ms=now_ms)
        withdraws = selection is VoteSelection.REJECTED and voter.user_id == activity.submitter_id
        if not withdraws and not deciding.may_approve(
            case, organization, voter.user_id, fail_closed=self._rules.fail_closed
        ):
            raise denied(self._judged(case, organization), vote_submission.version.activity_type, activity.id)
        vote = self._vote(selection, activity.id, vote_submission, caller, voter, now_ms)
        if selection is VoteSelection.APPROVED:
            mine = [one for one in counted if one.user_id == voter.user_id]
            if any(one.record_id == proof.record_id for one in mine):
                return None
            if mine:  # a further credential proves another method; the user's vote is the one already there
                vote = next(one for one in activity.votes if one.user_id == voter.user_id)
        activity = replace(
            activity,
            votes=(*(one for one in activity.votes if one.user_id != voter.user_id), vote),
            proofs=(*activity.proofs, proof),
            revision=activity.revision + 1,
            updated_at_ms=now_ms,
        )
        if selection is VoteSelection.REJECTED:
            rejected = replace(activity, status=states.after(activity.status, Event.REJECTED))
            return Commit(organization_id=organization.id, activity=rejected)
        case = replace(case, proofs=(*counted, proof))
        judgement = self._judged(case, organization)
        said = self._said(judgement, activity.id, vote.id, organization.id, now_ms)
        return await self._moved(activity, case, organization, judgement, said)

    async def _moved(
        self,
        activity: Activity,
        case: Case,
        organization: Organization,
        judgement: Judgement,
        said: Evaluation,
    ) -> Commit:
        """The activity in the status that the judgement leads to, executed if it may be."""
        event, outcome, failure = await self._event(activity, case, organization, judgement)
        activity = replace(activity, status=states.after(activity.status, event), failure=failure)
        change = founding = None
        if outcome is not None:
            activity = replace(activity, result=changing.result_of(case, outcome))
            if recorded_envelope(activity.request).generate_app_proofs:
                payloads = proof_payloads(activity, organization, outcome.derived, case.now_ms)
                activity = replace(activity, app_proofs=await self._signer.prove(payloads))
            change = changing.change_of(organization, outcome, activity.id)
            founding = changing.founding_of(outcome)
        return Commit(
            organization_id=organization.id,
            activity=activity,
            change=change,
            founding=founding,
            evaluations=(said,),
        )

    async def _event(
        self, activity: Activity, case: Case, organization: Organization, judgement: Judgement
    ) -> tuple[Event, Outcome[Wire] | None, Status | None]:
        found = deciding.mfa_statuses(case, organization)
        lacking = [status.user_id for status in found if not status.satisfied]
        # What others' approvals allow does not wait for one more approver; it does wait for the submitter's proofs.
        if case.submitter_id in lacking or (lacking and judgement.verdict is not Verdict.ALLOW):
            return Event.LACKS_AUTHENTICATORS, None, None
        if judgement.verdict is not Verdict.ALLOW:
            return Event.LACKS_CONSENSUS, None, None
        try:
            return Event.EXECUTED, await self._executed(case, organization), None
        except ServiceError as refused:
            # At once, the caller is told and nothing is kept. Later, the refusal is what became of the activity.
            if activity.status is ActivityStatus.CREATED or refused.http_status >= 500:
                raise
            return Event.FAILED, None, Status(code=refused.grpc_code, message=refused.message)

    async def _executed(self, case: Case, organization: Organization) -> Outcome[Wire]:
        execution = Execution(
            organization=organization,
            submitter_id=case.submitter_id,
            now_ms=case.now_ms,
            limits=self._rules.limits,
            signer=self._signer,
            new_id=self._new_id,
        )
        version = case.operation.version_of(case.activity_type)
        assert version is not None, case.activity_type
        executed = case.operation.execute(execution, version.upgrade(case.intent))
        return await executed if inspect.isawaitable(executed) else executed

    def case_of(self, activity: Activity, organization: Organization) -> Case:
        """An activity on record, as a case to decide on."""
        operation = self._catalogue.of_type(activity.type)
        assert isinstance(operation, ActivityOperation), activity.type
        version = operation.version_of(activity.type)
        assert version is not None, activity.type
        return Case(
            activity_type=activity.type,
            operation=operation,
            intent=read_intent(version, recorded_envelope(activity.request).parameters),
            submitter_id=activity.submitter_id,
            proofs=deciding.counted_proofs(activity, organization),
            now_ms=self._clock.now_ms(),
        )

    def may_vote(self, activity: Activity, organization: Organization, user_id: str) -> bool:
        """Whether this user's vote on an open activity would count."""
        case = self.case_of(activity, organization)
        return deciding.may_approve(case, organization, user_id, fail_closed=self._rules.fail_closed)

    def _judged(self, case: Case, organization: Organization) -> Judgement:
        return judge(deciding.facts(case, organization, fail_closed=self._rules.fail_closed))

    def _said(
        self, judgement: Judgement, activity_id: str, vote_id: str, organization_id: str, now_ms: int
    ) -> Evaluation:
        return deciding.evaluation(self._new_id(), activity_id, vote_id, organization_id, judgement, now_ms)

    def _vote(
        self,
        selection: VoteSelection,
        activity_id: str,
        cast: Submission,
        caller: Principal,
        voter: User,
        now_ms: int,
    ) -> Vote:
        return Vote(
            id=self._new_id(),
            user_id=voter.user_id,
            user=voter,
            activity_id=activity_id,
            selection=selection,
            message=cast.request.decode(),
            public_key=caller.proven.public_key,
            signature=caller.proven.signature,
            scheme=caller.proven.scheme,
            created_at=Timestamp.from_ms(now_ms),
        )


def _target(submission: Submission) -> str:
    """The fingerprint of the activity that a vote is about."""
    fingerprint: str = submission.intent.fingerprint  # type: ignore[attr-defined]
    return fingerprint


def _has_cast(activity: Activity, caller: Principal, request: bytes) -> bool:
    """Whether the caller has cast exactly this vote before."""
    return any(vote.user_id == caller.user.user_id and vote.message.encode() == request for vote in activity.votes)
