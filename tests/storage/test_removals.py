"""Deletions that every process sees: records, look-ups, texts, and everything of a deleted organization.

Here: both engines, and processes that learn of it from what changed or from a first load.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from keystead.api.records import ApiKey, User
from keystead.organizations.attachments import InterfaceText, RemovedOrganizationContents
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization, Record, Remove, records_of
from keystead.organizations.record_kinds import RECORD_KINDS
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.server.installation.deletions import finish_deletions
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import (
    a_secret,
    a_tag,
    a_user,
    a_wallet,
    an_account,
    an_interface,
    an_organization,
)
from tests.support.databases import Database

COMMITTED = CommitResult.COMMITTED
ALL = Page(limit=100)


def removal(record: Record) -> Remove:
    return Remove(type(record), RECORD_KINDS.by_record_type[type(record)].id_of(record))


def removals(organization: Organization) -> list[Remove]:
    """The removals of everything that can be removed."""
    kept = (organization.profile, organization.data_key)
    return [removal(record) for record in records_of(organization) if record not in kept]


async def assert_seen(database: str, organization: Organization, *stores: DatabaseStore) -> None:
    """By these stores, and by one that loads it whole."""
    async with opened(database) as fresh:
        for store in (*stores, fresh):
            assert await store.organization(organization.id) == organization


def test_removed_records_of_every_kind(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            await other.organization(history.head.id)
            assert {type(record) for record in records_of(history.head)} == set(RECORD_KINDS.by_record_type)
            tag = a_tag()
            steps: list[Record | Remove] = [tag, removal(tag), replace(tag, tag_name="again"), removal(tag)]
            for step in (*steps, *reversed(removals(history.head))):
                assert await store.commit(history.step(step)) is COMMITTED
                await assert_seen(database, history.head, store, other)
            assert len(records_of(history.head)) == 2

    asyncio.run(run())


def test_what_came_and_went_between_two_looks(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            await other.organization(history.head.id)
            user, tag, wallet = a_user("Grace"), a_tag(), a_wallet()
            steps = ([user, tag], [wallet], [removal(user)], [removal(tag), removal(wallet)])
            results = [store.commit(history.step(*step)) for step in steps]
            assert [await result for result in results] == [COMMITTED] * 4
            await assert_seen(database, history.head, store, other)

    asyncio.run(run())


def test_a_key_that_passed_from_one_user_to_another_between_two_looks(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            one, two, three = a_user("one"), a_user("two"), a_user("three")
            assert await store.commit(history.step(one, two, three)) is COMMITTED
            await other.organization(history.head.id)
            bare = replace(one, api_keys=())
            steps: list[list[Record | Remove]] = [
                [bare],
                [replace(two, api_keys=(*two.api_keys, *one.api_keys))],
                [removal(three)],
                [replace(bare, user_name="renamed", api_keys=three.api_keys)],
            ]
            for step in steps:
                assert await store.commit(history.step(*step)) is COMMITTED
            await assert_seen(database, history.head, store, other)
            holders = (await other.organization(history.head.id)).users.by_public_key  # type: ignore[union-attr]
            assert holders[one.api_keys[0].credential.public_key][0] == two.user_id
            assert holders[three.api_keys[0].credential.public_key][0] == one.user_id

    asyncio.run(run())


@pytest.mark.parametrize("seed", range(3))
def test_following_from_any_version_leads_to_the_newest(database: str, seed: int) -> None:
    """Users come, change, exchange keys and go; another process looks now and then, a third only at the end."""
    chance = random.Random(seed)

    async def run() -> None:
        async with opened(database) as store, opened(database) as other, opened(database) as late:
            history = await new_history(store)
            keys = [key for user in (a_user(), a_user(), a_user()) for key in user.api_keys]
            for _ in range(40):
                commits = [_random_step(history, keys, chance) for _ in range(chance.choice((1, 1, 2, 5)))]
                assert set(await asyncio.gather(*map(store.commit, commits))) == {COMMITTED}
                if chance.random() < 0.4:
                    assert await other.organization(history.head.id) == history.head
            for place in (store, other, late):
                assert await place.organization(history.head.id) == history.head

    asyncio.run(run())


def _random_step(history: CommitHistory, keys: list[ApiKey], chance: random.Random) -> Commit:
    users = history.head.users.in_order()
    user = chance.choice(users)
    free = [key for key in keys if key.credential.public_key not in history.head.users.by_public_key]
    match chance.randrange(5):
        case 0:
            return history.step(replace(user, user_name=f"name {chance.random()}"))
        case 1 if free:
            return history.step(replace(user, api_keys=(*user.api_keys, chance.choice(free))))
        case 2:
            return history.step(replace(user, api_keys=user.api_keys[1:]))
        case 3 if len(users) > 1:
            return history.step(removal(user))
        case 4:
            return history.step(a_user(), a_tag())
    return history.step()


def test_an_interface_goes_with_its_text(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            interfaces = [an_interface() for _ in range(3)]
            texts = [InterfaceText(interface.id, interface.id) for interface in interfaces]
            assert await store.commit(history.step(*interfaces[:2], attachments=tuple(texts[:2]))) is COMMITTED
            # The last one comes and goes within one group.
            commits = [
                history.step(removal(interfaces[0]), attachments=(InterfaceText.removal(interfaces[0].id),)),
                history.step(interfaces[2], attachments=(texts[2],)),
                history.step(removal(interfaces[2]), attachments=(InterfaceText.removal(interfaces[2].id),)),
            ]
            assert await asyncio.gather(*map(store.commit, commits)) == [COMMITTED] * 3
            await assert_seen(database, history.head, store, other)
            assert await other.attached.interface_texts(history.head.id) == {interfaces[1].id: interfaces[1].id}
            assert await other.attached.get(InterfaceText, history.head.id, interfaces[0].id) is None

    asyncio.run(run())


async def child_of(store: DatabaseStore, *users: User) -> tuple[Organization, CommitHistory]:
    """The parent, and the commits of its first sub-organization."""
    parent = await new_history(store)
    child = an_organization(parent_id=parent.head.id, users=users)
    assert await store.commit(parent.suborganization(child)) is COMMITTED
    return parent.head, CommitHistory(child)


def test_look_ups_are_forgotten_one_holder_at_a_time(database: str) -> None:
    async def run() -> None:
        ada, grace = a_user(), a_user("Grace")
        async with opened(database) as store, opened(database) as other:
            parent, history = await child_of(store, ada, grace)

            async def found(kind: LookupKind, value: str) -> bool:
                listed = await other.suborganizations.page(parent.id, (kind, value), ALL)
                assert listed == await other.suborganizations.with_value(parent.id, kind, value)
                assert listed in ([], [history.head.id])
                return bool(listed)

            assert await found(LookupKind.EMAIL, "ada@example.com")
            assert await found(LookupKind.USER_NAME, "Ada")
            assert await store.commit(history.step(replace(ada, user_name="Ida", user_email=None))) is COMMITTED
            assert await found(LookupKind.EMAIL, "ada@example.com")  # Grace has it too
            assert not await found(LookupKind.USER_NAME, "Ada")
            assert await found(LookupKind.USER_NAME, "Ida")
            credential_id = grace.authenticators[0].credential_id
            assert await found(LookupKind.CREDENTIAL_ID, credential_id)
            assert await store.commit(history.step(removal(grace))) is COMMITTED
            assert not await found(LookupKind.EMAIL, "ada@example.com")
            assert not await found(LookupKind.CREDENTIAL_ID, credential_id)

    asyncio.run(run())


def test_look_ups_that_come_and_go_within_one_group(database: str) -> None:
    async def run() -> None:
        ada = a_user()
        async with opened(database) as store:
            parent, history = await child_of(store, ada)
            names = ["Ida", "Ada", "Eda", "Ida", "Oda"]
            commits = [history.step(replace(ada, user_name=name)) for name in names]
            assert await asyncio.gather(*map(store.commit, commits)) == [COMMITTED] * 5
            by_name = [
                await store.suborganizations.page(parent.id, (LookupKind.USER_NAME, name), ALL)
                for name in ("Ada", "Eda", "Ida", "Oda")
            ]
            assert by_name == [[], [], [], [history.head.id]]
            back = [history.step(replace(ada, user_name=name)) for name in ("Eda", "Oda")]
            assert await asyncio.gather(*map(store.commit, back)) == [COMMITTED] * 2
            assert await store.suborganizations.page(parent.id, (LookupKind.USER_NAME, "Oda"), ALL) == [
                history.head.id
            ]

    asyncio.run(run())


def test_a_deleted_organization_leaves_its_history_alone(make_database: Callable[[], Database]) -> None:
    handle = make_database()

    async def run() -> str:
        async with opened(handle.url) as store, opened(handle.url) as other:
            parent = await new_history(store)
            doomed, spared = [CommitHistory(an_organization(parent_id=parent.head.id)) for _ in range(2)]
            for history in (doomed, spared):
                wallet = a_wallet()
                account = an_account(history.head.id, wallet.wallet_id)
                assert (
                    await store.commit(parent.suborganization(history.head, a_secret(history.head.id))) is COMMITTED
                )
                assert await store.commit(history.step()) is COMMITTED
                assert await store.commit(history.step(wallet, attachments=(account,))) is COMMITTED
            await other.organization(doomed.head.id)
            profile = replace(doomed.head.profile, deleted=True)
            last = doomed.step()
            end = doomed.step(*removals(doomed.head), profile, attachments=(RemovedOrganizationContents(),))
            results = await asyncio.gather(*map(store.commit, [last, spared.step(), end]))
            assert results == [COMMITTED] * 3
            await assert_seen(handle.url, doomed.head, store, other)
            assert await finish_deletions(store)
            await assert_seen(handle.url, doomed.head, store, other)
            assert records_of(doomed.head)[0] == profile
            assert await other.suborganizations.page(parent.head.id, None, ALL) == [spared.head.id]
            for kind, value in ((LookupKind.USER_NAME, "Ada"), (LookupKind.ORGANIZATION_NAME, profile.name)):
                assert await other.suborganizations.page(parent.head.id, (kind, value), ALL) == [spared.head.id]
            assert await other.attached.interface_texts(doomed.head.id) == {}
            assert await other.accounts.page(doomed.head.id, None, ALL) == []
            assert len(await other.attached.interface_texts(spared.head.id)) == 2
            assert len(await other.accounts.page(spared.head.id, None, ALL) or ()) == 1
            assert len(await other.activities.page(doomed.head.id, (), (), ALL) or ()) == 4
            return spared.head.id

    spared_id = asyncio.run(run())
    assert handle.rows("SELECT organization_id FROM sealed_secret") == [(spared_id,)]
    handle.close()
