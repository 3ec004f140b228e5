"""The writer of an organization over both databases: batches that fail, contention, slow decisions, the end.

Not here: which decisions the pipeline makes (`tests/pipeline`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from keystead.api.errors import AlreadyExists, InvalidRequest, Unavailable
from keystead.organizations.organization import Organization
from keystead.pipeline import organization_writer
from keystead.pipeline.organization_writer import Decide, Decided, OrganizationWriter
from keystead.pipeline.store import Commit, CommitResult
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import MakeDatabase, opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_wallet, an_account
from tests.support.hanging import not_hanging
from tests.support.tcp_proxy import tcp_proxy_to

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult

Make = Callable[[CommitHistory], Commit]


def deciding(make: Make = CommitHistory.step) -> Decide:
    """Decides for this commit, on whichever version of the organization."""

    async def decide(organization: Organization | None, _: Sequence[Commit]) -> Decided:
        assert organization is not None
        return make(CommitHistory(organization))

    return decide


def writer_of(store: DatabaseStore, organization_id: str, *, is_contended: bool) -> OrganizationWriter:
    until_s = asyncio.get_running_loop().time() + 600
    return OrganizationWriter(store, organization_id, {organization_id: until_s} if is_contended else {})


@pytest.fixture(params=[False, True], ids=["alone", "contended"])
def is_contended(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_decisions_follow_each_other(database: str, is_contended: bool) -> None:
    """Each starts from the version that the one before leads to."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            head = (await new_history(store)).head
            writer = writer_of(store, head.id, is_contended=is_contended)
            kinds: list[Make] = [CommitHistory.step, CommitHistory.signing] * 20
            results = await asyncio.gather(*[writer.decided(deciding(make)) for make in kinds])
            assert [result for _, result in results] == [COMMITTED] * 40
            newest = await other.organization(head.id)
            assert newest is not None and newest.version.number == 21
            assert await store.organization(head.id) == newest

    asyncio.run(run())


def test_what_fails_takes_no_other_with_it(database: str, is_contended: bool) -> None:
    """The second commit contradicts the tables. Decisions and refusals on top of it are made again."""

    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallet = a_wallet()
            account, twin = [an_account(history.head.id, wallet.wallet_id) for _ in range(2)]

            async def refusing(organization: Organization | None, _: Sequence[Commit]) -> Decided:
                assert organization is not None
                raise InvalidRequest(f"version {organization.version.number}")

            writer = writer_of(store, history.head.id, is_contended=is_contended)
            decisions: list[Decide] = [
                deciding(lambda history: history.step(wallet, attachments=(account,))),
                deciding(lambda history: history.step(wallet, attachments=(twin,))),
                deciding(CommitHistory.signing),
                refusing,
                deciding(),
            ]
            first, bad, signing, refused, last = await asyncio.gather(
                *map(writer.decided, decisions), return_exceptions=True
            )
            assert isinstance(bad, AlreadyExists)
            assert isinstance(refused, InvalidRequest) and refused.message == "version 2"
            for done in (first, signing, last):
                assert isinstance(done, tuple) and done[1] is COMMITTED
            newest = await store.organization(history.head.id)
            assert newest is not None and newest.version.number == 3

    asyncio.run(run())


def test_two_processes_with_a_busy_organization(database: str) -> None:
    """Conflicts lead to the lock. Every request is carried out, none of them often in vain."""
    attempts = 0

    async def submit(writer: OrganizationWriter) -> None:
        nonlocal attempts
        result = CONFLICT
        while result is CONFLICT:
            attempts += 1
            _, result = await writer.decided(deciding())
        assert result is COMMITTED

    async def run() -> None:
        async with opened(database, timeout_s=60) as store, opened(database, timeout_s=60) as other:
            head = (await new_history(store)).head
            writers = [writer_of(place, head.id, is_contended=False) for place in (store, other)]
            for _ in range(5):
                await asyncio.gather(*[submit(writer) for writer in writers for _ in range(20)])
            newest = await other.organization(head.id)
            assert newest is not None and newest.version.number == 201
        assert attempts < 2 * 200

    asyncio.run(run())


class SlowDecision:
    """A decision that waits for a slow signer, until `goes_on` is set. `attempts`: how each of them ended.
    `refuses`: with an error of its own if it is broken off."""

    def __init__(self, *, refuses: bool = False) -> None:
        self._refuses = refuses
        self.begun, self.goes_on = asyncio.Semaphore(0), asyncio.Event()
        self.attempts: list[str] = []

    async def __call__(self, organization: Organization | None, _: Sequence[Commit]) -> Decided:
        assert organization is not None
        self.begun.release()
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            self.attempts.append("broken off")
            if self._refuses:
                raise Unavailable("the signer does not answer") from None
            raise
        self.attempts.append("made")
        return CommitHistory(organization).step()


@pytest.mark.parametrize("refuses", [False, True])
def test_a_slow_decision_does_not_keep_the_lock(
    database: str, refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is broken off when the lock has lasted long enough, and made again without a lock. What was decided
    before it is written at once. Meanwhile another process gets the lock."""
    monkeypatch.setattr(organization_writer, "LOCK_S", 0.05)

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            head = (await new_history(store)).head
            ours, theirs = [writer_of(place, head.id, is_contended=True) for place in (store, other)]
            slow = SlowDecision(refuses=refuses)
            first, long = [asyncio.create_task(ours.decided(decide)) for decide in (deciding(), slow)]
            assert (await first)[1] is COMMITTED
            assert slow.attempts == ["broken off"]
            for _ in range(2):
                await slow.begun.acquire()
            assert (await theirs.decided(deciding()))[1] is COMMITTED
            slow.goes_on.set()
            assert (await long)[1] is CONFLICT
            assert slow.attempts == ["broken off", "made"]
            assert (await ours.decided(slow))[1] is COMMITTED

    with not_hanging():
        asyncio.run(run())


def test_a_time_limit_inside_a_decision_is_a_defect_of_its_own(database: str, is_contended: bool) -> None:
    async def defect(_: Organization | None, __: Sequence[Commit]) -> Decided:
        raise TimeoutError

    async def run() -> None:
        async with opened(database) as store:
            head = (await new_history(store)).head
            writer = writer_of(store, head.id, is_contended=is_contended)
            failed, done = await asyncio.gather(
                writer.decided(defect), writer.decided(deciding()), return_exceptions=True
            )
            assert isinstance(failed, TimeoutError)
            assert isinstance(done, tuple) and done[1] is COMMITTED

    with not_hanging():
        asyncio.run(run())


@pytest.mark.parametrize("waits", [True, False], ids=["callers wait", "callers left"])
def test_the_end_of_a_process(database: str, is_contended: bool, waits: bool) -> None:
    """What was decided is written and answered. The decision under way ends, and what waits is refused."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            head = (await new_history(store)).head
            writer = writer_of(store, head.id, is_contended=is_contended)
            slow = SlowDecision()
            decisions: list[Decide] = [deciding(), deciding(), slow, deciding()]
            tasks = [asyncio.create_task(writer.decided(decide)) for decide in decisions]
            await slow.begun.acquire()
            if not waits:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            await writer.close()
            assert slow.attempts == ["broken off"]
            if waits:
                assert [(await task)[1] for task in tasks[:2]] == [COMMITTED] * 2
                for task in tasks[2:]:
                    with pytest.raises(Unavailable, match="stops; sending the same request again is safe"):
                        await task
            newest = await other.organization(head.id)
            assert newest is not None and newest.version.number == 3
            await store.close()
            with pytest.raises(Unavailable, match="is being closed"):
                await writer.decided(deciding())

    with not_hanging():
        asyncio.run(run())


def test_the_connection_is_lost_during_the_commit(new_postgres: MakeDatabase, is_contended: bool) -> None:
    """All callers of the batch get the same error, those that wait are carried out or refused, nothing hangs."""
    database = new_postgres()

    async def run() -> None:
        async with tcp_proxy_to(database) as proxy, opened(database) as other:
            head = (await new_history(other)).head
            async with opened(proxy.url) as store:
                writer = writer_of(store, head.id, is_contended=is_contended)
                assert (await writer.decided(deciding()))[1] is COMMITTED
                proxy.cut_before_answer_of(b"COMMIT\0")
                answers = await asyncio.gather(
                    *[writer.decided(deciding()) for _ in range(5)], return_exceptions=True
                )
                assert all(isinstance(answer, Unavailable) for answer in answers), answers
                proxy.restore()
                newest = await other.organization(head.id)
                assert newest is not None and newest.version.number == 2 + 5, "the answer of COMMIT was lost"
                while True:  # until the store has connected again
                    try:
                        _, result = await writer.decided(deciding())
                    except Unavailable:
                        await asyncio.sleep(0.02)
                    else:
                        break
                assert result is COMMITTED

    with not_hanging():
        asyncio.run(run())
