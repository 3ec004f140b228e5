"""The order of the steps of every write: idempotency, queue of the organization, plan, commit.

Here: the order, and the next attempt after a commit lost a race. Not here: the steps that plan a commit (`submit`,
`vote`), the queue (`organization_queue`), the database (`storage`). Writes that no stamped request asks for do not
use this module: bootstrap, the rotation of the master key, and the server's own rows, such as those of messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.api.errors import Conflict, NotFound, ServiceError, Unavailable
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.ip_allowlists import SourceAddress, check_source
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, principal_in, unknown_key_error
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis, ComputedOutput
from keystead.pipeline.commit import PlannedCommit
from keystead.pipeline.environment import Environment
from keystead.pipeline.idempotency import InFlightRequests
from keystead.pipeline.load_context import operation_of
from keystead.pipeline.organization_queue import OrganizationQueues, is_committed
from keystead.pipeline.ports import Identities
from keystead.pipeline.requests import Submission, check_liveness
from keystead.pipeline.store import CommitResult
from keystead.pipeline.submit import plan_submission
from keystead.pipeline.vote import plan_vote
from keystead.pipeline.webhook_events import with_events

ATTEMPTS: Final = 10
"""How many times one request is decided on before its caller is told to send it again. From the second attempt
on, the organization is locked: then an attempt fails only if it takes too long, or if the activity that it votes
on changes."""


class _Request(msgspec.Struct, frozen=True):
    """A submission, or a vote (`is_vote`), and its caller.

    `seen`: the organization in which the caller was found. `source`: the address that the request came from.
    `activity_fingerprint`: of the activity that the request makes or votes on.
    """

    submission: Submission
    caller: Principal
    seen: Organization
    source: SourceAddress
    is_vote: bool
    activity_fingerprint: str

    @property
    def organization_id(self) -> str:
        return self.submission.organization_id

    def is_done_by(self, activity: RecordedActivity | None) -> bool:
        """Whether the activity on record shows that the same bytes were carried out before."""
        if activity is None or not self.is_vote:
            return activity is not None
        return any(
            proof.user_id == self.caller.user.user_id and proof.fingerprint == self.submission.fingerprint
            for proof in activity.proofs
        )


class _Attempt(msgspec.Struct, frozen=True):
    """One attempt at a request. `looks_for_repeats`: an activity of the same bytes may be on record, and is
    searched first. `computed`: the output of an earlier attempt."""

    number: int = 0
    looks_for_repeats: bool = False
    computed: ComputedOutput | None = None


class Lifecycle:
    """Carries submissions and votes from their bytes to their commit. One object for each process and its event
    loop."""

    def __init__(self, environment: Environment, identities: Identities) -> None:
        self._environment = environment
        self._identities = identities
        self._in_flight = InFlightRequests()
        self._queues = OrganizationQueues(environment.store)

    @property
    def waiting(self) -> int:
        """How many submissions wait for their turn at their organization."""
        return self._queues.waiting

    async def submit(
        self, submission: Submission, caller: Principal, seen: Organization, source: SourceAddress
    ) -> RecordedActivity:
        """The activity that these bytes create, or created when they arrived before. For a vote, the activity voted
        on.

        `seen`: the organization as it was read after the request arrived, to find the caller. `source`: the address
        that the request came from. Raises ServiceError if the request is refused.
        """
        key = submission.organization_id, submission.fingerprint
        was_here = await self._in_flight.join(key)
        try:
            operation = submission.operation
            is_vote = operation.vote is not None
            fingerprint = submission.intent.fingerprint if is_vote else submission.fingerprint  # type: ignore[attr-defined]
            request = _Request(submission, caller, seen, source, is_vote, fingerprint)
            if tokens := submission.id_tokens():
                # An issuer may be slow, so its tokens are verified before the request queues. They are verified
                # once, because they may have expired when the activity is executed or its bytes are sent again.
                if (known := await self._carried_out(request)) is not None:
                    return known
                request = replace(request, submission=await self._with_identities(submission, tokens))
            return await self._until_committed(request, repeated=was_here)
        finally:
            self._in_flight.finish(key)

    async def _with_identities(self, submission: Submission, tokens: Mapping[str, str]) -> Submission:
        """The submission with the identities that its tokens prove now. `tokens`: by field."""
        environment = self._environment
        check_liveness(submission.envelope, environment.clock.caller_times_ms(), environment.settings.liveness)
        by_token: dict[str, ProvenIdentity] = {}
        for field, token in tokens.items():
            if token not in by_token:
                by_token[token] = await self._identities.verify_token(token, field)
                await asyncio.sleep(0)  # other requests run between two tokens: a request may have a thousand
        return replace(submission, identities={field: by_token[token] for field, token in tokens.items()})

    async def _until_committed(self, request: _Request, *, repeated: bool) -> RecordedActivity:
        # A search for the same bytes costs a tenth of a submission, and almost never finds an activity. The store
        # refuses a second activity of the same bytes in any case.
        attempt = _Attempt(looks_for_repeats=repeated)
        for number in range(ATTEMPTS):
            try:
                planned, result = await self._attempt(request, attempt)
            except Unavailable:
                raise
            except ServiceError:
                # The same bytes may have been carried out before, in this or another process, and their effect
                # may be the reason for this refusal.
                if (known := await self._carried_out(request)) is not None:
                    return known
                raise
            if result is CommitResult.COMMITTED:
                if planned.refusal is not None:
                    raise planned.refusal
                assert planned.activity is not None
                return planned.activity
            attempt = _Attempt(number + 1, looks_for_repeats=True, computed=planned.computed or attempt.computed)
        raise Conflict("other requests changed the organization at the same time; send the same request again")

    async def _attempt(self, request: _Request, attempt: _Attempt) -> tuple[PlannedCommit, CommitResult]:
        """Decide on the newest version of the organization and commit. If the result is not COMMITTED, decide
        again."""
        environment = self._environment
        check_liveness(
            request.submission.envelope, environment.clock.caller_times_ms(), environment.settings.liveness
        )
        if attempt.looks_for_repeats and not request.is_vote:
            known = await self._carried_out(request)
            if known is not None:
                return PlannedCommit(activity=known), CommitResult.COMMITTED
        if attempt.number == 0 and not request.is_vote and not request.submission.operation.changes_organization:
            # A signature or a new sub-organization changes nothing that other decisions depend on, so the first
            # attempt does not queue.
            with self._queues.queue(request.organization_id) as queue:
                async with queue.unqueued:
                    planned = await self._plan(request, request.seen, None, attempt)
            if planned.commit is None:
                return planned, CommitResult.COMMITTED
            return planned, await environment.store.commit(planned.commit)
        return await self._in_queue(request, attempt)

    async def _in_queue(self, request: _Request, attempt: _Attempt) -> tuple[PlannedCommit, CommitResult]:
        """Decide on the speculative head: the organization after all requests before this one are committed."""
        with self._queues.queue(request.organization_id) as queue:
            committing, head_commit = None, queue.head_commit
            async with queue.turn():
                try:
                    activity, operation = None, request.submission.operation
                    if request.is_vote:
                        await queue.flush(request.activity_fingerprint)
                        activity = await self._voted_on(request)
                        operation = operation_of(activity, self._environment)
                    if operation.load_context is not None and operation.context_is_own:
                        # The context is read from the database.
                        await queue.flush()
                    head_commit = queue.head_commit
                    organization = await queue.organization()
                    planned = await self._plan(request, organization, activity, attempt)
                except ServiceError as refused:
                    planned = PlannedCommit(refusal=refused)
                if planned.commit is not None:
                    committing = queue.commit(planned.commit)
            if committing is not None:
                return planned, await queue.committed(committing)
            # A decision without a commit counts only if the speculative head it was decided on is committed.
            if head_commit is not None and not await is_committed(head_commit):
                return planned, CommitResult.CONFLICT
        if planned.refusal is not None:
            raise planned.refusal
        return planned, CommitResult.COMMITTED

    async def _plan(
        self,
        request: _Request,
        organization: Organization | None,
        activity: RecordedActivity | None,
        attempt: _Attempt,
    ) -> PlannedCommit:
        """What to commit for a submission, or for a vote on `activity`, on this version of the organization.

        Raises ServiceError if refused with nothing to commit.
        """
        submission, environment = request.submission, self._environment
        now_ms = environment.clock.now_ms()
        authority = organization
        is_by_parent = request.caller.organization_id != request.organization_id
        if is_by_parent:
            authority = await environment.store.organization(request.caller.organization_id)
        caller = _caller_in(authority, request, now_ms)
        assert authority is not None
        basis = Basis(
            organization=_existing(organization, request),
            authority=authority,
            authorized_by=(authority.id, authority.version) if is_by_parent else None,
            now_ms=now_ms,
            computed=attempt.computed,
        )
        parent = await self._parent(basis.organization)
        if activity is None:
            planned = await plan_submission(submission, caller, basis, environment)
        elif request.is_done_by(activity):
            return PlannedCommit(activity=activity)
        else:
            # The clocks of two servers differ. No vote may be older than the activity's last change.
            basis = replace(basis, now_ms=max(now_ms, activity.updated_at_ms))
            planned = await plan_vote(activity, submission, caller, basis, environment)
        if planned.refusal is not None and not attempt.looks_for_repeats:
            known = await self._carried_out(request)
            if known is not None:
                return PlannedCommit(activity=known)
        return with_events(planned, activity, basis.organization, parent, environment, basis.now_ms)

    async def _parent(self, organization: Organization) -> Organization | None:
        """The parent, whose webhook endpoints get this organization's events, too."""
        parent_id = organization.profile.parent_id
        return None if parent_id is None else await self._environment.store.organization(parent_id)

    async def _carried_out(self, request: _Request) -> RecordedActivity | None:
        """The activity that the same bytes made or voted on before, in this or another process; None if they are
        new."""
        activity = await self._on_record(request)
        return activity if request.is_done_by(activity) else None

    async def _on_record(self, request: _Request) -> RecordedActivity | None:
        """The activity that these bytes made or vote on; None if it is not on record."""
        return await self._environment.store.activity_with_fingerprint(
            request.organization_id, request.activity_fingerprint
        )

    async def _voted_on(self, request: _Request) -> RecordedActivity:
        activity = await self._on_record(request)
        if activity is None:
            raise NotFound(
                f"No activity found with fingerprint {request.activity_fingerprint[:100]!r}. Consensus activities "
                "must target an existing activity by fingerprint"
            )
        return activity


def _existing(organization: Organization | None, request: _Request) -> Organization:
    if organization is None or organization.profile.deleted:
        raise NotFound(
            f"no organization found with the given ID: {request.organization_id}",
            machine_code="ORGANIZATION_NOT_FOUND",
        )
    return organization


def _caller_in(organization: Organization | None, request: _Request, now_ms: int) -> Principal:
    """The caller in this version of the organization, which may have changed since the stamp was verified. Its IP
    allow-list must have the address of the request."""
    proven = request.caller.proven
    caller = principal_in(_existing(organization, request), proven, now_ms)
    if caller is None or caller.user.user_id != request.caller.user.user_id:
        raise unknown_key_error(request.organization_id, proven)
    check_source(_existing(organization, request), proven.public_key, request.source)
    return caller
