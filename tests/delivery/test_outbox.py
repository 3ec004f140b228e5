"""The outbox: what is due is sent once, failures are tried again, and a lease keeps two processes apart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from keystead.api.errors import Unavailable
from keystead.delivery.message import Message
from keystead.delivery.outbox import FIRST_PAUSE_MS, LEASE_MS, PAUSE_MAX_MS, Outbox, next_attempt_ms
from keystead.delivery.sender import SendFailed
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, OutgoingMessage, SendResult
from keystead.organizations.kinds.data_key import Sealed
from tests.support.hanging import PATIENCE_S


class Rows:
    """An outbox in memory, with the rules that the databases have."""

    def __init__(self, *messages: OutgoingMessage) -> None:
        self.messages = {message.id: message for message in messages}
        self.events: list[tuple[str, SendResult, str]] = []

    async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> Sequence[OutgoingMessage]:
        due = [one for one in self.messages.values() if one.due_ms is not None and one.due_ms <= now_ms]
        taken = [one.leased(now_ms + lease_ms) for one in due[:limit]]
        self.messages |= {one.id: one for one in taken}
        return taken

    async def record_attempt(self, after: OutgoingMessage, event: EmailEventRow | None) -> bool:
        if self.messages[after.id].revision != after.revision - 1:
            return False
        if event is not None:
            self.events.append((event.message_id, event.type, event.detail))
        self.messages[after.id] = after
        return True


class Recipient:
    """Takes messages, or raises what it is told to."""

    def __init__(self, *answers: SendFailed | None) -> None:
        self.answers = list(answers)
        self.received: list[Message] = []

    async def send(self, message: Message) -> str:
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.received.append(message)
        return "accepted"


def waiting(id_: str = "m1", give_up_at_ms: int = 10**9) -> OutgoingMessage:
    return OutgoingMessage(
        id=id_,
        organization_id="o",
        channel="email",
        recipient="a@example.com",
        sender="",
        sealed=Sealed("key", b"text"),
        created_at_ms=0,
        due_ms=0,
        give_up_at_ms=give_up_at_ms,
        expires_at_ms=give_up_at_ms,
    )


async def opened(message: OutgoingMessage) -> Message:
    return Message(id=message.id, organization_id="o", channel="email", recipient="a@example.com", text="text")


class Clock:
    now_ms = 0


def outbox(rows: Rows, recipient: Recipient, clock: Clock) -> Outbox:
    return Outbox(
        rows,
        {"email": recipient},
        opened,
        now_ms=lambda: clock.now_ms,
        new_id=lambda: "event",
        random_fraction=lambda: 1.0,
        kept_ms=1_000,
    )


def test_what_is_due_is_sent_once() -> None:
    rows, recipient = Rows(waiting("m1"), waiting("m2")), Recipient()

    async def story() -> None:
        box = outbox(rows, recipient, Clock())
        assert await box.send_due() == 2
        assert await box.send_due() == 0

    asyncio.run(story())
    assert [message.id for message in recipient.received] == ["m1", "m2"]
    assert rows.events == [("m1", SendResult.SENT, "accepted"), ("m2", SendResult.SENT, "accepted")]
    assert [message.sealed for message in rows.messages.values()] == [None, None], "the text is not kept"


TEMPORARY = SendFailed("the server refused the message: 451", permanent=False)
PERMANENT = SendFailed("the server refused the recipient: 550", permanent=True)


def test_a_temporary_failure_is_tried_again_later() -> None:
    rows, recipient, clock = Rows(waiting()), Recipient(TEMPORARY, TEMPORARY), Clock()

    async def story() -> None:
        box = outbox(rows, recipient, clock)
        for now_ms, taken in ((0, 1), (FIRST_PAUSE_MS - 1, 0), (FIRST_PAUSE_MS, 1), (3 * FIRST_PAUSE_MS, 1)):
            clock.now_ms = now_ms
            assert await box.send_due() == taken

    asyncio.run(story())
    assert [result for _, result, _ in rows.events] == [SendResult.DELAYED, SendResult.DELAYED, SendResult.SENT]


@pytest.mark.parametrize(
    ("message", "failure"),
    [(waiting(), PERMANENT), (waiting(give_up_at_ms=FIRST_PAUSE_MS), TEMPORARY)],
    ids=["a permanent failure", "no time is left"],
)
def test_given_up(message: OutgoingMessage, failure: SendFailed) -> None:
    rows, recipient, clock = Rows(message), Recipient(failure), Clock()

    async def story() -> None:
        box = outbox(rows, recipient, clock)
        assert await box.send_due() == 1
        clock.now_ms = 10**8
        assert await box.send_due() == 0

    asyncio.run(story())
    assert rows.events == [("m1", SendResult.GIVEN_UP, failure.reason)]
    assert recipient.received == []


def test_two_processes_do_not_send_the_same_message_at_a_time() -> None:
    rows, recipient, clock = Rows(waiting()), Recipient(), Clock()

    async def story() -> None:
        sent = await asyncio.gather(*[outbox(rows, recipient, clock).send_due() for _ in range(3)])
        assert sum(sent) == 1

    asyncio.run(story())
    assert len(recipient.received) == 1


def test_a_message_whose_process_died_is_taken_after_its_lease() -> None:
    rows, recipient, clock = Rows(waiting()), Recipient(), Clock()

    async def story() -> None:
        (abandoned,) = await rows.lease_messages(0, LEASE_MS, 1)
        box = outbox(rows, recipient, clock)
        assert await box.send_due() == 0
        clock.now_ms = LEASE_MS
        assert await box.send_due() == 1
        assert not await rows.record_attempt(abandoned.after_attempt(SendResult.SENT, None), None)

    asyncio.run(story())
    assert len(recipient.received) == 1


def test_a_process_that_stops_gives_back_what_it_has_not_sent() -> None:
    """One message is sent and recorded, the other is under way when the process stops."""
    rows, recipient = Rows(waiting("m1"), waiting("m2")), Recipient()

    class Stuck(Recipient):
        async def send(self, message: Message) -> str:
            if message.id == "m2":
                begun.set()
                await asyncio.Event().wait()
            return await super().send(message)

    async def story() -> None:
        stuck = Stuck()
        stopping = outbox(rows, stuck, Clock())
        task = asyncio.create_task(stopping.run())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        other = outbox(rows, recipient, Clock())
        assert await other.send_due() == 0
        await stopping.close(finish_s=0.01)
        assert await other.send_due() == 1
        assert [message.id for message in (*stuck.received, *recipient.received)] == ["m1", "m2"]
        await stopping.close()
        assert await other.send_due() == 0, "what another process has sent stays as it is"

    begun = asyncio.Event()
    asyncio.run(story())


def test_a_process_that_stops_gives_back_what_it_was_leasing() -> None:
    rows, recipient = Rows(waiting()), Recipient()

    class SlowRows(Rows):
        async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> Sequence[OutgoingMessage]:
            leased = await rows.lease_messages(now_ms, lease_ms, limit)
            begun.set()
            await asyncio.sleep(0.01)
            return leased

        async def record_attempt(self, *given: Any, **named: Any) -> bool:
            return await rows.record_attempt(*given, **named)

    async def story() -> None:
        stopping = outbox(SlowRows(), recipient, Clock())
        task = asyncio.create_task(stopping.run())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await stopping.close()
        assert recipient.received == []
        assert await outbox(rows, recipient, Clock()).send_due() == 1

    begun = asyncio.Event()
    asyncio.run(story())


def test_a_process_that_stops_records_what_it_is_sending() -> None:
    rows = Rows(waiting())

    class Slow(Recipient):
        async def send(self, message: Message) -> str:
            begun.set()
            await closing.wait()
            return await super().send(message)

    async def story() -> None:
        slow = Slow()
        stopping = outbox(rows, slow, Clock())
        task = asyncio.create_task(stopping.run())
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        asyncio.get_running_loop().call_soon(closing.set)
        await stopping.close()
        assert await outbox(rows, slow, Clock()).send_due() == 0
        assert len(slow.received) == 1

    begun, closing = asyncio.Event(), asyncio.Event()
    asyncio.run(story())
    assert rows.events == [("m1", SendResult.SENT, "accepted")]


def test_a_database_that_does_not_answer_is_asked_again() -> None:
    rows, recipient = Rows(waiting()), Recipient()
    answers = iter([Unavailable("the database does not answer")])

    class Flaky(Rows):
        async def lease_messages(self, now_ms: int, lease_ms: int, limit: int) -> Sequence[OutgoingMessage]:
            if (failure := next(answers, None)) is not None:
                raise failure
            return await rows.lease_messages(now_ms, lease_ms, limit)

        async def record_attempt(self, *given: Any, **named: Any) -> bool:
            done.set()
            return await rows.record_attempt(*given, **named)

    async def story() -> None:
        box = outbox(Flaky(), recipient, Clock())
        task = asyncio.create_task(box.run())
        await asyncio.sleep(0)
        box.wake()
        await asyncio.wait_for(done.wait(), PATIENCE_S)
        task.cancel()

    done = asyncio.Event()
    asyncio.run(story())
    assert len(recipient.received) == 1


@pytest.mark.parametrize("failures", range(1, 20))
def test_pauses_grow_and_are_bounded(failures: int) -> None:
    soonest, latest = next_attempt_ms(0, failures, lambda: 0.0), next_attempt_ms(0, failures, lambda: 1.0)
    assert soonest == latest // 2
    assert FIRST_PAUSE_MS <= latest <= PAUSE_MAX_MS
    assert latest == min(FIRST_PAUSE_MS * 2 ** (failures - 1), PAUSE_MAX_MS)


def test_one_message_that_cannot_be_opened_or_recorded_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = Rows(waiting("sealed"), waiting("lost"), waiting("last"))
    clock, recipient = Clock(), Recipient()

    async def opened_or_not(message: OutgoingMessage) -> Message:
        if message.id == "sealed":
            raise Unavailable("the signer is being started again")
        if message.id == "lost":  # another process took it meanwhile
            rows.messages["lost"] = rows.messages["lost"].leased(LEASE_MS)
        return await opened(message)

    box = outbox(rows, recipient, clock)
    box._open_message = opened_or_not
    with caplog.at_level(logging.WARNING, logger="keystead.delivery"):
        assert asyncio.run(box.send_due()) == 3
    assert rows.messages["last"].due_ms is None
    assert [event[0] for event in rows.events] == ["last"]
    assert sorted(record.message for record in caplog.records) == [
        "message lost: its lease had ended, so another process may also send it",
        "message sealed: not sent, or not recorded: the signer is being started again",
    ]
    assert rows.messages["sealed"].due_ms == LEASE_MS, "it is taken again after its lease"
