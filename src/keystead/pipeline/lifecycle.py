"""The one road of every write: known or new, in time, decided, executed, committed. Votes travel it too.

Here: whose turn it is, equal bytes, trying again. Not here: what becomes of a submission (`decisions`), how
submissions take turns (`lanes`), the database (`storage`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from keystead.api.catalogue import Catalogue
from keystead.api.errors import Conflict, NotFound, ServiceError, Unavailable
from keystead.api.parameters import OidcClaims
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, principal_in, unknown
from keystead.pipeline.activity import Activity
from keystead.pipeline.arrivals import Coming
from keystead.pipeline.decisions import Decisions, Rules
from keystead.pipeline.lanes import InFlight, Lanes, stands
from keystead.pipeline.ports import Clock, Identities, Signer
from keystead.pipeline.requests import Submission, check_liveness
from keystead.pipeline.store import Commit, CommitOutcome, Held, Store

ATTEMPTS = 10
"""How often one submission may lose the race for its organization before its caller is told to try again."""

PATIENCE = 3
"""So many lost races, and the next attempt holds the organization. Another process that changes it without a pause
would win every race: it decides ahead of what it commits, and whoever reads what is committed comes too late."""


class Lifecycle:
    """Takes submissions and votes to their end. One per process; processes meet in the store.

    `decisions`: what becomes of each, and what a reader may still do about an activity.
    """

    def __init__(
        self,
        *,
        store: Store,
        signer: Signer,
        identities: Identities,
        clock: Clock,
        new_id: Callable[[], str],
        catalogue: Catalogue,
        rules: Rules,
    ) -> None:
        self.decisions = Decisions(
            store=store, signer=signer, clock=clock, new_id=new_id, catalogue=catalogue, rules=rules
        )
        self._store = store
        self._identities = identities
        self._clock = clock
        self._liveness = rules.liveness
        self._lanes = Lanes()
        self._in_flight = InFlight()

    async def submit(
        self, submission: Submission, caller: Principal, seen: Organization, coming: Coming
    ) -> Activity:
        """The activity that these bytes make, or made when they came before; of a vote, the activity voted on.

        `seen`: the organization as it was read after the request had come, to find the caller in it. `coming`: for
        its commit others may wait, until this waits for something that may be theirs, or slow.
        Raises ServiceError if refused, and then nothing is changed.
        """
        request = submission.envelope.organization_id, submission.fingerprint
        if request in self._in_flight:
            coming.end()
        was_here = await self._in_flight.depart(request)
        try:
            if tokens := submission.oidc_tokens():
                # What they prove is settled before any turn is taken, since an issuer may be slow, and once: by the
                # time the activity is executed, or its bytes are sent again, they may have expired.
                coming.end()
                known = await self._targeted(submission)
                if known is not None:
                    return known
                submission = await self._with_identities(submission, tokens)
            for attempt in range(ATTEMPTS):
                # Looking for the same bytes costs a tenth of everything and finds them almost never. The store
                # refuses a second activity of the same bytes in any case.
                looks = was_here or attempt > 0 or submission.operation.casts is not None
                try:
                    if attempt >= PATIENCE and submission.operation.changes_organization:
                        activity = await self._attempt_alone(submission, caller, coming)
                    else:
                        activity = await self._attempt(
                            submission, caller, None if attempt else seen, coming, looks=looks
                        )
                except Unavailable:
                    raise
                except ServiceError:
                    # The same bytes may have been committed before, here or by another process: then what refuses
                    # this try is what they did.
                    activity = await self._done_before(submission, caller)
                    if activity is None:
                        raise
                if activity is not None:
                    return activity
        finally:
            self._in_flight.land(request)
        raise Conflict("the organization is being changed by many others at once; send the same request again")

    async def _with_identities(self, submission: Submission, tokens: Mapping[str, str]) -> Submission:
        """The submission with what its tokens, by field, prove now."""
        check_liveness(submission.envelope, self._clock.now_ms(), self._liveness)
        by_token: dict[str, OidcClaims] = {}
        for field, token in tokens.items():
            if token not in by_token:
                by_token[token] = await self._identities.proven(token, field)
        return replace(submission, identities={field: by_token[token] for field, token in tokens.items()})

    async def _done_before(self, submission: Submission, caller: Principal) -> Activity | None:
        """The activity, if exactly these bytes have done their work already."""
        activity = await self._targeted(submission)
        if activity is None or (submission.operation.casts and not _has_cast(activity, caller, submission)):
            return None
        return activity

    async def _targeted(self, submission: Submission) -> Activity | None:
        """The activity that these bytes are about: the one they made, or the one they vote on."""
        fingerprint = _target(submission) if submission.operation.casts else submission.fingerprint
        return await self._store.activity_with_fingerprint(submission.envelope.organization_id, fingerprint)

    async def _repeats_denied(self, commit: Commit | None, submission: Submission) -> bool:
        """Whether these bytes, which are denied now, made an activity before. Then that is the answer, and what the
        rules say of them now is not kept."""
        return commit is not None and commit.activity is None and await self._targeted(submission) is not None

    async def _attempt_alone(self, submission: Submission, caller: Principal, coming: Coming) -> Activity | None:
        """One try, while nobody else changes the organization: it loses only to another vote on the same activity,
        or by taking too long."""
        coming.end()
        organization_id = submission.envelope.organization_id
        with self._lanes.lane(organization_id) as lane:
            async with lane.turn:
                await lane.cleared()
                async with self._store.hold(organization_id) as held:
                    return await self._attempt(submission, caller, None, coming, looks=True, held=held)

    async def _attempt(
        self,
        submission: Submission,
        caller: Principal,
        seen: Organization | None,
        coming: Coming,
        *,
        looks: bool,
        held: Held | None = None,
    ) -> Activity | None:
        """One try: the activity, or None if somebody else changed organization or activity first, or, where this
        did not look for them, committed the same bytes. `seen`: as in `submit`, where that is fresh; `held`: what
        commits, where the organization is held for this."""
        organization_id, casts = submission.envelope.organization_id, submission.operation.casts
        known = await self._targeted(submission) if looks else None
        if known is not None and (casts is None or _has_cast(known, caller, submission)):
            return known
        now_ms = self._clock.now_ms()
        check_liveness(submission.envelope, now_ms, self._liveness)
        if casts and known is None:
            raise NotFound(
                f"No activity found with fingerprint {_target(submission)[:100]!r}. Consensus activities must "
                "target an existing activity by fingerprint"
            )
        if held or (known is None and not submission.operation.changes_organization):
            organization = seen or await self._store.organization(organization_id)
            commit, refusal = await self._answered(submission, known, organization, caller, now_ms)
            if not looks and await self._repeats_denied(commit, submission):
                return None
            committing = (held or self._store).commit(commit) if commit else None
            coming.end()
            outcome = await committing if committing else CommitOutcome.COMMITTED
        else:
            outcome, commit, refusal = await self._in_turn(submission, known, caller, now_ms, coming, looks=looks)
        if outcome is not CommitOutcome.COMMITTED:
            return None
        if refusal is not None:
            raise refusal
        return commit.activity if commit else known

    async def _in_turn(
        self,
        submission: Submission,
        known: Activity | None,
        caller: Principal,
        now_ms: int,
        coming: Coming,
        *,
        looks: bool,
    ) -> tuple[CommitOutcome, Commit | None, ServiceError | None]:
        """What `_answered` says of the organization as it will be when all who came before have committed, and what
        became of committing that. A turn that must be taken again: CONFLICT."""
        organization_id = submission.envelope.organization_id
        again = CommitOutcome.CONFLICT, None, None
        with self._lanes.lane(organization_id) as lane:
            committing = commit = None
            if not lane.turn.is_free:
                coming.end()
            async with lane.turn:
                head, foreseen = lane.head, lane.foreseen
                # What is gathered is read from the database: that must have what is foreseen here.
                must_stand = foreseen if self.decisions.gathers(submission, known) else None
                if must_stand is not None:
                    coming.end()
                    if not await stands(must_stand):
                        return again
                try:
                    organization = head or await self._store.organization(organization_id)
                    commit, refusal = await self._answered(submission, known, organization, caller, now_ms)
                except ServiceError as refused:
                    refusal = refused
                if not looks and await self._repeats_denied(commit, submission):
                    return again
                if commit is not None and (commit.change is not None or foreseen is None):
                    committing = self._store.commit(commit)
                    lane.handed_in(committing, commit.change.after if commit.change else None)
            coming.end()
            if committing is not None:
                outcome = await lane.committed(committing)
            else:  # nothing ties it to the version that it was decided on, so that version must be a real one
                if foreseen is not None and not await stands(foreseen):
                    return again
                outcome = await self._store.commit(commit) if commit else CommitOutcome.COMMITTED
        return outcome, commit, refusal

    async def _answered(
        self,
        submission: Submission,
        known: Activity | None,
        organization: Organization | None,
        caller: Principal,
        now_ms: int,
    ) -> tuple[Commit | None, ServiceError | None]:
        """What to commit, and the refusal to answer with when that is done. No commit: a vote changed nothing."""
        organization_id = submission.envelope.organization_id
        if organization is None or organization.profile.deleted:
            raise NotFound(
                f"no organization found with the given ID: {organization_id}",
                machine_code="ORGANIZATION_NOT_FOUND",
            )
        # The organization may have moved on since the stamp was looked at: the user or the key may be gone.
        caller_now = principal_in(organization, caller.proven, now_ms)
        if caller_now is None or caller_now.user.user_id != caller.user.user_id:
            raise unknown(organization_id, caller.proven)
        if known is None:
            return await self.decisions.on_submission(submission, organization, caller_now, now_ms)
        # Clocks of two servers differ; no vote is older than what it is about.
        voted_ms = max(now_ms, known.updated_at_ms)
        return await self.decisions.on_vote(known, submission, organization, caller_now, voted_ms), None


def _target(submission: Submission) -> str:
    """The fingerprint of the activity that a vote is about."""
    fingerprint: str = submission.intent.fingerprint  # type: ignore[attr-defined]
    return fingerprint


def _has_cast(activity: Activity, caller: Principal, submission: Submission) -> bool:
    """Whether the caller has sent exactly these bytes before, as a vote or as a further proof of one."""
    return any(
        proof.user_id == caller.user.user_id and proof.fingerprint == submission.fingerprint
        for proof in activity.proofs
    )
