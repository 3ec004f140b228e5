"""Rows with their own revision: one-time codes, their counts, outgoing messages, on both databases."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.delivery.outbox import LEASE_MS
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import RemovedOrganizationContents
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.contacts.outgoing_messages import EmailEventRow, OutgoingMessage, SendResult
from keystead.organizations.contacts.sending_windows import SendingWindow
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookLease, event_row_id
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.server.installation.deletions import finish_deletions
from keystead.sessions.one_time_codes import CodeForm
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, found_by, new_history
from tests.support.commit_samples import an_organization

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult


def a_code(id_: str = "code") -> OneTimeCode:
    return OneTimeCode(
        id=id_,
        flow="encrypted",
        otp_type=OtpType.EMAIL,
        contact="a@example.com",
        form=CodeForm(),
        digest=b"digest",
        target=Sealed("key", b"\0sealed"),
        created_at_ms=1,
        expires_at_ms=2,
    )


def a_message(organization_id: str, id_: str = "message", due_ms: int = 10) -> OutgoingMessage:
    return OutgoingMessage(
        id=id_,
        organization_id=organization_id,
        channel="email",
        recipient="Ada@Example.com",
        sender="",
        sealed=Sealed("key", b"text"),
        created_at_ms=1,
        due_ms=due_ms,
        give_up_at_ms=100,
        expires_at_ms=1_000,
    )


def a_delivery(endpoint_id: str, activity_id: str, revision: int = 0) -> WebhookDelivery:
    return WebhookDelivery(
        endpoint_id=endpoint_id,
        id=event_row_id(activity_id, revision),
        organization_id="organization",
        endpoint_organization_id="organization",
        event_id="event",
        event_type="ACTIVITY_UPDATES",
        due_ms=10,
        give_up_at_ms=100,
        expires_at_ms=1_000,
        body_bytes=2,
    )


def writing(history: CommitHistory, *rows: VersionedRow, with_activity: bool = True) -> Commit:
    head = history.head
    if with_activity:
        return replace(history.signing(), rows=rows)
    return Commit(organization_id=head.id, decided_on=head.version, activity=None, rows=rows)


def test_a_row_is_replaced_only_where_the_revision_before_it_is_there(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            first = a_code()
            assert await store.commit(writing(history, first)) is COMMITTED
            assert await other.attached.get(OneTimeCode, history.head.id, first.id) == first
            assert await other.commit(writing(history, first)) is CONFLICT, "a second new row of the key"
            second = first.after_wrong_attempt()
            assert await store.commit(writing(history, second, with_activity=False)) is COMMITTED
            stale = writing(history, first.after_use(9))
            assert await other.commit(stale) is CONFLICT
            assert stale.activity is not None
            assert await other.activities.get(history.head.id, stale.activity.id) is None, (
                "nothing of it is written"
            )
            assert await other.attached.get(OneTimeCode, history.head.id, first.id) == second
            unknown = a_code("unknown").after_use(9)
            assert await store.commit(writing(history, unknown)) is CONFLICT
            assert await store.organization(history.head.id) == history.head, "no new version"

    asyncio.run(run())


def test_of_rivals_at_the_same_instant_one_succeeds(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            codes = [a_code(f"code {number}") for number in range(3)]
            assert await store.commit(writing(history, *codes)) is COMMITTED
            places = (store, other, store, other)
            uses = [place.commit(writing(history, codes[0].after_use(5))) for place in places]
            assert sorted(await asyncio.gather(*uses), key=str) == [COMMITTED, *[CONFLICT] * 3]
            counts = [SendingWindow(root_id=history.head.id, subject="contact") for _ in places]
            starts = [place.commit(writing(history, one)) for place, one in zip(places, counts, strict=True)]
            assert sorted(await asyncio.gather(*starts), key=str) == [COMMITTED, *[CONFLICT] * 3]
            many = [
                place.commit(writing(history, codes[1].after_use(5), codes[2].after_use(5))) for place in places
            ]
            assert sorted(await asyncio.gather(*many), key=str) == [COMMITTED, *[CONFLICT] * 3]

    asyncio.run(run())


def test_a_row_of_the_root_is_written_by_one_of_several_organizations(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            histories = [await new_history(store)]
            for organization in (an_organization() for _ in range(3)):
                assert await store.add_organization(organization, (), found_by(organization))
                histories.append(CommitHistory(organization))
            root_id = histories[0].head.id
            for revision in (1, 2):
                row = SendingWindow(revision=revision, root_id=root_id, subject="contact", messages=revision)
                places = (store, other, store, other)
                rivals = [
                    place.commit(writing(history, row)) for place, history in zip(places, histories, strict=True)
                ]
                assert sorted(await asyncio.gather(*rivals), key=str) == [COMMITTED, *[CONFLICT] * 3]
                assert await other.attached.get(SendingWindow, root_id, "contact") == row
            assert await store.attached.get(SendingWindow, histories[1].head.id, "contact") is None

    asyncio.run(run())


def test_a_message_is_leased_once_and_its_end_recorded_once(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            organization_id = history.head.id
            later = a_message(organization_id, "later", due_ms=11)
            assert await store.commit(writing(history, a_message(organization_id), later)) is COMMITTED
            taken = await asyncio.gather(
                *[each.deliveries.lease_messages(10, LEASE_MS, 5) for each in (store, other, store)]
            )
            ((mine,),) = [each for each in taken if each]
            assert mine.sealed == Sealed("key", b"text")
            event = EmailEventRow(
                id="event",
                message_id=mine.id,
                type=SendResult.SENT,
                sender="us@example.com",
                recipient=mine.recipient,
                at_ms=12,
                expires_at_ms=1_000,
                detail="250 ok",
            )
            done = mine.after_attempt(SendResult.SENT, None)
            assert done.sealed is None
            assert await other.deliveries.record_attempt(done, event)
            assert not await store.deliveries.record_attempt(done, None)
            assert [one.id for one in await store.deliveries.lease_messages(10**12, LEASE_MS, 5)] == ["later"]
            assert await other.attached.email_events(organization_id, "ada@example.COM", "", Page(5)) == [event]
            assert await other.attached.email_events(organization_id, "ada@example.com", "Bounce", Page(5)) == []
            assert (
                await other.attached.email_events(organization_id, "ada@example.com", "Send", Page(5, before="a"))
                is None
            )

    asyncio.run(run())


def test_leases_of_endpoints_that_were_given_back(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            organization_id = (await new_history(store)).head.id
            leases = [
                WebhookLease(endpoint_id=id_, organization_id=organization_id, holder="one", expires_at_ms=10)
                for id_ in ("a", "b", "c")
            ]
            assert all([await store.deliveries.write_webhook_lease(one) for one in leases])
            assert await other.deliveries.released_webhook_leases(5) == []
            assert all([await store.deliveries.write_webhook_lease(one.released()) for one in leases[:2]])
            assert sorted(await other.deliveries.released_webhook_leases(5)) == ["a", "b"]
            assert len(await other.deliveries.released_webhook_leases(1)) == 1
            taken = await other.deliveries.webhook_lease(organization_id, "a")
            assert taken is not None
            assert taken.holder == ""
            assert await other.deliveries.write_webhook_lease(taken.renewed("other", 20))
            assert not await store.deliveries.write_webhook_lease(leases[0].released()), (
                "it is not this process's any more"
            )
            assert await store.deliveries.released_webhook_leases(5) == ["b"]

    asyncio.run(run())


def test_the_rows_of_a_deleted_organization_are_gone_and_do_not_come_back(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            organization_id = history.head.id
            assert await store.commit(writing(history, a_code(), a_message(organization_id))) is COMMITTED
            (leased,) = await store.deliveries.lease_messages(10, LEASE_MS, 5)
            deleted = history.step(attachments=(RemovedOrganizationContents(),))
            assert await store.commit(deleted) is COMMITTED
            assert await finish_deletions(store)
            assert await store.attached.get(OneTimeCode, organization_id, "code") is None
            assert not await store.deliveries.record_attempt(leased.after_attempt(SendResult.DELAYED, 20), None)
            assert await store.deliveries.lease_messages(10**12, LEASE_MS, 5) == []

    asyncio.run(run())
