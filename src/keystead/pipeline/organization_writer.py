"""The writer of an organization: it decides what waits, in order, writes the decisions together, then answers.

A batch is decided on one version of the organization: each decision starts from the version that the one before it
leads to. Nothing is answered before the batch is on disk. If a commit of the batch fails, the decisions that were
made on top of it are made again in the next batch. While a batch is written, the next one gathers, so an
organization has at most one batch under way. After a conflict with another process, the organization is locked
while a batch is decided and written. Equal requests join: one of them is carried out.

Not here: what is decided (`decide`), transactions and the lock itself (`storage`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from keystead.api.errors import Conflict, ServiceError, Unavailable
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.bounds import WAITING_DECISIONS_MAX
from keystead.pipeline.store import LOCK_S, Commit, CommitResult, Store, results_of

ATTEMPTS: Final = 10
"""How many times one request is decided on before its caller is told to send it again.

After a conflict of a batch, the next batches are decided under the organization's lock. They can still be in
conflict: if the parent that authorized a request changes, and on SQLite, where the lock is advisory. An attempt
that did not queue does not lead to the lock: the next attempt queues."""


DECISIONS_MAX: Final = 64
"""The most decisions of a batch."""

CHANGES_MAX: Final = 1_000
"""A batch ends with the decision by which it changes this many records. A commit may hold 12 MB of records."""

BATCH_S: Final = 0.1
"""A batch begins no further decision after this many seconds: those before it wait for their answers."""

UNQUEUED_MAX: Final = 64
"""The most decisions of an organization that change nothing and are made at the same time. The others wait."""

CONTENTION_S: Final = 2.0
"""Seconds after a conflict in which the organization is locked for each batch."""

_STOPS: Final = "the server stops; sending the same request again is safe"

Decided = Commit | RecordedActivity
"""What is to be committed, or an activity that was carried out before."""

Decide = Callable[[Organization | None, Sequence[Commit]], Awaitable[Decided]]
"""Decides on a version of the organization. The commits led to it and are not written yet. Raises MustBeFirst, and
ServiceError for a refusal that writes nothing."""


class MustBeFirst(Exception):
    """The decision reads rows that the batch has not written yet: it is the first of the next batch."""


class _WaitingDecision:
    """A decision that waits for the writer. `outlasts_lock`: it took longer than a lock lasts, and is decided again
    without one."""

    __slots__ = ("_limit", "answer", "decide", "outlasts_lock")

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.answer: asyncio.Future[tuple[Decided, CommitResult]] = asyncio.get_running_loop().create_future()
        self.outlasts_lock = False
        self._limit: asyncio.Timeout | None = None

    async def made(
        self, organization: Organization | None, commits: Sequence[Commit], locked_until_s: float | None
    ) -> Decided | ServiceError | None:
        """The decision; an error refuses without a commit. None after a defect, which the caller got.

        Raises MustBeFirst; TimeoutError if it takes longer than the lock lasts, or is broken off.
        """
        limit = self._limit = asyncio.timeout_at(locked_until_s)
        try:
            async with limit:
                return await self.decide(organization, commits)
        except Exception as error:
            if limit.expired():
                self.outlasts_lock = True
                raise TimeoutError from error
            if isinstance(error, ServiceError):
                return error
            if isinstance(error, MustBeFirst):
                raise
            self.fail(error)
            return None
        finally:
            self._limit = None

    def break_off(self) -> None:
        """End the decision, if it is being made."""
        if self._limit is not None:
            self._limit.reschedule(_now_s())

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def settle(self, decided: Decided, result: CommitResult) -> None:
        if not self.answer.done():
            self.answer.set_result((decided, result))


_Turn = asyncio.Future[RecordedActivity | ServiceError | None]
"""For a request that waits for an equal one: its answer, its refusal, or None if it is to be carried out itself."""

_Batch = list[tuple[_WaitingDecision, Decided | ServiceError]]
"""The decisions of a batch, in order. An error refuses without a commit."""


class OrganizationWriter:
    """Decides what waits for one organization, in order, writes each batch of decisions together, and answers it.
    There is one in a process. Belongs to one event loop.

    Decisions that change nothing of the organization use the semaphore `unqueued` instead.
    """

    def __init__(self, store: Store, organization_id: str, contended_until_s: dict[str, float]) -> None:
        self._store = store
        self._organization_id = organization_id
        self._contended_until_s = contended_until_s
        self._waiting: deque[_WaitingDecision] = deque()
        self._under_way: dict[str, dict[str, deque[_Turn]]] = {}
        """By fingerprint: the requests that wait for the equal one that is carried out, by caller."""
        self._running: asyncio.Task[None] | None = None
        self.unqueued = asyncio.Semaphore(UNQUEUED_MAX)

    @property
    def waiting(self) -> int:
        """How many decisions wait for the next batch."""
        return len(self._waiting)

    async def once(
        self, fingerprint: str, caller_id: str, carry_out: Callable[[], Awaitable[RecordedActivity]]
    ) -> RecordedActivity:
        """Carry out a request, or wait for an equal one that is carried out.

        The same caller gets the same answer; another caller's request is carried out afterwards. `fingerprint`: of
        its bytes. `caller_id`: of the credential that stamped it. Raises what `carry_out` raises.
        """
        waiting = self._under_way.get(fingerprint)
        ended: RecordedActivity | ServiceError | None = None
        if waiting is None:
            self._under_way[fingerprint] = {}
        else:
            turn: _Turn = asyncio.get_running_loop().create_future()
            waiting.setdefault(caller_id, deque()).append(turn)
            try:
                ended = await turn
            except asyncio.CancelledError:
                if not turn.cancelled() and turn.result() is None:
                    self._end(fingerprint, caller_id, None)
                raise
            if isinstance(ended, ServiceError):
                raise ended
            if ended is not None:
                return ended
        try:
            ended = await carry_out()
        except ServiceError as refused:
            ended = refused
            raise
        finally:
            self._end(fingerprint, caller_id, ended)
        return ended

    def _end(self, fingerprint: str, caller_id: str, ended: RecordedActivity | ServiceError | None) -> None:
        """Answer the equal requests of this caller, and let one of another caller begin. Thousands may wait, so the
        others are not woken."""
        waiting = self._under_way[fingerprint]
        if ended is not None:
            for turn in waiting.pop(caller_id, ()):
                if not turn.done():
                    turn.set_result(ended)
        while waiting:
            next_id, turns = next(iter(waiting.items()))
            turn = turns.popleft()
            if not turns:
                del waiting[next_id]
            if not turn.done():
                turn.set_result(None)
                return
        del self._under_way[fingerprint]

    async def decided(self, decide: Decide) -> tuple[Decided, CommitResult]:
        """What was decided, and the result of its commit. Raises the refusal of a decision without a commit, the
        error of the store, and Unavailable if too many decisions wait."""
        if len(self._waiting) >= WAITING_DECISIONS_MAX:
            raise Unavailable(
                f"{len(self._waiting)} requests that change the organization wait already; sending the same "
                "request again is safe"
            )
        waiting = _WaitingDecision(decide)
        self._waiting.append(waiting)
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())
        return await waiting.answer

    async def close(self) -> None:
        """Refuse what waits, and finish the batch under way without its last decision, if that is being made."""
        for waiting in self._waiting:
            waiting.fail(Unavailable(_STOPS))
        if self._waiting:
            self._waiting[0].break_off()
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        batch: _Batch = []
        try:
            while self._waiting:
                batch = []
                try:
                    await self._carry_out(batch)
                except Exception as error:  # noqa: BLE001 - the callers get it
                    self._fail(batch, error)
        except asyncio.CancelledError:  # the event loop ends
            self._fail(batch, Unavailable(_STOPS))
            self._fail([], Unavailable(_STOPS))
            raise
        finally:
            self._running = None

    def _fail(self, batch: _Batch, error: Exception) -> None:
        """Report the error to those of the batch, or to all that wait if the database did not let it begin."""
        if batch:
            failing = [waiting for waiting, _ in batch]
        else:
            failing = list(self._waiting)
            self._waiting.clear()
        for waiting in failing:
            waiting.fail(error)

    async def _carry_out(self, batch: _Batch) -> None:
        """Decide a batch, write it and answer it."""
        organization_id, results = self._organization_id, list[CommitResult | ServiceError]()
        until_s = self._contended_until_s.get(organization_id, 0.0) if self._contended_until_s else 0.0
        if until_s <= _now_s() or self._waiting[0].outlasts_lock:
            commits = await self._decide(batch, await self._store.organization(organization_id), None)
            results += await results_of([self._store.commit(commit) for commit in commits])
        else:
            async with self._store.locked(organization_id) as locked:
                commits = await self._decide(batch, locked.organization, _now_s() + LOCK_S)
                results += await locked.write(commits) if commits else ()
        self._answer(batch, results)

    async def _decide(
        self, batch: _Batch, organization: Organization | None, locked_until_s: float | None
    ) -> Sequence[Commit]:
        """Decide what waits, until the batch is full, and add it to `batch`. Returns the commits."""
        commits: list[Commit] = []
        changes, ends_s = 0, _now_s() + BATCH_S
        while self._waiting and len(batch) < DECISIONS_MAX and changes < CHANGES_MAX:
            waiting = self._waiting[0]
            if waiting.answer.done():  # its caller gave up
                self._waiting.popleft()
                continue
            if batch and _now_s() > ends_s:
                break
            try:
                decided = await waiting.made(organization, commits, locked_until_s)
            except (MustBeFirst, TimeoutError):
                break
            self._waiting.popleft()
            if decided is None:
                continue
            batch.append((waiting, decided))
            if isinstance(decided, Commit):
                commits.append(decided)
                if decided.changes is not None:
                    organization = decided.changes.after
                    changes += len(decided.changes.records)
        return commits

    def _answer(self, batch: _Batch, results: Sequence[CommitResult | ServiceError]) -> None:
        """Report the results to the callers. What was decided on a change that was lost is decided again."""
        left, is_lost = iter(results), False
        again: list[_WaitingDecision] = []
        for waiting, decided in batch:
            result = next(left) if isinstance(decided, Commit) else CommitResult.COMMITTED
            if is_lost and (result is CommitResult.CONFLICT or not isinstance(decided, Commit)):
                again.append(waiting)
            elif isinstance(decided, ServiceError):
                waiting.fail(decided)
            elif isinstance(result, ServiceError):
                waiting.fail(result)
            else:
                waiting.settle(decided, result)
            if isinstance(decided, Commit) and result is not CommitResult.COMMITTED:
                is_lost |= decided.changes is not None
                if result is CommitResult.CONFLICT:
                    self._note_conflict()
        self._waiting.extendleft(reversed(again))

    def _note_conflict(self) -> None:
        """A commit is in conflict with one of another process."""
        now_s, until_s = _now_s(), self._contended_until_s
        while until_s and next(iter(until_s.values())) <= now_s:  # the oldest is the first
            del until_s[next(iter(until_s))]
        until_s.pop(self._organization_id, None)
        until_s[self._organization_id] = now_s + CONTENTION_S


def _now_s() -> float:
    return asyncio.get_running_loop().time()


class OrganizationWriters:
    """The writers of this process: one for each organization, while a request or a batch uses it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contended_until_s: dict[str, float] = {}
        self._writers: WeakValueDictionary[str, OrganizationWriter] = WeakValueDictionary()

    @property
    def waiting(self) -> int:
        """How many decisions wait for their writers."""
        return sum(writer.waiting for writer in list(self._writers.values()))

    async def close(self) -> None:
        """Refuse what waits, and finish the batches under way."""
        await asyncio.gather(*[writer.close() for writer in list(self._writers.values())])

    def writer(self, organization_id: str) -> OrganizationWriter:
        writer = self._writers.get(organization_id)
        if writer is None:
            writer = OrganizationWriter(self._store, organization_id, self._contended_until_s)
            self._writers[organization_id] = writer
        return writer


async def commit_alone(store: Store, organization_id: str, decide: Decide) -> Decided:
    """Decide on the newest version of an organization, which servers may change at the same time, and commit. For
    commands. Raises what `decide` raises, the error of the store, and Conflict after ATTEMPTS."""
    writer = OrganizationWriter(store, organization_id, {})
    for _ in range(ATTEMPTS):
        decided, result = await writer.decided(decide)
        if result is CommitResult.COMMITTED:
            return decided
    raise Conflict(f"organization {organization_id} changed {ATTEMPTS} times meanwhile; run this command again")
