"""Exporting wallets and keys: the secret is encrypted to the caller's key, in a bundle that the server signs.

An export runs once. Its bundle stays in the activity's result, and only the caller's key opens it.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.enums import MnemonicLanguage
from keystead.api.errors import NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import PrivateKey, Timestamp, Wallet, Wire
from keystead.chains.bundle_texts import read_target
from keystead.chains.paths import comparison_form
from keystead.operations.declare import activity
from keystead.operations.wallets.derived_accounts import (
    account_key,
    sealed_mnemonic,
    sealed_private_key,
    standalone_key,
)
from keystead.operations.wallets.private_keys import private_key_keywords, wallet_account_keywords, wallet_keywords
from keystead.organizations.attachments import ChangedAccount, StoredAccount
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.wallets import Wallets
from keystead.organizations.organization import Organization, Put
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, Output
from keystead.policies.request import ResourceKeywords

KeyT = TypeVar("KeyT", Wallet, PrivateKey)

TargetPublicKey = Annotated[str, Meta(max_length=200)]
"""A P-256 public key in hex: 65 bytes uncompressed, or 33 compressed."""


class ExportWalletIntent(RequestStruct, frozen=True):
    """`language`: the language of the mnemonic, English if absent. The same words in another language have another
    seed."""

    wallet_id: Uuid
    target_public_key: TargetPublicKey
    language: MnemonicLanguage | None = None


class ExportWalletResult(Wire, frozen=True):
    """`export_bundle`: JSON text, signed by the server."""

    wallet_id: str
    export_bundle: str


async def _sealed_mnemonic(source: ContextSource, intent: ExportWalletIntent) -> Sealed:
    return await sealed_mnemonic(source, source.organization.record(Wallets, intent.wallet_id))


def _wallet_keyword(organization: Organization, intent: ExportWalletIntent, _: Sealed) -> ResourceKeywords:
    return ResourceKeywords({"wallet": wallet_keywords(organization.wallets[intent.wallet_id])})


@activity(
    "ACTIVITY_TYPE_EXPORT_WALLET",
    load_context=_sealed_mnemonic,
    resources=_wallet_keyword,
    also_does=("EXPORT_WALLET_ACCOUNT",),
)
async def export_wallet(execution: ExecutionWith[Sealed], intent: ExportWalletIntent) -> Output[ExportWalletResult]:
    """Export a wallet's mnemonic, sealed to the target key."""
    organization = execution.organization
    wallet = organization.record(Wallets, intent.wallet_id)
    bundle = await execution.signer.export_wallet(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        wallet_id=wallet.wallet_id,
        sealed_mnemonic=execution.context,
        language=intent.language or MnemonicLanguage.ENGLISH,
        target=_target(intent.target_public_key),
    )
    return Output(
        result=ExportWalletResult(wallet_id=wallet.wallet_id, export_bundle=bundle),
        changes=() if wallet.exported else (Put(_exported(wallet, execution.now_ms)),),
    )


class ExportWalletAccountIntent(RequestStruct, frozen=True):
    address: ShortText
    target_public_key: TargetPublicKey


class ExportWalletAccountResult(Wire, frozen=True):
    """`export_bundle`: JSON text, signed by the server."""

    address: str
    export_bundle: str


class AccountToExport(msgspec.Struct, frozen=True):
    stored: StoredAccount
    sealed_mnemonic: Sealed


async def _account_to_export(source: ContextSource, intent: ExportWalletAccountIntent) -> AccountToExport:
    organization = source.organization
    stored = await source.store.accounts.with_address(organization.id, intent.address)
    if stored is None:
        raise NotFound(f"Could not find wallet account {intent.address!r} in organization {organization.id}")
    wallet = organization.record(Wallets, stored.account.wallet_id)
    return AccountToExport(stored, await sealed_mnemonic(source, wallet))


def _account_keywords(
    organization: Organization, _: ExportWalletAccountIntent, context: AccountToExport
) -> ResourceKeywords:
    account = context.stored.account
    return ResourceKeywords(
        {
            "wallet": wallet_keywords(organization.wallets[account.wallet_id]),
            "wallet_account": wallet_account_keywords(account),
        }
    )


@activity(
    "ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT",
    load_context=_account_to_export,
    resources=_account_keywords,
    also_does=("EXPORT_WALLET",),
)
async def export_wallet_account(
    execution: ExecutionWith[AccountToExport], intent: ExportWalletAccountIntent
) -> Output[ExportWalletAccountResult]:
    """Export the private key of a wallet account, sealed to the target key."""
    organization, context = execution.organization, execution.context
    account = context.stored.account
    bundle = await execution.signer.export_key(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        key=account_key(account, context.sealed_mnemonic),
        target=_target(intent.target_public_key),
    )
    result = ExportWalletAccountResult(address=account.address, export_bundle=bundle)
    if context.stored.exported:
        return Output(result=result)
    # The wallet is written too, so that this conflicts with a change of the account at the same moment.
    wallet = organization.record(Wallets, account.wallet_id)
    path = comparison_form(account.curve, account.path)
    return Output(
        result=result,
        changes=(Put(replace(wallet, updated_at=Timestamp.from_ms(execution.now_ms))),),
        attachments=(ChangedAccount(account, path, exported=True),),
    )


class ExportPrivateKeyIntent(RequestStruct, frozen=True):
    private_key_id: Uuid
    target_public_key: TargetPublicKey


class ExportPrivateKeyResult(Wire, frozen=True):
    """`export_bundle`: JSON text, signed by the server."""

    private_key_id: str
    export_bundle: str


async def _sealed_private_key(source: ContextSource, intent: ExportPrivateKeyIntent) -> Sealed:
    return await sealed_private_key(source, source.organization.record(PrivateKeys, intent.private_key_id))


def _private_key_keyword(organization: Organization, intent: ExportPrivateKeyIntent, _: Sealed) -> ResourceKeywords:
    return ResourceKeywords({"private_key": private_key_keywords(organization.private_keys[intent.private_key_id])})


@activity("ACTIVITY_TYPE_EXPORT_PRIVATE_KEY", load_context=_sealed_private_key, resources=_private_key_keyword)
async def export_private_key(
    execution: ExecutionWith[Sealed], intent: ExportPrivateKeyIntent
) -> Output[ExportPrivateKeyResult]:
    """Export a private key, sealed to the target key."""
    organization = execution.organization
    private_key = organization.record(PrivateKeys, intent.private_key_id)
    bundle = await execution.signer.export_key(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        key=standalone_key(private_key, execution.context),
        target=_target(intent.target_public_key),
    )
    return Output(
        result=ExportPrivateKeyResult(private_key_id=private_key.private_key_id, export_bundle=bundle),
        changes=() if private_key.exported else (Put(_exported(private_key, execution.now_ms)),),
    )


def _exported(record: KeyT, now_ms: int) -> KeyT:
    return replace(record, exported=True, updated_at=Timestamp.from_ms(now_ms))


def _target(public_key: str) -> bytes:
    return read_target(public_key, "parameters.targetPublicKey")
