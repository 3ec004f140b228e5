"""The pauses of loops: longer after each failure in a row, and as usual after a success. No test waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from keystead.api.errors import Internal, ServiceError, Unavailable
from keystead.delivery.outbox import Outbox
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.failures.rounds import Rounds, pause_after
from keystead.server.installation.deletions import FIRST_WITHIN_S, Deletions
from keystead.server.installation.purging import PERIOD_S, keep_purging
from tests.support.virtual_time import run_in_virtual_time

AWAY, DEFECT = Unavailable("the database does not answer"), KeyError("name")
LOGGED = Internal("the commit could not be written")


def now_s() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(("failures", "pause"), [(1, 3), (2, 6), (3, 12), (4, 24), (5, 25), (6, 25), (10_000, 25)])
def test_a_pause_doubles_up_to_a_limit(failures: int, pause: int) -> None:
    assert pause_after(failures, 3, 25) == pause
    assert pause_after(failures, 0.0, 25.0) == 0.0


class Answers:
    """A store whose every method notes the time, and then raises the next failure or returns no rows."""

    def __init__(self, failures: Sequence[Exception]) -> None:
        self.failures = list(failures)
        self.asked_s: list[float] = []

    @property
    def deliveries(self) -> Answers:
        return self

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def method(*_: object, **__: object) -> Any:
            self.asked_s.append(now_s())
            if self.failures:
                raise self.failures.pop(0)
            return []

        return method


Loop = Callable[[Any], tuple[Coroutine[Any, Any, None], Callable[[], None]]]
"""From a store to a loop of the server, and what begins its next round."""


def outbox(store: Any) -> tuple[Coroutine[Any, Any, None], Callable[[], None]]:
    box = Outbox(
        store,
        {},
        store.open_message,
        now_ms=lambda: int(now_s() * 1000),
        new_id=lambda: "",
        random_fraction=lambda: 0.0,
        kept_ms=0,
    )
    return box.run(), box.wake


def deletions(store: Any) -> tuple[Coroutine[Any, Any, None], Callable[[], None]]:
    loop = Deletions(SimpleNamespace(purger=store), lambda: 0.0)  # type: ignore[arg-type]
    return loop.run(), lambda: loop.note_removal("o", begins_deletion=True)


def scans(store: Any) -> tuple[Coroutine[Any, Any, None], Callable[[], None]]:
    dispatcher = WebhookDispatcher(
        store, store.send, holder="p", now_ms=lambda: int(now_s() * 1000), random_fraction=lambda: 0.0
    )
    return dispatcher.run(), lambda: dispatcher.wake([])


async def asked(
    loop: Loop, failures: Sequence[Exception], until_s: float, wake_every_s: float | None = None
) -> list[float]:
    """The seconds at which a loop asks its store, which fails at first."""
    store = Answers(failures)
    run, wake = loop(store)
    task = asyncio.create_task(run)
    while now_s() < until_s:
        await asyncio.sleep(wake_every_s or until_s)
        if wake_every_s:
            wake()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return store.asked_s


def doubled(first_s: float, number: int) -> list[float]:
    times = [0.0]
    for failures in range(number):
        times.append(times[-1] + min(first_s * 2**failures, 60.0))
    return times


@pytest.mark.parametrize("failure", [DEFECT, AWAY, LOGGED], ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize(("loop", "first_s"), [(outbox, 1.0), (scans, 1.0), (deletions, FIRST_WITHIN_S)])
def test_pauses_grow_while_a_loop_fails(
    loop: Loop, first_s: float, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    times = run_in_virtual_time(asked(loop, [failure] * 1_000, 600.0))
    assert times == pytest.approx(doubled(first_s, len(times) - 1))
    assert len(times) < 20
    assert len(caplog.records) == len(times)


@pytest.mark.parametrize("failure", [DEFECT, AWAY], ids=["a defect", "an outage"])
@pytest.mark.parametrize("loop", [outbox, scans])
def test_the_usual_pace_returns_with_the_first_success(loop: Loop, failure: Exception) -> None:
    times = run_in_virtual_time(asked(loop, [failure] * 4, 20.5))
    assert times == pytest.approx([0, 1, 3, 7, *range(15, 21)])


@pytest.mark.parametrize(
    ("failure", "expected_s"),
    [(DEFECT, [0, 5, 15]), (LOGGED, [0, 5, 15]), (AWAY, [0, 2, 4, 6])],
    ids=["a defect", "a defect that was logged", "an outage"],
)
def test_a_new_deletion_does_not_wait_after_an_outage(failure: Exception, expected_s: list[float]) -> None:
    times = run_in_virtual_time(asked(deletions, [failure] * 3, 15.5, wake_every_s=2.0))
    assert times[: len(expected_s)] == pytest.approx(expected_s)


@pytest.mark.parametrize(("failure", "within_s"), [(DEFECT, 64.0), (AWAY, 32.0)], ids=["a defect", "an outage"])
def test_a_new_message_does_not_wait_after_an_outage(failure: Exception, within_s: float) -> None:
    """The outage ends in the sixth round, at 31 s; the next poll would be at 63 s."""
    failed = run_in_virtual_time(asked(outbox, [failure] * 6, 100.0))
    assert failed[:7] == pytest.approx([0, 1, 3, 7, 15, 31, 63])

    async def story() -> float:
        store = Answers([failure] * 6)
        run, wake = outbox(store)
        task = asyncio.create_task(run)
        await asyncio.sleep(31.5)
        wake()
        await asyncio.sleep(100)
        task.cancel()
        return store.asked_s[6]

    assert run_in_virtual_time(story()) < within_s


def test_new_webhooks_do_not_begin_scans_that_fail() -> None:
    async def story() -> list[float]:
        return await asked(scans, [DEFECT] * 1_000, 60.0, wake_every_s=0.1)

    assert run_in_virtual_time(story()) == pytest.approx([0, 1, 3, 7, 15, 31])


def test_purging_keeps_its_longer_period() -> None:
    async def story() -> list[float]:
        store: Any = Answers([DEFECT] * 3)
        task = asyncio.create_task(keep_purging(store, lambda: 0, lambda: 0.0))
        await asyncio.sleep(2.5 * PERIOD_S)
        task.cancel()
        return list(store.asked_s)

    assert run_in_virtual_time(story()) == pytest.approx([0, PERIOD_S, 2 * PERIOD_S])


@pytest.mark.parametrize("failure", [DEFECT, AWAY])
def test_a_round_is_logged_once(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(logging.getLogger("keystead"), "it could not be done", 1.0)
    with rounds.logged():
        raise failure
    assert rounds.has_failed
    (record,) = caplog.records
    assert isinstance(failure, ServiceError) == (record.levelno == logging.WARNING)
    with rounds.logged():
        pass
    assert not rounds.has_failed


def test_a_round_that_is_cancelled_ends_the_loop() -> None:
    rounds = Rounds(logging.getLogger("keystead"), "it could not be done", 1.0)
    with pytest.raises(asyncio.CancelledError), rounds.logged():
        raise asyncio.CancelledError
    assert not rounds.has_failed
