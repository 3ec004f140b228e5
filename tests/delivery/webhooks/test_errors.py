"""Errors of the server itself while it delivers webhooks: what they delay, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from keystead.api.errors import Internal, TooLarge, Unavailable
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt
from keystead.delivery.webhooks.dispatcher import AT_ONCE_MAX, Pace, WebhookDispatcher
from keystead.organizations.webhooks.webhooks import DeliveryResult, WebhookDelivery
from tests.support.virtual_time import run_in_virtual_time
from tests.support.webhook_dispatching import (
    ACCEPTED,
    LATER,
    Clock,
    Receivers,
    Rows,
    an_organization,
    dispatcher,
    settled,
    waiting,
)

DEFECTS = {
    "a defect": KeyError("a defect of the server"),
    "a defect that the signer logged": Internal("this server has no key that signs webhooks"),
    "an event that the signer refuses": TooLarge("a message of the signer is too long"),
}
DEFECT = DeliveryAttempt(result=AttemptResult.DEFECT, defect=DEFECTS["a defect"])


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_a_defect_with_one_event_delays_no_other(defect: Exception) -> None:
    """The event itself has the plan of attempts that failed."""

    def answer(_: str, event: str) -> DeliveryAttempt:
        if event.startswith("a0") and not clock.ms:
            raise defect
        return ACCEPTED

    deliveries = [waiting("e", f"a{number}") for number in range(20)]
    rows, receivers, clock = Rows(an_organization("e"), *deliveries), Receivers(answer), Clock()
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        await settled(running)
        assert running.results == {DeliveryResult.DELAYED: 1}
        clock.ms += 1_000
        await settled(running)
        assert running.results == {DeliveryResult.DELAYED: 1, DeliveryResult.DELIVERED: 19}
        clock.ms += 9_000
        await settled(running)

    asyncio.run(run())
    assert running.results == {DeliveryResult.DELAYED: 1, DeliveryResult.DELIVERED: 20}


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_a_defect_with_every_event_is_no_failure_of_the_endpoint(
    defect: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Its pauses grow, and each round logs once. Afterwards as many events are sent at once as before."""
    lasts_ms = 60_000
    rows, clock, tries_ms = Rows(an_organization("e"), waiting("e", "first")), Clock(), list[int]()

    def answer(*_: str) -> DeliveryAttempt:
        if 0 < clock.ms < lasts_ms:
            tries_ms.append(clock.ms)
            raise defect
        return ACCEPTED

    receivers = Receivers(answer)
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        await settled(running)
        for clock.ms in range(1_000, lasts_ms, 1_000):
            delivery = waiting("e", f"b{clock.ms:06}", due_ms=clock.ms)
            rows.by_key["e", delivery.id] = delivery
            await settled(running)
        receivers.most_at_once.clear()
        clock.ms = lasts_ms + 5_000
        await settled(running)

    asyncio.run(run())
    assert list(dict.fromkeys(tries_ms)) == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]
    logged = [line for line in caplog.messages if line.startswith(("webhooks of endpoint", "1 webhooks of"))]
    assert len(logged) == 6
    assert receivers.most_at_once["e"] == AT_ONCE_MAX
    assert all(one.due_ms is None for one in rows.by_key.values())


def test_events_that_always_fail_are_not_ahead_of_the_others() -> None:
    def answer(_: str, event: str) -> DeliveryAttempt:
        if event.startswith("a"):
            raise DEFECTS["a defect"]
        return ACCEPTED

    always = [waiting("e", f"a{number}") for number in range(4)]
    rows, receivers, clock = Rows(an_organization("e"), *always), Receivers(answer), Clock()
    running = dispatcher(rows, receivers, clock)
    sound = waiting("e", "b", due_ms=6_000)

    async def run() -> None:
        for clock.ms in range(0, 16_000, 1_000):
            if clock.ms == sound.due_ms:
                rows.by_key["e", sound.id] = sound
            await settled(running)

    asyncio.run(run())
    assert rows.by_key["e", sound.id].due_ms is None


PROVEN, SLOW, FAILING = Pace(is_proven=True), Pace(is_slow=True), Pace(is_slow=True, failures=2)


@pytest.mark.parametrize(
    ("before", "attempts", "took_ms", "after"),
    [
        (Pace(), [DEFECT], 0, Pace()),
        (PROVEN, [DEFECT, DEFECT], 0, PROVEN),
        (PROVEN, [DEFECT], 3_000, Pace(is_proven=True, is_slow=True)),
        (SLOW, [DEFECT], 0, SLOW),
        (FAILING, [DEFECT], 0, FAILING),
        (FAILING, [DEFECT, ACCEPTED], 0, PROVEN),
        (PROVEN, [DEFECT, LATER], 0, Pace(is_slow=True, failures=1, not_before_ms=1_000)),
        (PROVEN, [ACCEPTED, LATER], 0, PROVEN),
    ],
)
def test_what_attempts_say_about_an_endpoint(
    before: Pace, attempts: list[DeliveryAttempt], took_ms: int, after: Pace
) -> None:
    assert before.after_round(attempts, 0, took_ms) == after


@pytest.mark.parametrize(
    ("failure", "tries_s"),
    [
        (KeyError("a defect of the server"), [0, 1, 3, 7, 15, 31, 63]),
        (Internal("the commit could not be written"), [0, 1, 3, 7, 15, 31, 63]),
        (Unavailable("the database is away"), list(range(11))),
    ],
    ids=["a defect", "a defect that was logged", "an outage"],
)
def test_an_endpoint_whose_rounds_end_in_errors(failure: Exception, tries_s: list[int]) -> None:
    """It is tried ever more rarely while the errors last, and others are not delayed. New deliveries do not wait
    after an outage: the database answers again, because it has them."""
    tried_s: list[float] = []

    class Broken(Rows):
        async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> Sequence[WebhookDelivery]:
            if endpoint_id == "broken":
                tried_s.append(asyncio.get_running_loop().time())
                if tried_s[-1] < 63:
                    raise failure
            return await super().waiting_deliveries(endpoint_id, after, limit)

    rows, receivers = Broken(an_organization("broken", "sound"), waiting("broken", "a")), Receivers()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        running = WebhookDispatcher(
            rows,
            receivers.send,
            holder="p1",
            now_ms=lambda: int(loop.time() * 1000),
            random_fraction=lambda: 1.0,
        )
        task = asyncio.create_task(running.run())
        for second in range(1, 70):
            await asyncio.sleep(second - loop.time())
            for endpoint_id in ("broken", "sound"):
                delivery = waiting(endpoint_id, f"b{second}", due_ms=second * 1000)
                rows.by_key[endpoint_id, delivery.id] = delivery
            running.wake(["broken", "sound"])
            await asyncio.sleep(0.01)
            assert len(receivers.events("sound")) == second
        task.cancel()

    run_in_virtual_time(run())
    assert [round(tried) for tried in tried_s[: len(tries_s)]] == tries_s
    assert len(receivers.events("broken")) == 70, "everything is delivered after the errors have ended"
