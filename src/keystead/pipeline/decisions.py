"""What becomes of a submission or a vote: judged by the rules, executed if they allow, a commit to hand in.

Here: the steps from an organization and a request to a commit; and what a reader may still do about an activity.
Not here: whose turn it is and when to try again (`lifecycle`), what is allowed (`policies`), what an activity does
(`operations`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import Catalogue
from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import InvalidRequest, NotImplementedHere, PermissionDenied, ServiceError
from keystead.api.parameters import Asked
from keystead.api.records import Evaluation, Status, Timestamp, User, Vote, Wire
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline import authorization, changing, states
from keystead.pipeline.activity import Activity, ActivityOperation, Execution, Informed, Outcome
from keystead.pipeline.authorization import AuthorizationSettings, Case
from keystead.pipeline.gathering import Gathering
from keystead.pipeline.policy_sets import CHARACTERS_MAX, PolicySets
from keystead.pipeline.ports import Clock, Signer
from keystead.pipeline.proofs import proof_payloads
from keystead.pipeline.requests import Liveness, Submission, recorded_envelope, recorded_request
from keystead.pipeline.states import Event
from keystead.pipeline.store import Commit, Store
from keystead.pipeline.turns import NEXT_TURN
from keystead.policies.authorize import Decision, Verdict, recorded
from keystead.policies.denial import denied

DENIALS = (Verdict.DENY_IMPLICIT, Verdict.DENY_EXPLICIT)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator sets about decisions. `approvals_last_ms`: then approvals lapse and must be cast again."""

    limits: Limits
    liveness: Liveness
    approvals_last_ms: int = 24 * 3_600_000
    authorization: AuthorizationSettings = AuthorizationSettings()
    policy_characters_cached: int = CHARACTERS_MAX


class Decisions:
    """Decides on submissions and votes for one server. Writes nothing: what it yields is a commit."""

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
        self.policy_sets = PolicySets(rules.policy_characters_cached)

    async def on_submission(
        self,
        submission: Submission,
        organization: Organization,
        caller: Principal,
        now_ms: int,
    ) -> tuple[Commit, PermissionDenied | None]:
        """What to commit for a new submission. One that is denied leaves what the rules said of it."""
        operation, intent = submission.operation, submission.version.upgrade(submission.intent)
        if operation.standing is not None:
            operation.standing(caller.user.user_id, intent)
        gathered = await self._gathered(operation, intent, organization)
        voter, activity_id = caller.user, self._new_id()
        vote = self._vote(VoteSelection.APPROVED, activity_id, submission, caller, voter, now_ms)
        case = Case(
            activity_type=submission.version.activity_type,
            operation=submission.operation,
            intent=submission.intent,
            policies=await self.policy_sets.of(organization, (voter,)),
            submitter_id=voter.user_id,
            submitted_at_ms=now_ms,
            identities=submission.identities,
            proofs=(authorization.proof_of(caller, submission, now_ms),),
            now_ms=now_ms,
            gathered=gathered,
        )
        if not operation.changes_organization:  # else others wait for this one's turn to end
            await NEXT_TURN
        decision = self._judged(case, organization)
        lacks_proofs = authorization.lacks_proofs(case, organization, decision)
        told = recorded(decision, authenticators_needed=lacks_proofs)
        said = self._said(told, activity_id, vote.id, organization.id, now_ms)
        if decision.verdict in DENIALS:
            refusal = denied(decision, case.activity_type, activity_id)
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
        return await self._moved(activity, case, organization, decision, said, lacks_proofs=lacks_proofs), None

    async def on_vote(
        self,
        activity: Activity,
        vote_submission: Submission,
        organization: Organization,
        caller: Principal,
        now_ms: int,
    ) -> Commit | None:
        """What to commit for a vote on an activity; None if the vote changes nothing."""
        voter, selection = caller.user, vote_submission.operation.casts
        assert selection is not None
        if states.is_final(activity.status):
            raise InvalidRequest(
                f"the activity is already in status {activity.status}: votes on it are closed "
                "(field `parameters.fingerprint`)"
            )
        activity = authorization.at(activity, now_ms, self._rules.approvals_last_ms)
        proof = authorization.proof_of(caller, vote_submission, now_ms)
        counted = authorization.counted_proofs(activity, organization)
        case = replace(await self.case_of(activity, organization, voter.user_id), proofs=counted, now_ms=now_ms)
        if not authorization.may_approve(case, organization, voter.user_id, self._rules.authorization):
            raise denied(self._judged(case, organization), vote_submission.version.activity_type, activity.id)
        judged_before = self._judged(case, organization)
        vote = self._vote(selection, activity.id, vote_submission, caller, voter, now_ms)
        repeats = False
        if selection is VoteSelection.APPROVED:
            mine = [one for one in counted if one.user_id == voter.user_id]
            repeats = any(one.record_id == proof.record_id for one in mine)
            if mine:  # a further credential proves another method; the user's vote is the one already there
                vote = next(one for one in activity.votes if one.user_id == voter.user_id)
        others = tuple(one for one in activity.votes if one.user_id != voter.user_id)
        activity = replace(
            activity,
            votes=activity.votes if vote in activity.votes else (*others, vote),
            proofs=(*activity.proofs, proof),
            revision=activity.revision + 1,
            updated_at_ms=now_ms,
        )
        if selection is VoteSelection.REJECTED:
            rejected = replace(activity, status=states.after(activity.status, Event.REJECTED))
            decision = recorded(judged_before, rejected=True)
            said = self._said(decision, activity.id, vote.id, organization.id, now_ms)
            return Commit(organization_id=organization.id, activity=rejected, evaluations=(said,))
        case = case if repeats else replace(case, proofs=(*counted, proof))
        decision = self._judged(case, organization)
        # A policy may deny because of who approves: then it is this approval that it denies, and others may follow.
        brings_denial = voter.user_id == case.submitter_id or judged_before.verdict not in DENIALS
        if decision.verdict in DENIALS and brings_denial:
            raise denied(decision, vote_submission.version.activity_type, activity.id)
        lacks_proofs = authorization.lacks_proofs(case, organization, decision)
        # The same approval once more asks what the rules say now.
        if repeats and _status_judged(activity, decision, lacks_proofs=lacks_proofs) is activity.status:
            return None
        told = recorded(decision, authenticators_needed=lacks_proofs)
        said = self._said(told, activity.id, vote.id, organization.id, now_ms)
        return await self._moved(activity, case, organization, decision, said, lacks_proofs=lacks_proofs)

    async def _moved(
        self,
        activity: Activity,
        case: Case,
        organization: Organization,
        decision: Decision,
        said: Evaluation,
        *,
        lacks_proofs: bool,
    ) -> Commit:
        """The activity in the status that the decision leads to, executed if it may be."""
        event, outcome, failure = _event_judged(decision, lacks_proofs=lacks_proofs), None, None
        if event is Event.EXECUTED:
            event, outcome, failure = await self._event(activity, case, organization)
        activity = replace(activity, status=states.after(activity.status, event), failure=failure)
        change = founding = None
        if outcome is not None:
            activity = replace(activity, result=changing.result_of(case, outcome))
            asked = b'"generateAppProofs"' in activity.request  # few do, and decoding costs
            if asked and recorded_envelope(activity.request).generate_app_proofs:
                payloads = proof_payloads(activity, organization, outcome.derived, case.now_ms)
                activity = replace(activity, app_proofs=await self._signer.prove(payloads))
            change = changing.change_of(organization, outcome, said.id)
            assert change is None or case.operation.changes_organization, case.operation.name
            founding = changing.founding_of(outcome)
        return Commit(
            organization_id=organization.id,
            activity=activity,
            change=change,
            founding=founding,
            evaluations=(said,),
        )

    async def _event(
        self, activity: Activity, case: Case, organization: Organization
    ) -> tuple[Event, Outcome[Wire] | None, Status | None]:
        """What came of executing the activity."""
        try:
            return Event.EXECUTED, await self._executed(case, organization), None
        except ServiceError as refused:
            # At once, the caller is told and nothing is kept. Later, the refusal is what became of the activity.
            if activity.status is ActivityStatus.CREATED or _passes(refused):
                raise
            return Event.FAILED, None, Status(code=refused.grpc_code, message=refused.message)

    async def _executed(self, case: Case, organization: Organization) -> Outcome[Wire]:
        if case.missing is not None:
            raise case.missing
        execution = execution_of(case, organization, self._rules.limits, self._signer, self._new_id)
        executed = case.operation.execute(execution, case.current_intent())
        return executed if isinstance(executed, Outcome) else await executed

    def gathers(self, submission: Submission, known: Activity | None) -> bool:
        """Whether what is to be decided on needs more than the organization: the activity, or the one voted on."""
        operation = submission.operation if known is None else self._catalogue.of_type(known.type)
        return isinstance(operation, ActivityOperation) and operation.gather is not None

    async def _gathered(self, operation: ActivityOperation, intent: Asked, organization: Organization) -> Any:
        if operation.gather is None:
            return None
        return await operation.gather(Gathering(organization, self._store), intent)

    async def case_of(self, activity: Activity, organization: Organization, user_id: str | None = None) -> Case:
        """An activity on record, as a case to decide on now; with the MFA conditions of this user, too."""
        activity, now_ms = self.now(activity), self._clock.now_ms()
        operation = self._catalogue.of_type(activity.type)
        assert isinstance(operation, ActivityOperation), activity.type
        version = operation.version_of(activity.type)
        assert version is not None, activity.type
        _, intent = recorded_request(version, activity.request)
        proofs = authorization.counted_proofs(activity, organization)
        user_ids = {activity.submitter_id, user_id or "", *[proof.user_id for proof in proofs]}
        users = [organization.users[each] for each in user_ids if each in organization.users]
        gathered = missing = None
        try:
            gathered = await self._gathered(operation, version.upgrade(intent), organization)
        except ServiceError as refused:
            if _passes(refused):
                raise
            missing = refused
        return Case(
            activity_type=activity.type,
            operation=operation,
            intent=intent,
            policies=await self.policy_sets.of(organization, users),
            submitter_id=activity.submitter_id,
            submitted_at_ms=activity.created_at_ms,
            identities=activity.identities,
            proofs=proofs,
            now_ms=now_ms,
            gathered=gathered,
            missing=missing,
        )

    def now(self, activity: Activity) -> Activity:
        """The activity as it is now: approvals lapse without anybody's doing."""
        return authorization.at(activity, self._clock.now_ms(), self._rules.approvals_last_ms)

    def may_vote(self, case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user of the organization may vote on an open activity."""
        return authorization.may_approve(case, organization, user_id, self._rules.authorization)

    @staticmethod
    def lacks_proofs(case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user's approval waits for further proofs by that user."""
        return authorization.lacks_mfa_proofs(case, organization, user_id)

    def _judged(self, case: Case, organization: Organization) -> Decision:
        return authorization.authorize_activity(case, organization, self._rules.authorization)

    def _said(
        self, decision: Decision, activity_id: str, vote_id: str, organization_id: str, now_ms: int
    ) -> Evaluation:
        return authorization.evaluation(self._new_id(), activity_id, vote_id, organization_id, decision, now_ms)

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


def execution_of(
    case: Case, organization: Organization, limits: Limits, signer: Signer, new_id: Callable[[], str]
) -> Execution:
    """What the execution of this case gets: also what was gathered, if its operation gathers."""
    kind = Execution if case.operation.gather is None else partial(Informed, gathered=case.gathered)
    return kind(
        organization=organization,
        submitter_id=case.submitter_id,
        identities=case.identities,
        now_ms=case.now_ms,
        limits=limits,
        signer=signer,
        new_id=new_id,
    )


def _event_judged(decision: Decision, *, lacks_proofs: bool) -> Event:
    """Where the rules lead to, if an execution that they allow succeeds."""
    if lacks_proofs:
        return Event.LACKS_AUTHENTICATORS
    return Event.EXECUTED if decision.verdict is Verdict.ALLOW else Event.LACKS_CONSENSUS


def _status_judged(activity: Activity, decision: Decision, *, lacks_proofs: bool) -> ActivityStatus:
    return states.after(activity.status, _event_judged(decision, lacks_proofs=lacks_proofs))


def _passes(refused: ServiceError) -> bool:
    """Whether another try may succeed: the refusal says nothing of the activity."""
    return refused.http_status >= 500 and not isinstance(refused, NotImplementedHere)
