"""Rows that have expired are deleted, in steps, by several processes at the same time; all others stay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, SendResult
from keystead.organizations.contacts.sending_windows import SendingWindow
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.webhooks.webhooks import WebhookEvent, WebhookLease
from keystead.pipeline.store import CommitResult, Page
from keystead.server.installation.purging import GRACE_MS, ROWS_AT_ONCE, purge_expired
from keystead.storage.tables import EXPIRING
from tests.storage.conftest import opened
from tests.storage.test_versioned_rows import a_code, a_delivery, a_message, writing
from tests.support.commit_history import new_history

NOW_MS = 10 * GRACE_MS
PURGED_MS, KEPT_MS = NOW_MS - GRACE_MS - 1, NOW_MS - GRACE_MS
"""A row that expired before the first is deleted, one that expired at the second stays for a while."""


PAGE = Page(5)


MAKE: dict[str, Callable[[int, int], VersionedRow]] = {
    "one_time_code": lambda number, at_ms: replace(a_code(), id=f"code {number}", expires_at_ms=at_ms),
    "one_time_code_count": lambda number, at_ms: SendingWindow(
        root_id="", subject=f"contact {number}", ends_at_ms=at_ms
    ),
    "used_token": lambda number, at_ms: UsedToken(id=f"token {number}", expires_at_ms=at_ms),
    "outgoing_message": lambda number, at_ms: replace(
        a_message("organization", f"message {number}"), due_ms=None, expires_at_ms=at_ms
    ),
    "webhook_event": lambda number, at_ms: WebhookEvent(id=f"event {number}", expires_at_ms=at_ms, body=b"{}"),
    "webhook_delivery": lambda number, at_ms: replace(a_delivery("endpoint", f"{number}"), expires_at_ms=at_ms),
    "webhook_lease": lambda number, at_ms: WebhookLease(
        endpoint_id=f"endpoint {number}", organization_id="organization", holder="", expires_at_ms=at_ms
    ),
}


def test_every_table_whose_rows_expire_is_here() -> None:
    assert {table.name for table in EXPIRING} == {*MAKE, "email_event", "process", "refused_request"}


@pytest.mark.parametrize("table", MAKE)
def test_what_has_expired_is_deleted_step_by_step(database: str, table: str) -> None:
    expired = 2 * ROWS_AT_ONCE + 1

    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            old = [MAKE[table](number, PURGED_MS) for number in range(expired)]
            rows = (*old, MAKE[table](expired, KEPT_MS), MAKE[table](expired + 1, NOW_MS))
            assert await store.commit(writing(history, *rows)) is CommitResult.COMMITTED
            assert await store.purger.has_expired(table, PURGED_MS + 1)
            assert await purge_expired(store.purger, NOW_MS) == 3
            assert not await store.purger.has_expired(table, PURGED_MS + 1)
            assert await store.purger.has_expired(table, KEPT_MS + 1)
            assert await purge_expired(store.purger, NOW_MS) == 0
            assert await purge_expired(store.purger, NOW_MS + GRACE_MS + 1) == 1

    asyncio.run(run())


def test_events_of_emails_expire(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            organization_id = history.head.id
            messages = (a_message(organization_id, "old"), a_message(organization_id, "new"))
            assert await store.commit(writing(history, *messages)) is CommitResult.COMMITTED
            for message, expires_at_ms in zip(messages, (PURGED_MS, NOW_MS), strict=True):
                event = EmailEventRow(
                    id=f"event {message.id}",
                    message_id=message.id,
                    type=SendResult.SENT,
                    sender="us@example.com",
                    recipient=message.recipient,
                    at_ms=1,
                    expires_at_ms=expires_at_ms,
                    detail="250 ok",
                )
                leased = message.leased(100)
                assert await store.deliveries.record_attempt(leased, None)
                assert await store.deliveries.record_attempt(leased.after_attempt(SendResult.SENT, None), event)
            await purge_expired(store.purger, NOW_MS)
            left = await store.attached.email_events(organization_id, messages[0].recipient, "", PAGE)
            assert [event.id for event in left or ()] == ["event new"]

    asyncio.run(run())


def test_refused_requests_expire(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            organization_id = (await new_history(store)).head.id
            times = {"old": PURGED_MS, "new": NOW_MS}
            refused = [RefusedRequest(id=id_, at_ms=0, expires_at_ms=at_ms) for id_, at_ms in times.items()]
            await store.refused_requests.write(organization_id, refused)
            await purge_expired(store.purger, NOW_MS)
            assert await store.refused_requests.page(organization_id, PAGE, 0) == refused[1:]

    asyncio.run(run())


def test_several_processes_purge_and_write_at_the_same_time(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other, opened(database) as third:
            history = await new_history(store)
            old = [MAKE["one_time_code"](number, PURGED_MS) for number in range(3 * ROWS_AT_ONCE)]
            assert await store.commit(writing(history, *old)) is CommitResult.COMMITTED
            kept = replace(a_code(), id="kept", expires_at_ms=NOW_MS)
            done = await asyncio.gather(
                *[purge_expired(each.purger, NOW_MS) for each in (store, other, third)],
                other.commit(writing(history, kept, with_activity=False)),
            )
            assert done[-1] is CommitResult.COMMITTED
            assert not await store.purger.has_expired("one_time_code", PURGED_MS + 1)
            assert await other.attached.get(OneTimeCode, history.head.id, kept.id) == kept

    asyncio.run(run())
