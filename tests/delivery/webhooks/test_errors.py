"""Errors of the server itself while it delivers webhooks: what they delay, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from keystead.api.errors import Internal, Unavailable
from keystead.delivery.webhooks.attempts import DeliveryAttempt
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.organizations.webhooks import DeliveryResult, WebhookDelivery
from tests.delivery.webhooks.test_dispatcher import (
    ACCEPTED,
    Clock,
    Receivers,
    Rows,
    an_organization,
    dispatcher,
    settled,
    waiting,
)
from tests.support.virtual_time import run_in_virtual_time


def test_a_defect_with_one_event_delays_no_other() -> None:
    """It counts as an attempt that failed, so it has the plan of such attempts."""

    def answer(_: str, event: str) -> DeliveryAttempt:
        if event.startswith("a0") and not clock.ms:
            raise KeyError("a defect of the server")
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
        async def waiting_deliveries(self, endpoint_id: str, limit: int) -> Sequence[WebhookDelivery]:
            if endpoint_id == "broken":
                tried_s.append(asyncio.get_running_loop().time())
                if tried_s[-1] < 63:
                    raise failure
            return await super().waiting_deliveries(endpoint_id, limit)

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
                rows.deliveries[endpoint_id, delivery.id] = delivery
            running.wake(["broken", "sound"])
            await asyncio.sleep(0.01)
            assert len(receivers.events("sound")) == second
        task.cancel()

    run_in_virtual_time(run())
    assert [round(tried) for tried in tried_s[: len(tries_s)]] == tries_s
    assert len(receivers.events("broken")) == 70, "everything is delivered after the errors have ended"
