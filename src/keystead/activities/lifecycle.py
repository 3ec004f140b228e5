"""The one road of every write: known or new, in time, allowed, executed, committed.

Here: the order of these steps, and how submissions to one organization take turns.
Not here: what is allowed (`policies`), what an activity does (`operations`), the database (`storage`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from keystead.activities.activity import Activity, Execution, Outcome
from keystead.activities.ports import Clock, Signer
from keystead.activities.proofs import proof_payloads
from keystead.activities.requests import Liveness, Submission, check_liveness
from keystead.activities.store import Commit, CommitOutcome, OrganizationChange, Store
from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import Conflict, NotFound, ServiceError, Unavailable
from keystead.api.records import Timestamp, User, Vote, Wire
from keystead.api.rendering import encode
from keystead.organizations.limits import Limits
from keystead.organizations.lookups import Lookup, lookups
from keystead.organizations.organization import Change, Organization, Put, Remove, Version, apply
from keystead.organizations.principals import Principal, unknown
from keystead.policies.decision import Verdict, decide, denied

ATTEMPTS = 50
"""How often one submission may lose the race for its organization before its caller is told to try again."""


class _Lane:
    """Where submissions to one organization take turns.

    `head` is the organization as it will be when everything handed in so far is committed, `last` the commit that
    leads there; None while that is what the store has. So a submission need not wait for the commit before it, and
    many share one. `failures` counts the commits that came to nothing, and with them every head foreseen by then.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.head: Organization | None = None
        self.last: asyncio.Future[CommitOutcome] | None = None
        self.failures = 0
        self.users = 0
        self.uncommitted = 0


class Lifecycle:
    """Takes submissions to their end. One per process; processes meet in the store."""

    def __init__(
        self,
        *,
        store: Store,
        signer: Signer,
        clock: Clock,
        new_id: Callable[[], str],
        limits: Limits,
        liveness: Liveness,
    ) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock
        self._new_id = new_id
        self._limits = limits
        self._liveness = liveness
        self._lanes: dict[str, _Lane] = {}
        self._in_flight: dict[tuple[str, str], asyncio.Future[None]] = {}

    async def submit(self, submission: Submission, caller: Principal) -> Activity:
        """The activity that these bytes make, or made when they came before. Raises ServiceError if refused."""
        organization_id = submission.envelope.organization_id
        key = (organization_id, submission.fingerprint)
        while (earlier := self._in_flight.get(key)) is not None:
            await asyncio.shield(earlier)
        self._in_flight[key] = landed = asyncio.get_running_loop().create_future()
        try:
            return await self._known_or_new(submission, caller)
        finally:
            del self._in_flight[key]
            landed.set_result(None)

    async def _known_or_new(self, submission: Submission, caller: Principal) -> Activity:
        organization_id = submission.envelope.organization_id
        for _ in range(ATTEMPTS):
            known = await self._store.activity_with_fingerprint(organization_id, submission.fingerprint)
            if known is not None:
                return known
            try:
                activity = await self._attempt(submission, caller)
            except Unavailable:
                raise
            except ServiceError:
                # Another process may have committed the same bytes after they were looked for here: then what
                # refuses this try is what they did.
                activity = await self._store.activity_with_fingerprint(organization_id, submission.fingerprint)
                if activity is None:
                    raise
            if activity is not None:
                return activity
        raise Conflict("the organization is being changed by many others at once; send the same request again")

    async def _attempt(self, submission: Submission, caller: Principal) -> Activity | None:
        """One try: the activity, or None if somebody else changed the organization first."""
        now_ms = self._clock.now_ms()
        check_liveness(submission.envelope, now_ms, self._liveness)
        organization_id = submission.envelope.organization_id
        async with self._lane(organization_id) as lane:
            foreseen_by: asyncio.Future[CommitOutcome] | None = None
            try:
                async with lane.turn:
                    foreseen_by, failures = lane.last, lane.failures
                    organization = lane.head or await self._store.organization(organization_id)
                    if organization is None:
                        raise NotFound(
                            f"no organization found with the given ID: {organization_id}",
                            machine_code="ORGANIZATION_NOT_FOUND",
                        )
                    commit, activity = await self._evaluate(submission, organization, caller, now_ms)
                    if foreseen_by is not None and lane.failures != failures:
                        return None
                    committing = self._store.commit(commit)
                    if commit.change is not None:
                        lane.head, lane.last = commit.change.after, committing
                    lane.uncommitted += 1
            except ServiceError:
                # Refused on the ground of what was foreseen: that holds only if it comes to pass.
                if foreseen_by is None or await _came_to_pass(foreseen_by):
                    raise
                return None
            outcome = None
            try:
                outcome = await committing
            finally:
                lane.uncommitted -= 1
                if outcome is not CommitOutcome.COMMITTED:
                    lane.failures += 1
                if outcome is not CommitOutcome.COMMITTED or not lane.uncommitted:
                    lane.head = lane.last = None
        return activity if outcome is CommitOutcome.COMMITTED else None

    @asynccontextmanager
    async def _lane(self, organization_id: str) -> AsyncIterator[_Lane]:
        lane = self._lanes.setdefault(organization_id, _Lane())
        lane.users += 1
        try:
            yield lane
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[organization_id]

    async def _evaluate(
        self, submission: Submission, organization: Organization, caller: Principal, now_ms: int
    ) -> tuple[Commit, Activity]:
        """Decide and, if allowed, execute: what to commit. Writes nothing."""
        voter = organization.users.get(caller.user.user_id)
        if voter is None:
            raise unknown(organization.id, caller.proven)
        operation = submission.operation
        intent = submission.version.upgrade(submission.intent)
        owner_id = operation.owner(intent) if operation.owner else None
        match decide(organization, {voter.user_id}, owner_id):
            case Verdict.DENY:
                raise denied(submission.version.activity_type)
            case Verdict.NEEDS_CONSENSUS:
                status, outcome = ActivityStatus.CONSENSUS_NEEDED, None
            case Verdict.ALLOW:
                execution = Execution(
                    organization=organization,
                    caller=caller,
                    now_ms=now_ms,
                    limits=self._limits,
                    signer=self._signer,
                    new_id=self._new_id,
                )
                executed = operation.execute(execution, intent)
                outcome = await executed if inspect.isawaitable(executed) else executed
                status = ActivityStatus.COMPLETED
        activity_id = self._new_id()
        activity = Activity(
            id=activity_id,
            organization_id=organization.id,
            type=submission.version.activity_type,
            status=status,
            fingerprint=submission.fingerprint,
            request=submission.request,
            result=_result(submission.version.result_key, outcome),
            votes=(self._vote(activity_id, voter, caller, submission.request, now_ms),),
            app_proofs=(),
            failure=None,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )
        if submission.envelope.generate_app_proofs and outcome is not None:
            payloads = proof_payloads(activity, organization, outcome.derived, now_ms)
            activity = replace(activity, app_proofs=await self._signer.prove(payloads))
        commit = Commit(
            organization_id=organization.id,
            activity=activity,
            change=_change(organization, outcome, activity_id) if outcome is not None else None,
        )
        return commit, activity

    def _vote(self, activity_id: str, voter: User, caller: Principal, signed: bytes, now_ms: int) -> Vote:
        return Vote(
            id=self._new_id(),
            user_id=voter.user_id,
            user=voter,
            activity_id=activity_id,
            selection=VoteSelection.APPROVED,
            message=signed.decode(),
            public_key=caller.proven.public_key,
            signature=caller.proven.signature,
            scheme=caller.proven.scheme,
            created_at=Timestamp.from_ms(now_ms),
        )


async def _came_to_pass(committing: asyncio.Future[CommitOutcome]) -> bool:
    """Whether this commit, and so every commit that it was built on, is durable."""
    await asyncio.wait([committing])
    failed = committing.cancelled() or committing.exception() is not None
    return not failed and committing.result() is CommitOutcome.COMMITTED


def _result(result_key: str, outcome: Outcome[Wire] | None) -> dict[str, msgspec.Raw]:
    return {} if outcome is None else {result_key: msgspec.Raw(encode(outcome.result))}


def _change(organization: Organization, outcome: Outcome[Wire], activity_id: str) -> OrganizationChange | None:
    if not outcome.changes and not outcome.attachments:
        return None
    version = Version(organization.version.number + 1, activity_id)
    known = _lookups_of(organization, outcome.changes)
    after = apply(organization, outcome.changes, version)
    found = _lookups_of(after, outcome.changes)
    return OrganizationChange(
        before=organization.version,
        after=after,
        changes=outcome.changes,
        attachments=outcome.attachments,
        lookups=found - known,
        forgotten=known - found,
    )


def _lookups_of(organization: Organization, changes: Iterable[Change]) -> frozenset[Lookup]:
    """By what the users whom these changes touch can be found in this version of the organization."""
    touched = set()
    for change in changes:
        match change:
            case Put(User() as user):
                touched.add(user.user_id)
            case Remove(kind, id_) if kind is User:
                touched.add(id_)
    users = [organization.users[user_id] for user_id in touched if user_id in organization.users]
    return frozenset(lookup for user in users for lookup in lookups(user))
