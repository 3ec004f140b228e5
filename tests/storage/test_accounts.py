"""Accounts and secrets that are changed and deleted: every process reads the result, on both databases."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from keystead.api.records import WalletAccount
from keystead.organizations.attachments import (
    MNEMONIC_PURPOSE,
    ChangedAccount,
    NewAccount,
    RemovedWalletAccounts,
    SealedSecret,
    StoredAccount,
)
from keystead.organizations.lookups import Lookup, LookupKind, account_lookups
from keystead.organizations.organization import Remove
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_private_key, a_secret, a_wallet, an_account, an_organization

COMMITTED = CommitResult.COMMITTED
ALL = Page(limit=100)


def named(account: NewAccount, name: str | None) -> ChangedAccount:
    return ChangedAccount(replace(account.account, name=name), account.normalized_path, exported=False)


async def held(store: DatabaseStore, history: CommitHistory) -> list[WalletAccount]:
    return await store.accounts.page(history.head.id, None, ALL) or []


def found_by(commit: Commit, *accounts: NewAccount, gone: bool = False) -> Commit:
    """The commit with the look-ups of these accounts, as a submission would have it."""
    lookups: frozenset[Lookup] = account_lookups(one.account for one in accounts)
    assert commit.changes is not None
    if gone:
        write = replace(commit.changes, lookups_removed=commit.changes.lookups_removed | lookups)
    else:
        write = replace(commit.changes, lookups_added=commit.changes.lookups_added | lookups)
    return replace(commit, changes=write)


@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "in one transaction"])
def test_an_account_changes_and_goes(database: str, at_once: bool) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            wallet = a_wallet()
            account = an_account(history.head.id, wallet.wallet_id)
            exported = ChangedAccount(replace(account.account, name="x"), account.normalized_path, exported=True)
            account_id = account.account.wallet_account_id
            steps = [
                (found_by(history.step(wallet, attachments=(account,)), account), StoredAccount(account.account)),
                (
                    history.step(wallet, attachments=(named(account, "x"),)),
                    StoredAccount(named(account, "x").account),
                ),
                (history.step(wallet, attachments=(exported,)), StoredAccount(exported.account, exported=True)),
            ]
            futures = []
            for commit, expected in steps:
                futures.append(store.commit(commit))
                if not at_once:
                    assert await futures[-1] is COMMITTED
                    assert await other.accounts.of_ids(history.head.id, [account_id]) == [expected]
            assert set(await asyncio.gather(*futures)) == {COMMITTED}
            expected = steps[-1][1]
            assert await other.accounts.called(history.head.id, ["x", "y"]) == [expected]
            assert await other.accounts.at(history.head.id, wallet.wallet_id, [account.normalized_path]) == [
                expected
            ]
            assert await other.accounts.with_address(history.head.id, account.account.address) == expected
            removal = history.step(wallet, attachments=(NewAccount.removal(exported.account),))
            assert await store.commit(found_by(removal, account, gone=True)) is COMMITTED
            assert await held(other, history) == []
            assert await other.accounts.of_ids(history.head.id, [account_id]) == []
            assert await other.accounts.with_address(history.head.id, account.account.address) is None

    asyncio.run(run())


@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "in one transaction"])
def test_names_and_paths_come_free_and_are_taken_again(database: str, at_once: bool) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            wallet = a_wallet()
            first, second = (an_account(history.head.id, wallet.wallet_id, index) for index in (1, 2))
            third = NewAccount(an_account(history.head.id, wallet.wallet_id, 3).account, first.normalized_path)
            commits = [
                history.step(wallet, attachments=(first, second)),
                history.step(wallet, attachments=(named(first, "a"), named(second, "b"))),
                history.step(wallet, attachments=(named(first, None),)),
                history.step(wallet, attachments=(named(second, "a"),)),
                history.step(wallet, attachments=(NewAccount.removal(first.account),)),
                history.step(wallet, attachments=(third,)),
            ]
            futures = []
            for commit in commits:
                futures.append(store.commit(commit))
                if not at_once:
                    await futures[-1]
            assert await asyncio.gather(*futures) == [COMMITTED] * len(commits)
            assert await held(other, history) == [named(second, "a").account, third.account]

    asyncio.run(run())


def test_a_wallet_goes_with_all_it_has_and_nothing_else(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            parent = await new_history(store)
            history = CommitHistory(an_organization(parent_id=parent.head.id))
            assert await store.commit(parent.suborganization(history.head)) is COMMITTED
            kept, gone = a_wallet(), a_wallet()
            of_kept = [an_account(history.head.id, kept.wallet_id, index) for index in range(20)]
            of_gone = [an_account(history.head.id, gone.wallet_id, index) for index in range(20, 40)]
            for wallet, accounts in ((kept, of_kept), (gone, of_gone)):
                step = history.step(wallet, attachments=(*accounts, a_secret(wallet.wallet_id)))
                assert await store.commit(found_by(step, *accounts)) is COMMITTED
            removal = history.step(
                Remove(type(gone), gone.wallet_id),
                attachments=(
                    RemovedWalletAccounts(gone.wallet_id),
                    SealedSecret.removal(gone.wallet_id, MNEMONIC_PURPOSE),
                ),
            )
            assert await store.commit(removal) is COMMITTED
            assert await held(other, history) == [one.account for one in of_kept]
            assert await other.attached.get(SealedSecret, history.head.id, gone.wallet_id, MNEMONIC_PURPOSE) is None
            assert (
                await other.attached.get(SealedSecret, history.head.id, kept.wallet_id, MNEMONIC_PURPOSE)
                is not None
            )
            for account, expected in [(of_kept[3], [history.head.id]), (of_gone[3], [])]:
                found = await other.suborganizations.with_value(
                    parent.head.id, LookupKind.WALLET_ACCOUNT_ADDRESS, account.account.address
                )
                assert found == expected
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())


def test_a_secret_goes_alone(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            keys = [a_private_key(), a_private_key()]
            secrets = tuple(a_secret(key.private_key_id) for key in keys)
            assert await store.commit(history.step(*keys, attachments=secrets)) is COMMITTED
            gone = SealedSecret.removal(secrets[0].record_id, secrets[0].purpose)
            removal = history.step(Remove(type(keys[0]), keys[0].private_key_id), attachments=(gone,))
            assert await store.commit(removal) is COMMITTED
            left = [
                await other.attached.get(SealedSecret, history.head.id, secret.record_id, secret.purpose)
                for secret in secrets
            ]
            assert left == [None, secrets[1]]
            assert await other.organization(history.head.id) == history.head

    asyncio.run(run())
