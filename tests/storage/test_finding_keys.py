"""The look-ups of a signature: an account by its address, a sealed secret by its record, texts of interfaces."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from keystead.api.enums import AddressFormat
from keystead.api.errors import AlreadyExists
from keystead.api.identifiers import new_id
from keystead.organizations.attachments import InterfaceText, NewAccount, SealedSecret, StoredAccount
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.store import CommitResult
from tests.storage.conftest import opened
from tests.support.commit_history import new_history
from tests.support.commit_samples import a_secret, a_wallet, an_account, an_interface

COMMITTED = CommitResult.COMMITTED


class Spelling(NamedTuple):
    """An address of this format, as stored; how somebody else writes it; whether that is the same address."""

    address_format: AddressFormat
    stored: str
    written: str
    same: bool


CHECKSUMMED = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
BECH32 = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
TON = "UQC4_unJ-jlbLt-3UO46cvKkyYI2-5LT9ZI3OpAvda2MpioL"
TON_BOUNCEABLE = "EQC4_unJ-jlbLt-3UO46cvKkyYI2-5LT9ZI3OpAvda2MpnfO"
TON_RAW = "0:b8fee9c9fa395b2edfb750ee3a72f2a4c98236fb92d3f592373a902f75ad8ca6"
SPELLINGS = [
    Spelling(AddressFormat.TON_V3R2, TON, TON, True),
    Spelling(AddressFormat.TON_V3R2, TON, TON_BOUNCEABLE, True),
    Spelling(AddressFormat.TON_V3R2, TON, TON_BOUNCEABLE.replace("_", "/").replace("-", "+"), True),
    Spelling(AddressFormat.TON_V3R2, TON, TON_RAW, True),
    Spelling(AddressFormat.TON_V3R2, TON, TON_RAW.upper(), True),
    Spelling(AddressFormat.TON_V3R2, TON, "-1" + TON_RAW[1:], False),
    Spelling(AddressFormat.TON_V3R2, TON, TON[:-1] + "M", False),
    Spelling(AddressFormat.TON_V3R2, TON, TON.lower(), False),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, CHECKSUMMED, True),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, CHECKSUMMED.lower(), True),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, "0x" + CHECKSUMMED[2:].upper(), True),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, CHECKSUMMED[:-1], False),
    Spelling(AddressFormat.SUI, "0x5e93", "0x5E93", True),
    Spelling(AddressFormat.APTOS, "0xeb66", "0XEB66", True),
    Spelling(AddressFormat.COMPRESSED, "03ab", "03AB", True),
    Spelling(AddressFormat.UNCOMPRESSED, "04ab", "04AB", True),
    Spelling(AddressFormat.BITCOIN_MAINNET_P2WPKH, BECH32, BECH32.upper(), True),
    Spelling(AddressFormat.BITCOIN_REGTEST_P2TR, "bcrt1p5", "BCRT1P5", True),
    Spelling(AddressFormat.COSMOS, "cosmos19rl", "COSMOS19RL", True),
    Spelling(AddressFormat.SPARK_MAINNET, "spark1pg", "SPARK1PG", True),
    Spelling(AddressFormat.SOLANA, "HAgk14Jp", "HAgk14Jp", True),
    Spelling(AddressFormat.SOLANA, "HAgk14Jp", "hagk14jp", False),
    Spelling(AddressFormat.SOLANA, "hagk14jp", "HAgk14Jp", False),
    Spelling(AddressFormat.TRON, "TGrLpry8", "tgrlpry8", False),
    Spelling(AddressFormat.BITCOIN_MAINNET_P2PKH, "1LqBGSKu", "1lqbgsku", False),
    Spelling(AddressFormat.XLM, "GB3JDWCQ", "gb3jdwcq", False),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, "", False),
    Spelling(AddressFormat.ETHEREUM, CHECKSUMMED, "\x00", False),
]


def spelled(account: NewAccount, address_format: AddressFormat, address: str) -> NewAccount:
    return NewAccount(
        replace(account.account, address_format=address_format, address=address), account.normalized_path
    )


def test_an_account_is_found_by_its_address_in_any_wallet(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            organization_id = history.head.id
            for index, case in enumerate(SPELLINGS):
                wallet = a_wallet()
                account = spelled(
                    an_account(organization_id, wallet.wallet_id, index), case.address_format, case.stored
                )
                assert await store.commit(history.step(wallet, attachments=(account,))) is COMMITTED
                found = await store.accounts.with_address(organization_id, case.written)
                if not case.same:
                    assert found is None or found.account.address == case.written, case
                else:
                    assert found is not None, case
                    assert found.account.address.lower() == case.stored.lower()
                    assert not found.exported
                assert await store.accounts.with_address(new_id(), case.written) is None

    asyncio.run(run())


def test_of_several_accounts_of_one_address_the_oldest_is_found(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallets = [a_wallet(), a_wallet()]
            accounts = [an_account(history.head.id, wallet.wallet_id, 7) for wallet in wallets]
            assert await store.commit(history.step(*wallets, attachments=tuple(reversed(accounts)))) is COMMITTED
            found = await store.accounts.with_address(history.head.id, accounts[1].account.address)
            assert found == StoredAccount(accounts[0].account)

    asyncio.run(run())


def test_a_secret_is_found_by_record_and_purpose(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallet = a_wallet()
            secrets = (
                a_secret(wallet.wallet_id),
                SealedSecret(wallet.wallet_id, "other", Sealed("key", b"\x00\xff")),
            )
            assert await store.commit(history.step(wallet, attachments=secrets)) is COMMITTED
            for secret in secrets:
                found = await store.attached.get(SealedSecret, history.head.id, wallet.wallet_id, secret.purpose)
                assert found == secret
            assert await store.attached.get(SealedSecret, history.head.id, wallet.wallet_id, "none") is None
            assert await store.attached.get(SealedSecret, history.head.id, "no record", "other") is None
            assert await store.attached.get(SealedSecret, "elsewhere", wallet.wallet_id, "other") is None

    asyncio.run(run())


def test_the_texts_of_some_interfaces(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            interfaces = [an_interface() for _ in range(3)]
            texts = tuple(InterfaceText(one.id, f"text of {one.id}") for one in interfaces)
            assert await store.commit(history.step(*interfaces, attachments=texts)) is COMMITTED
            asked = [interfaces[0].id, interfaces[2].id, "unknown"]
            assert await store.attached.interface_texts_of(history.head.id, asked) == {
                one.id: f"text of {one.id}" for one in (interfaces[0], interfaces[2])
            }
            assert await store.attached.interface_texts_of(history.head.id, []) == {}
            assert await store.attached.interface_texts_of("elsewhere", asked) == {}

    asyncio.run(run())


@pytest.mark.parametrize("taken", ["name", "path"])
def test_a_name_and_a_path_are_taken_once(database: str, taken: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            wallet = a_wallet()
            first, second = (an_account(history.head.id, wallet.wallet_id, index) for index in (1, 2))
            if taken == "name":
                first, second = (
                    NewAccount(replace(one.account, name="same"), one.normalized_path) for one in (first, second)
                )
            else:
                second = NewAccount(second.account, first.normalized_path)
            assert await store.commit(history.step(wallet, attachments=(first,))) is COMMITTED
            with pytest.raises(AlreadyExists, match=taken):
                await store.commit(history.step(wallet, attachments=(second,)))
            found = await store.accounts.with_address(history.head.id, second.account.address)
            assert found is None

    asyncio.run(run())
