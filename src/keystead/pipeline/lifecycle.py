"""The way of every submission and vote: equal requests join, ID tokens are verified, then decision and commit.

Here: the order, and the next attempt after a commit lost a race. Not here: the decision (`decide`), the queue and
the batch (`organization_writer`), the database (`storage`). Writes that no stamped request asks for do not use this
module: bootstrap, the rotation of the master key, and the server's own rows, such as those of messages."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from msgspec.structs import replace

from keystead.api.errors import Conflict, ServiceError, Unavailable
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.decide import decide, existing_activity
from keystead.pipeline.environment import Environment
from keystead.pipeline.organization_writer import ATTEMPTS, Decided, OrganizationWriter, OrganizationWriters
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Commit, CommitResult
from keystead.pipeline.submission import Submission, check_liveness
from keystead.primitives.share import pause


class Lifecycle:
    """Carries submissions and votes to their commit. One object for each process and its event loop."""

    def __init__(self, environment: Environment, identities: Identities) -> None:
        self._environment = environment
        self._identities = identities
        self._writers = OrganizationWriters(environment.store)

    @property
    def waiting(self) -> int:
        """How many submissions wait for the writers of their organizations."""
        return self._writers.waiting

    async def close(self) -> None:
        """Refuse what waits, and finish what is being written."""
        await self._writers.close()

    async def submit(self, submission: Submission) -> RecordedActivity:
        """The activity that these bytes create, or created when they arrived before. For a vote, the activity voted
        on. Raises ServiceError if the request is refused."""
        writer = self._writers.writer(submission.seen.id)
        return await writer.once(
            submission.body.fingerprint, submission.caller.record_id, lambda: self._carry_out(submission, writer)
        )

    async def _carry_out(self, submission: Submission, writer: OrganizationWriter) -> RecordedActivity:
        store = self._environment.store
        try:
            if submission.body.operation.oidc_tokens is not None and (tokens := submission.body.id_tokens()):
                # An issuer may be slow, so its tokens are verified before the request queues. They are verified
                # once, because they may have expired when the activity is executed or its bytes are sent again.
                if (known := await existing_activity(submission, store)) is not None:
                    return known
                submission = await self._with_identities(submission, tokens)
            return await self._until_committed(submission, writer)
        except Unavailable:
            raise
        except ServiceError:
            # The same bytes may have been carried out before, in this or another process, and their effect may be
            # the reason for this refusal.
            if (known := await existing_activity(submission, store)) is not None:
                return known
            raise

    async def _with_identities(self, submission: Submission, tokens: Mapping[str, str]) -> Submission:
        """The submission with the identities that its tokens prove now. `tokens`: by field."""
        self._check_liveness(submission)
        by_token: dict[str, ProvenIdentity] = {}
        for field, token in tokens.items():
            if token not in by_token:
                by_token[token] = await self._identities.verify_token(token, field)
                await pause()  # other requests run between two tokens: a request may have a thousand
        return replace(submission, identities={field: by_token[token] for field, token in tokens.items()})

    def _check_liveness(self, submission: Submission) -> None:
        environment = self._environment
        check_liveness(submission.body.envelope, environment.clock.caller_times_ms(), environment.settings.liveness)

    async def _until_committed(self, submission: Submission, writer: OrganizationWriter) -> RecordedActivity:
        environment, computed = self._environment, None
        # A signature or a new sub-organization changes nothing that other decisions depend on, so the first attempt
        # does not queue.
        queues = submission.is_vote or submission.body.operation.changes_organization

        def decide_on(organization: Organization | None, unwritten: Sequence[Commit]) -> Awaitable[Decided]:
            return decide(submission, organization, unwritten, computed, environment)

        for _ in range(ATTEMPTS):
            self._check_liveness(submission)
            if queues:
                decided, result = await writer.decided(decide_on)
            else:
                async with writer.unqueued:
                    decided = await decide_on(submission.seen, ())
                result = CommitResult.COMMITTED
                if isinstance(decided, Commit):
                    result = await environment.store.commit(decided)
            if isinstance(decided, RecordedActivity):
                return decided
            if result is CommitResult.COMMITTED:
                return _answer(decided)
            if result is CommitResult.DUPLICATE:
                known = await existing_activity(submission, environment.store)
                if known is not None:
                    return known
            queues, computed = True, decided.computed or computed
        raise Conflict("other requests changed the organization at the same time; send the same request again")


def _answer(commit: Commit) -> RecordedActivity:
    """The answer after the commit. Raises the refusal that the commit has on record."""
    answer = commit.answer or commit.activity
    if isinstance(answer, ServiceError):
        raise answer
    assert answer is not None
    return answer
