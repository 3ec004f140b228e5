"""Pages of the events of e-mails, on both databases: by address and type, newest first."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from keystead.organizations.contacts.outgoing_messages import EmailEventRow, OutgoingMessage, SendResult
from keystead.pipeline.store import CommitResult, Page
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.storage.test_versioned_rows import a_message, writing
from tests.support.commit_history import new_history

SENT, DELAYED = SendResult.SENT, SendResult.DELAYED
TYPES = [DELAYED, DELAYED, SENT, DELAYED, SENT]
"""The types of the events 0…4 of one address. The cursors of the cases are their numbers; -1 is an event of another
address."""


class PageCase(NamedTuple):
    name: str
    type: str
    limit: int
    before: int | None
    after: int | None
    expected: list[int] | None


PAGES = [
    PageCase("all", "", 100, None, None, [4, 3, 2, 1, 0]),
    PageCase("the newest", "", 2, None, None, [4, 3]),
    PageCase("after a cursor: older", "", 2, None, 3, [2, 1]),
    PageCase("after the oldest", "", 2, None, 0, []),
    PageCase("before a cursor: the nearest that are newer", "", 2, 1, None, [3, 2]),
    PageCase("before the newest", "", 2, 4, None, []),
    PageCase("of a type", "DeliveryDelay", 100, None, None, [3, 1, 0]),
    PageCase("of a type, after a cursor", "DeliveryDelay", 2, None, 3, [1, 0]),
    PageCase("of a type, after a cursor of another type", "DeliveryDelay", 1, None, 2, [1]),
    PageCase("of a type, before a cursor", "Send", 1, 1, None, [2]),
    PageCase("of a type that there is not", "Bounce", 100, None, None, []),
    PageCase("after another address's event", "", 2, None, -1, None),
    PageCase("before another address's event", "", 2, -1, None, None),
]


def test_pages_of_email_events(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            organization_id = history.head.id
            message, other = (a_message(organization_id, name) for name in ("message", "other"))
            assert await store.commit(writing(history, message, other)) is CommitResult.COMMITTED
            for number, result in enumerate(TYPES):
                message = await attempted(store, message, message.recipient, f"event {number}", result)
            await attempted(store, other, "ben@example.com", "event -1", SENT)
            for case in PAGES:
                before, after = (None if one is None else f"event {one}" for one in (case.before, case.after))
                page = Page(limit=case.limit, before=before, after=after)
                found = await store.attached.email_events(organization_id, "ADA@example.com", case.type, page)
                expected = None if case.expected is None else [f"event {number}" for number in case.expected]
                assert (None if found is None else [event.id for event in found]) == expected, case.name
            assert await store.attached.email_events("another organization", "ada@example.com", "", Page(5)) == []
            elsewhere = Page(5, after="event 3")
            assert (
                await store.attached.email_events("another organization", "ada@example.com", "", elsewhere) is None
            )

    asyncio.run(run())


async def attempted(
    store: DatabaseStore, message: OutgoingMessage, recipient: str, event_id: str, result: SendResult
) -> OutgoingMessage:
    event = EmailEventRow(
        id=event_id,
        message_id=message.id,
        type=result,
        sender="us@example.com",
        recipient=recipient,
        at_ms=12,
        expires_at_ms=1_000,
        detail="250 ok",
    )
    leased = message.leased(100)
    assert await store.deliveries.record_attempt(leased, None)
    done = leased.after_attempt(result, 10)
    assert await store.deliveries.record_attempt(done, event)
    return done
