"""The order of the steps of every write: idempotency, queue of the organization, plan, commit.

Here: the order, and the next attempt after a commit lost a race. Not here: the steps themselves (`idempotency`,
`organization_queue`, `plan`), the database (`storage`). Writes that no stamped request asks for do not
use this module: bootstrap, the rotation of the master key, and the server's own rows, such as those of messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.api.errors import Conflict, ServiceError, Unavailable
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import ComputedOutput
from keystead.pipeline.commit import PlannedCommit
from keystead.pipeline.environment import Environment
from keystead.pipeline.idempotency import InFlightRequests, activity_voted_on, existing_activity, was_carried_out
from keystead.pipeline.load_context import operation_of
from keystead.pipeline.organization_queue import OrganizationQueues, is_committed
from keystead.pipeline.plan import plan
from keystead.pipeline.ports import Identities
from keystead.pipeline.received import ReceivedRequest, received
from keystead.pipeline.requests import Submission, check_liveness
from keystead.pipeline.store import CommitResult

ATTEMPTS: Final = 10
"""How many times one request is decided on before its caller is told to send it again.

For two seconds after a conflict of an attempt that queued, all queued attempts are made under the organization's
lock (`organization_queue`). A conflict of an attempt that did not queue does not lead to the lock: the next attempt
queues. An attempt under the lock can still be in conflict: if it takes longer than the lock lasts, if the parent
that authorized it changes, and on SQLite, where the lock is advisory."""


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
        """How many submissions wait in the queues of their organizations."""
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
        ended_recently = await self._in_flight.join(key)
        try:
            request = received(submission, caller, seen, source)
            if tokens := submission.id_tokens():
                # An issuer may be slow, so its tokens are verified before the request queues. They are verified
                # once, because they may have expired when the activity is executed or its bytes are sent again.
                if (known := await existing_activity(request, self._environment.store)) is not None:
                    return known
                request = replace(request, submission=await self._with_identities(submission, tokens))
            return await self._until_committed(request, repeated=ended_recently)
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

    async def _until_committed(self, request: ReceivedRequest, *, repeated: bool) -> RecordedActivity:
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
                if (known := await existing_activity(request, self._environment.store)) is not None:
                    return known
                raise
            if result is CommitResult.COMMITTED:
                if planned.refusal is not None:
                    raise planned.refusal
                assert planned.activity is not None
                return planned.activity
            attempt = _Attempt(number + 1, looks_for_repeats=True, computed=planned.computed or attempt.computed)
        raise Conflict("other requests changed the organization at the same time; send the same request again")

    async def _attempt(self, request: ReceivedRequest, attempt: _Attempt) -> tuple[PlannedCommit, CommitResult]:
        """Decide on the newest version of the organization and commit. If the result is not COMMITTED, decide
        again."""
        environment = self._environment
        check_liveness(
            request.submission.envelope, environment.clock.caller_times_ms(), environment.settings.liveness
        )
        looks_on_record = attempt.looks_for_repeats and not request.is_vote
        if looks_on_record and (known := await existing_activity(request, self._environment.store)) is not None:
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

    async def _in_queue(self, request: ReceivedRequest, attempt: _Attempt) -> tuple[PlannedCommit, CommitResult]:
        """Decide on the speculative head: the organization after all requests before this one are committed."""
        with self._queues.queue(request.organization_id) as queue:
            committing, head_commit = None, queue.head_commit
            async with queue.exclusive():
                try:
                    activity, operation = None, request.submission.operation
                    if request.is_vote:
                        await queue.flush(request.activity_fingerprint)
                        activity = await activity_voted_on(request, self._environment.store)
                        operation = operation_of(activity, self._environment)
                    if operation.context_is_own:
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
        request: ReceivedRequest,
        organization: Organization | None,
        voted_on: RecordedActivity | None,
        attempt: _Attempt,
    ) -> PlannedCommit:
        """What to commit on this version of the organization: nothing if the same bytes were carried out before.

        Raises ServiceError if the request is refused with nothing to commit.
        """
        if voted_on is not None and was_carried_out(request, voted_on):
            return PlannedCommit(activity=voted_on)
        planned = await plan(request, organization, voted_on, attempt.computed, self._environment)
        if planned.refusal is None or attempt.looks_for_repeats:
            return planned
        known = await existing_activity(request, self._environment.store)
        return planned if known is None else PlannedCommit(activity=known)
