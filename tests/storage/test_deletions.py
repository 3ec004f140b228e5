"""What is deleted is gone at once, and its rows go in small steps, whichever process takes them,
on both databases."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.api.records import Wallet
from keystead.organizations.attachments import (
    MNEMONIC_PURPOSE,
    NewAccount,
    RemovedOrganizationContents,
    RemovedWalletAccounts,
    SealedSecret,
)
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Remove
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.server.installation.deletions import ROWS_AT_ONCE, finish_deletions
from keystead.storage.rows import Rows, TombstonePurge
from keystead.storage.store import DatabaseStore
from tests.conftest import MakeDatabase
from tests.storage.conftest import opened
from tests.storage.test_accounts import found_by
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_secret, a_tag, a_wallet, an_account, an_organization

COMMITTED = CommitResult.COMMITTED
ALL = Page(limit=1000)
MANY = 2 * ROWS_AT_ONCE + 7


async def sub_organization(parent: CommitHistory, store: DatabaseStore) -> CommitHistory:
    history = CommitHistory(an_organization(parent_id=parent.head.id))
    assert await store.commit(parent.suborganization(history.head)) is COMMITTED
    return history


async def wallet_with(history: CommitHistory, store: DatabaseStore, first: int, count: int) -> list[NewAccount]:
    """The accounts of a new wallet."""
    wallet = a_wallet()
    accounts = [an_account(history.head.id, wallet.wallet_id, index) for index in range(first, first + count)]
    step = history.step(wallet, attachments=(*accounts, a_secret(wallet.wallet_id)))
    assert await store.commit(found_by(step, *accounts)) is COMMITTED
    return accounts


def deletion_of(history: CommitHistory, wallet_id: str) -> Commit:
    gone = (RemovedWalletAccounts(wallet_id), SealedSecret.removal(wallet_id, MNEMONIC_PURPOSE))
    return history.step(Remove(Wallet, wallet_id), attachments=gone)


async def holders(store: DatabaseStore, parent: CommitHistory, account: NewAccount) -> list[str]:
    by = (LookupKind.WALLET_ACCOUNT_ADDRESS, account.account.address)
    found = await store.suborganizations.page(parent.head.id, by, ALL)
    assert found is not None
    assert found[:2] == await store.suborganizations.with_value(parent.head.id, *by)
    return found


@pytest.mark.parametrize("steps_before_the_end_of_a_process", [0, 1, 2])
def test_a_wallet_is_gone_before_its_rows_are(database: str, steps_before_the_end_of_a_process: int) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            parent = await new_history(store)
            history = await sub_organization(parent, store)
            kept = await wallet_with(history, store, 0, 3)
            gone = await wallet_with(history, store, 10, MANY)
            assert await holders(other, parent, gone[0]) == [history.head.id]
            await store.commit(deletion_of(history, gone[0].account.wallet_id))

            async def assert_gone() -> None:
                accounts = [one.account for one in kept]
                assert await other.accounts.page(history.head.id, None, ALL) == accounts
                first = Page(2, before=kept[2].account.wallet_account_id)
                assert await other.accounts.page(history.head.id, None, first) == accounts[:2]
                cursor = Page(2, after=gone[-1].account.wallet_account_id)
                assert await other.accounts.page(history.head.id, None, cursor) is None
                for one in (gone[0], gone[-1]):
                    assert await other.accounts.with_address(history.head.id, one.account.address) is None
                    assert await other.accounts.of_ids(history.head.id, [one.account.wallet_account_id]) == []
                    assert await holders(other, parent, one) == []
                assert await holders(other, parent, kept[0]) == [history.head.id]

            await assert_gone()
            (deletion,) = await store.purger.unfinished(limit=5)
            for _ in range(steps_before_the_end_of_a_process):
                assert await store.purger.take_step(deletion, parent.head.id, ROWS_AT_ONCE)
                await assert_gone()
        # Another process goes on.
        async with opened(database) as store, opened(database) as other:
            assert await finish_deletions(store) == MANY // ROWS_AT_ONCE + 2 - steps_before_the_end_of_a_process
            await assert_gone()
            assert await store.purger.unfinished(limit=5) == []
            assert await store.accounts.unfinished_deletions(history.head.id) == set()
            assert await finish_deletions(store) == 0
            left = await store.installation.lookups_of(history.head.id)
            assert {one.kind for one in left} >= {LookupKind.USER_NAME}
            of_accounts = {one.holder_id for one in left if one.kind is LookupKind.WALLET_ACCOUNT_ADDRESS}
            assert of_accounts == {one.account.wallet_account_id for one in kept}

    asyncio.run(run())


def test_addresses_and_names_of_a_deleted_wallet_are_free_at_once(database: str) -> None:
    """A wallet is imported again before the rows of the deleted one are gone."""

    async def run() -> None:
        async with opened(database) as store:
            parent = await new_history(store)
            history = await sub_organization(parent, store)
            (old,) = await wallet_with(history, store, 0, 1)
            named = NewAccount(replace(old.account, name="payroll"), old.normalized_path)
            await store.commit(history.step(a_tag(), attachments=(NewAccount.removal(old.account), named)))
            await store.commit(deletion_of(history, old.account.wallet_id))
            wallet = a_wallet()
            other = an_account(history.head.id, wallet.wallet_id, 5).account
            again = replace(other, address=old.account.address, name="payroll")
            new = NewAccount(again, old.normalized_path)
            assert await store.commit(found_by(history.step(wallet, attachments=(new,)), new)) is COMMITTED

            async def assert_found() -> None:
                found = await store.accounts.with_address(history.head.id, again.address)
                assert found is not None and found.account == again
                called = await store.accounts.called(history.head.id, ["payroll"])
                assert [one.account for one in called] == [again]
                assert await holders(store, parent, new) == [history.head.id]

            await assert_found()
            assert await finish_deletions(store) == 2
            await assert_found()

    asyncio.run(run())


def test_a_page_of_holders_is_full_though_look_ups_of_the_deleted_are_left(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            parent = await new_history(store)
            children = [await sub_organization(parent, store) for _ in range(7)]
            accounts = []
            for child in children:
                wallet = a_wallet()
                account = an_account(child.head.id, wallet.wallet_id)
                shared = NewAccount(replace(account.account, address="shared"), account.normalized_path)
                await store.commit(found_by(child.step(wallet, attachments=(shared,)), shared))
                accounts.append(shared)
            for index in (0, 2, 3, 6):
                await store.commit(deletion_of(children[index], accounts[index].account.wallet_id))
            ids = [child.head.id for child in children]
            by = (LookupKind.WALLET_ACCOUNT_ADDRESS, "shared")
            left = [ids[index] for index in (1, 4, 5)]

            async def page(page: Page) -> list[str] | None:
                return await store.suborganizations.page(parent.head.id, by, page)

            for _ in range(2):
                assert await page(Page(2)) == left[:2]
                assert await page(Page(2, after=left[1])) == left[2:]
                assert await page(Page(2, before=ids[6])) == left[1:]
                assert await page(ALL) == left
                await finish_deletions(store)

    asyncio.run(run())


@pytest.mark.parametrize("killed_after", [0, 3])
def test_an_organization_goes_with_everything(make_database: MakeDatabase, killed_after: int) -> None:
    handle = make_database()

    async def run() -> str:
        async with opened(handle.url) as store, opened(handle.url) as other:
            parent = await new_history(store)
            history = await sub_organization(parent, store)
            accounts = await wallet_with(history, store, 0, MANY)
            await other.organization(history.head.id)
            removed = [
                Remove(type_, id_)
                for type_, map_ in history.head.maps.items()
                if type_ not in (Profile, SealedDataKey)
                for id_ in map_
            ]
            profile = replace(history.head.profile, deleted=True)
            end = history.step(*removed, profile, attachments=(RemovedOrganizationContents(),))
            assert await store.commit(end) is COMMITTED
            secret = await other.attached.get(
                SealedSecret, history.head.id, accounts[0].account.wallet_id, MNEMONIC_PURPOSE
            )
            assert secret is None, "in the same transaction"
            assert await holders(store, parent, accounts[0]) == []
            (deletion,) = await store.purger.unfinished(limit=5)
            for _ in range(killed_after):
                assert await store.purger.take_step(deletion, parent.head.id, ROWS_AT_ONCE)
        async with opened(handle.url) as store, opened(handle.url) as third:
            await finish_deletions(store)
            assert await third.organization(history.head.id) == history.head
            assert await store.purger.tables_with_rows(history.head.id) == []
            return history.head.id

    gone = asyncio.run(run())
    left = handle.rows(f"SELECT kind FROM record WHERE organization_id = '{gone}' ORDER BY kind")
    assert left == [("data_key",), ("forgotten",), ("profile",)]
    handle.close()


def test_several_processes_finish_one_deletion(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as second, opened(database) as third:
            parent = await new_history(store)
            history = await sub_organization(parent, store)
            gone = await wallet_with(history, store, 0, MANY)
            await store.commit(deletion_of(history, gone[0].account.wallet_id))
            _, _, _, *written = await asyncio.gather(
                *map(finish_deletions, (store, second, third)),
                *[second.commit(history.step(a_tag())) for _ in range(5)],
            )
            assert written == [COMMITTED] * 5
            assert await third.purger.unfinished(limit=5) == []
            assert await third.accounts.page(history.head.id, None, ALL) == []

    asyncio.run(run())


def test_tombstones_are_purged_and_every_process_follows(database: str) -> None:
    """A process that knows a version before the purged ones loads the whole organization."""
    kept = 5

    async def run() -> None:
        async with (
            opened(database) as store,
            opened(database) as early,
            opened(database) as late,
            opened(database) as locking,
        ):
            history = await new_history(store)
            tags = [a_tag() for _ in range(30)]
            await store.commit(history.step(*tags))
            await early.organization(history.head.id)
            await locking.organization(history.head.id)
            for number, tag in enumerate(tags):
                if number == 27:
                    await late.organization(history.head.id)
                await store.commit(history.step(Remove(type(tag), tag.tag_id)))
            steps = 0
            while await store.purger.purge_tombstones(history.head.id, kept, 10):
                steps += 1
            assert steps == 3
            changes = await late.changed_since(history.head.id, history.head.version.number - kept)
            assert changes is not None and not changes.is_whole and len(changes.changes) == kept
            changes = await late.changed_since(history.head.id, history.head.version.number - kept - 1)
            assert changes is not None and changes.is_whole
            async with locking.locked(history.head.id) as locked:
                assert locked.organization == history.head
            async with opened(database) as fresh:
                for place in (store, early, late, fresh):
                    assert await place.organization(history.head.id) == history.head
            # It is put again under the same id, and removed again.
            await store.commit(history.step(tags[0]))
            assert await early.organization(history.head.id) == history.head
            await store.commit(history.step(Remove(type(tags[0]), tags[0].tag_id)))
            assert await store.purger.purge_tombstones(history.head.id, 0, 10)
            assert not await store.purger.purge_tombstones(history.head.id, 0, 10)
            for place in (early, late):
                assert await place.organization(history.head.id) == history.head

    asyncio.run(run())


def test_the_purged_version_never_decreases(database: str) -> None:
    """Two processes forget, and the one that knows less comes last."""

    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            tags = [a_tag() for _ in range(10)]
            await store.commit(history.step(*tags))
            known = await other.organization(history.head.id)
            assert known is not None
            for tag in tags:
                await store.commit(history.step(Remove(type(tag), tag.tag_id)))
            assert await store.purger.purge_tombstones(history.head.id, 2, 100)
            late = Rows(purges=[TombstonePurge(history.head.id, known.version.number + 1, 100)])
            await store._commit_rows(history.head.id, late)
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())
