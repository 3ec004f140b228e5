"""Which deliveries are attempted when, in which order, and by which process. Over a store in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt, result_of_status
from keystead.delivery.webhooks.dispatcher import AT_ONCE_MAX, LEASE_MS, PROBE_EVERY_MS, SLOTS, WINDOW
from keystead.organizations.organization import Organization
from keystead.organizations.webhooks.webhooks import (
    DeliveryResult,
    WebhookDelivery,
    event_row_id,
)
from tests.support.webhook_dispatching import (
    ACCEPTED,
    LAST_MS,
    LATER,
    ORGANIZATION,
    REFUSED,
    Clock,
    Receivers,
    Rows,
    an_organization,
    dispatcher,
    settled,
    until,
    waiting,
)


def test_everything_is_delivered_once() -> None:
    rows = Rows(an_organization("e"), *(waiting("e", f"a{number:04}") for number in range(3 * WINDOW)))
    receivers, clock = Receivers(), Clock()
    asyncio.run(settled(dispatcher(rows, receivers, clock)))
    assert Counter(receivers.events()) == Counter(f"a{number:04}:0000000000" for number in range(3 * WINDOW))
    assert {one.due_ms for one in rows.by_key.values()} == {None}
    assert rows.largest_read == WINDOW
    assert 1 < receivers.most_at_once["e"] <= AT_ONCE_MAX


def test_the_events_of_an_activity_arrive_in_order() -> None:
    """Also where the first of them must be attempted again: the others of the activity wait, and nothing else."""
    failed: set[str] = set()

    def answer(_: str, event: str) -> DeliveryAttempt:
        if event == "a1:0000000000" and event not in failed:
            failed.add(event)
            return LATER
        return ACCEPTED

    deliveries = [waiting("e", activity, revision) for revision in (0, 2, 3) for activity in ("a0", "a1", "a2")]
    rows, receivers, clock = Rows(an_organization("e"), *deliveries), Receivers(answer), Clock()
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        await settled(running)
        assert [event for event in receivers.events() if event.startswith("a1")] == ["a1:0000000000"]
        assert len([one for one in rows.by_key.values() if one.due_ms is None]) == 6
        clock.ms += 15_000
        await settled(running)

    asyncio.run(run())
    for activity in ("a0", "a1", "a2"):
        mine = [event for event in receivers.events() if event.startswith(activity)]
        assert list(dict.fromkeys(mine)) == [event_row_id(activity, revision) for revision in (0, 2, 3)]


@pytest.mark.parametrize("failing", [1, WINDOW - 1, WINDOW, WINDOW + 1, 5 * WINDOW])
def test_events_that_keep_failing_do_not_delay_the_others(failing: int) -> None:
    """Each of the first activities has an event that failed, and a second one that waits for it; some have theirs
    in two windows."""
    rows = Rows(an_organization("e"), waiting("e", "z"))
    for activity in (f"a{number:04}" for number in range(failing)):
        failed = waiting("e", activity, 0, due_ms=10_000, failures=1)
        rows.by_key |= {(one.endpoint_id, one.id): one for one in (failed, waiting("e", activity, 1))}
    receivers, clock = Receivers(), Clock()
    running = dispatcher(rows, receivers, clock)
    asyncio.run(settled(running))
    assert receivers.events() == ["z:0000000000"]
    assert rows.largest_read <= WINDOW
    clock.ms = 10_000
    asyncio.run(settled(running))
    assert len(receivers.events()) == 1 + 2 * failing


@pytest.mark.parametrize(
    ("status", "result"),
    [
        *((status, AttemptResult.ACCEPTED) for status in (200, 201, 202, 204, 299)),
        *(
            (status, AttemptResult.REFUSED)
            for status in (300, 301, 302, 307, 308, 400, 401, 404, 408, 410, 425, 429)
        ),
        *((status, AttemptResult.LATER) for status in (500, 502, 503, 504, 599)),
    ],
)
def test_what_an_answer_means(status: int, result: AttemptResult) -> None:
    assert result_of_status(status) is result


def test_a_final_answer_is_not_asked_for_again() -> None:
    rows = Rows(an_organization("e"), waiting("e", "a", 0), waiting("e", "a", 1))
    receivers, clock = Receivers(lambda _, event: REFUSED if event.endswith("0") else ACCEPTED), Clock()
    running = dispatcher(rows, receivers, clock)
    asyncio.run(settled(running))
    assert receivers.events() == ["a:0000000000", "a:0000000001"], "the next event of the activity follows"
    assert running.results == {DeliveryResult.FAILED: 1, DeliveryResult.DELIVERED: 1}


def test_retries_until_it_is_too_late() -> None:
    rows, receivers, clock = Rows(an_organization("e"), waiting("e", "a")), Receivers(lambda *_: LATER), Clock()
    running, at_s = dispatcher(rows, receivers, clock), []

    async def run() -> None:
        while any(one.due_ms is not None for one in rows.by_key.values()):
            before = len(receivers.sent)
            await settled(running)
            if len(receivers.sent) > before:
                at_s.append(clock.ms // 1000)
            clock.ms += 1_000

    asyncio.run(run())
    assert at_s == [0, 10, 30, 70, 150, 310, 630, 1270, 2550]
    assert running.results == {DeliveryResult.DELAYED: 8, DeliveryResult.GIVEN_UP: 1}


def test_what_waited_too_long_is_given_up_without_an_attempt() -> None:
    deliveries = [waiting("e", f"a{number}", give_up_at_ms=5) for number in range(200)]
    rows, receivers, clock = Rows(an_organization("e"), *deliveries, waiting("e", "b")), Receivers(), Clock()
    clock.ms = 10
    running = dispatcher(rows, receivers, clock)
    asyncio.run(settled(running))
    assert receivers.events() == ["b:0000000000"]
    assert running.results[DeliveryResult.GIVEN_UP] == 200


@pytest.mark.parametrize("organization", [an_organization(), an_organization("e", active=False), None])
def test_an_endpoint_that_is_gone_or_paused_gets_nothing(organization: Organization | None) -> None:
    rows, receivers = Rows(an_organization("e"), waiting("e", "a")), Receivers()
    rows.organizations = {} if organization is None else {ORGANIZATION: organization}
    asyncio.run(settled(dispatcher(rows, receivers, Clock())))
    assert receivers.sent == []
    assert {one.due_ms for one in rows.by_key.values()} == {None}


def test_an_event_that_has_expired_is_not_sent() -> None:
    rows, receivers = Rows(an_organization("e"), waiting("e", "expired")), Receivers()
    asyncio.run(settled(dispatcher(rows, receivers, Clock())))
    assert receivers.sent == []
    assert {one.due_ms for one in rows.by_key.values()} == {None}


def test_an_endpoint_that_fails_is_tried_with_one_delivery_at_a_time() -> None:
    """And ever more rarely, whatever else is written for it."""
    rows, receivers, clock = Rows(an_organization("e")), Receivers(lambda *_: LATER), Clock()
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        for number in range(600):
            delivery = waiting("e", f"a{number:04}", due_ms=clock.ms, give_up_at_ms=clock.ms + LAST_MS)
            rows.by_key["e", delivery.id] = delivery
            running.wake(["e"])
            await settled(running)
            clock.ms += 1_000

    asyncio.run(run())
    assert receivers.most_at_once["e"] == 1
    assert len(receivers.sent) <= 8 + 600_000 // PROBE_EVERY_MS


def test_slow_endpoints_do_not_delay_others() -> None:
    """Twice as many as there are slots hang for ever; the others are served all the same."""
    slow, quick = [f"s{number:03}" for number in range(2 * SLOTS)], [f"q{number:03}" for number in range(200)]
    hanging: Counter[str] = Counter()

    def answer(endpoint_id: str, _: str) -> Any:
        if endpoint_id in slow:
            hanging[endpoint_id] += 1
            return asyncio.Event().wait() if hanging[endpoint_id] > 1 else LATER
        return ACCEPTED

    rows = Rows(
        an_organization(*slow, *quick),
        *(waiting(endpoint_id, f"a{number}") for endpoint_id in (*slow, *quick) for number in range(2)),
    )
    receivers, clock = Receivers(answer), Clock()
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        # The first attempts fail, so the endpoints are known to be slow; the second ones hang.
        for _ in range(40):
            await running.scan()
            for _ in range(50):
                await asyncio.sleep(0)
            clock.ms += 1_000
        assert len(hanging) == len(slow)
        assert sum(count > 1 for count in hanging.values()) == SLOTS
        later = [waiting(endpoint_id, "b", due_ms=clock.ms) for endpoint_id in quick]
        rows.by_key |= {(one.endpoint_id, one.id): one for one in later}
        for _ in range(20):
            await running.scan()
            for _ in range(50):
                await asyncio.sleep(0)
        assert all(len(receivers.events(endpoint_id)) == 3 for endpoint_id in quick)
        await running.close(finish_s=0.01)

    asyncio.run(run())


def test_thousands_of_endpoints_with_a_backlog() -> None:
    endpoint_ids = [f"e{number:04}" for number in range(2_000)]
    rows = Rows(an_organization(*endpoint_ids), *(waiting(one, "a") for one in endpoint_ids))
    receivers, clock = Receivers(), Clock()
    running = dispatcher(rows, receivers, clock)
    most = 0

    async def run() -> None:
        nonlocal most
        await running.scan()
        most = len(running.serving)
        await settled(running)
        clock.ms += LEASE_MS
        await running.scan()

    asyncio.run(run())
    assert len(receivers.sent) == len(endpoint_ids)
    assert most == SLOTS
    assert running.known_endpoints == 0, "what is known of an endpoint goes with its backlog"


def test_two_processes_deliver_once() -> None:
    deliveries = [waiting(f"e{number % 5}", f"a{number:04}") for number in range(200)]
    rows, receivers, clock = Rows(an_organization(*(f"e{n}" for n in range(5))), *deliveries), Receivers(), Clock()
    both = [dispatcher(rows, receivers, clock, holder) for holder in ("p1", "p2")]

    async def run() -> None:
        await asyncio.gather(*[settled(one) for one in both])

    asyncio.run(run())
    assert len(receivers.sent) == len(set(receivers.sent)) == 200


def test_another_process_takes_over_when_the_lease_is_over() -> None:
    """One dies after it has sent and before it has recorded that: the other sends again, with the same event id."""
    rows, clock = Rows(an_organization("e"), waiting("e", "a")), Clock()
    dying, living = Receivers(lambda *_: asyncio.Event().wait()), Receivers()

    async def run() -> None:
        first = dispatcher(rows, dying, clock, "p1")
        await first.scan()
        await until(lambda: bool(dying.sent))
        second = dispatcher(rows, living, clock, "p2")
        await settled(second)
        assert living.sent == [], "the endpoint is leased"
        clock.ms += LEASE_MS
        await settled(second)
        for task in first.serving:
            task.cancel()

    asyncio.run(run())
    assert dying.sent == living.sent == [("e", "a:0000000000")]


def test_a_process_that_stops_gives_its_leases_back() -> None:
    """Also to a process that has seen them, and waits for their end."""
    rows, receivers, clock = Rows(an_organization("e"), waiting("e", "a")), Receivers(), Clock()
    clock.ms = 1_000

    async def run() -> None:
        first, other = (dispatcher(rows, receivers, clock, holder) for holder in ("p1", "p2"))
        await settled(first)
        rows.by_key["e", "b"] = waiting("e", "b")
        await settled(other)
        assert receivers.events() == ["a:0000000000"], "the endpoint is leased"
        await first.close()
        await settled(other)

    asyncio.run(run())
    assert receivers.events() == ["a:0000000000", "b:0000000000"]


def test_a_process_that_stops_before_an_attempt_makes_none() -> None:
    read = asyncio.Event()

    class SlowRows(Rows):
        async def waiting_deliveries(self, endpoint_id: str, after: str, limit: int) -> Sequence[WebhookDelivery]:
            await read.wait()
            return await super().waiting_deliveries(endpoint_id, after, limit)

    async def run() -> None:
        rows, receivers, clock = SlowRows(an_organization("e"), waiting("e", "a")), Receivers(), Clock()
        stopping = dispatcher(rows, receivers, clock, "p1")
        await stopping.scan()
        asyncio.get_running_loop().call_later(0.01, read.set)
        await stopping.close()
        assert receivers.events() == []
        await settled(dispatcher(rows, receivers, clock, "p2"))
        assert receivers.events() == ["a:0000000000"]

    asyncio.run(run())


def test_a_process_that_stops_records_its_attempts_and_begins_no_more() -> None:
    """Events of one activity wait for each other, so one of the two is under way and the other waits."""
    rows = Rows(an_organization("e"), waiting("e", "a", 0), waiting("e", "a", 2))
    answered = asyncio.Event()

    async def answer() -> DeliveryAttempt:
        await answered.wait()
        return ACCEPTED

    async def run() -> None:
        receivers, clock = Receivers(lambda *_: answer()), Clock()
        stopping = dispatcher(rows, receivers, clock, "p1")
        await stopping.scan()
        await until(lambda: bool(receivers.sent))
        asyncio.get_running_loop().call_soon(answered.set)
        await stopping.close()
        assert receivers.events() == [event_row_id("a", 0)]
        await settled(dispatcher(rows, receivers, clock, "p2"))
        assert receivers.events() == [event_row_id("a", 0), event_row_id("a", 2)]

    asyncio.run(run())


def test_a_late_record_changes_nothing() -> None:
    """A process that lost its lease while an attempt took long does not overwrite what the next one recorded."""
    rows, clock = Rows(an_organization("e"), waiting("e", "a")), Clock()

    def answer(_: str, event: str) -> DeliveryAttempt:
        delivery = rows.by_key["e", event]
        rows.by_key["e", event] = delivery.done(0)  # by another process
        return LATER

    running = dispatcher(rows, Receivers(answer), clock)
    asyncio.run(settled(running))
    assert rows.by_key["e", "a:0000000000"].due_ms is None


def test_the_loop_outlives_a_database_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    rows, receivers, clock = Rows(an_organization("e"), waiting("e", "a")), Receivers(), Clock()
    rows.fails = True
    running = dispatcher(rows, receivers, clock)

    async def run() -> None:
        task = asyncio.create_task(running.run())
        await until(lambda: bool(caplog.messages))
        rows.fails = False
        running.wake(["e"])
        await until(lambda: bool(receivers.sent))
        task.cancel()

    asyncio.run(run())
    assert caplog.messages[0] == "webhooks that wait could not be read: the database is away"
