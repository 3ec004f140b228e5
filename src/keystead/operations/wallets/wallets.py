"""Wallets: creating, renaming, deleting and reading them. Not here: their accounts (`wallet_accounts`), imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, WalletAccountParams
from keystead.api.records import Timestamp, Wallet, WalletAccount, Wire
from keystead.chains.mnemonic_lengths import check_mnemonic_length
from keystead.operations.declare import Reading, activity, query
from keystead.operations.wallets import derived_accounts
from keystead.operations.wallets.private_keys import wallet_keywords
from keystead.organizations.attachments import (
    MNEMONIC_PURPOSE,
    Attachment,
    NewAccount,
    RemovedWalletAccounts,
    SealedSecret,
)
from keystead.organizations.kinds.wallets import Wallets
from keystead.organizations.organization import Organization, Put, Remove
from keystead.organizations.wallets import check_exported
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.signer_values import NewWallet
from keystead.policies.request import ResourceKeywords

MNEMONIC_LENGTH = 12
"""The words of a mnemonic, if the request does not name a number."""


class CreateWalletIntent(RequestStruct, frozen=True):
    """`mnemonic_length`: 12, 15, 18, 21 or 24 words."""

    wallet_name: Label
    accounts: Annotated[tuple[WalletAccountParams, ...], Meta(max_length=derived_accounts.ACCOUNTS_AT_ONCE)]
    mnemonic_length: int | None = None


class CreateWalletResult(Wire, frozen=True):
    wallet_id: str
    addresses: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_WALLET")
async def create_wallet(execution: Execution, intent: CreateWalletIntent) -> Output[CreateWalletResult]:
    """Make a wallet from a new mnemonic, which is stored sealed, and derive its accounts."""
    mnemonic_length = MNEMONIC_LENGTH if intent.mnemonic_length is None else intent.mnemonic_length
    check_mnemonic_length(mnemonic_length)
    normalized_paths = check_new_wallet(execution, intent.wallet_name, intent.accounts)
    organization, wallet_id = execution.organization, execution.new_id()
    new_wallet = await execution.signer.create_wallet(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        wallet_id=wallet_id,
        mnemonic_length=mnemonic_length,
        accounts=[derived_accounts.account_request(params) for params in intent.accounts],
    )
    records = wallet_records(
        execution, wallet_id, intent.wallet_name, new_wallet, intent.accounts, normalized_paths, imported=False
    )
    return Output(
        result=CreateWalletResult(
            wallet_id=wallet_id, addresses=tuple(account.address for account in records.accounts)
        ),
        changes=(Put(records.wallet),),
        attachments=records.attachments,
        derived=records.accounts,
    )


class NewWalletRecords(msgspec.Struct, frozen=True):
    """The records of a new wallet and its accounts, and the rows that are written for them."""

    wallet: Wallet
    accounts: tuple[WalletAccount, ...]
    attachments: tuple[Attachment, ...]


def check_new_wallet(execution: Execution, name: str, accounts: tuple[WalletAccountParams, ...]) -> list[str]:
    """The normalized path of each account. Raises LimitReached for too many wallets, InvalidRequest for a name that
    is in use and for paths that cannot be derived."""
    organization = execution.organization
    organization.wallets.check_limit(1, execution.limits)
    _check_name_free(organization, name)
    return derived_accounts.checked_paths(accounts)


def wallet_records(
    execution: Execution,
    wallet_id: str,
    name: str,
    new_wallet: NewWallet,
    accounts: Sequence[WalletAccountParams],
    normalized_paths: Sequence[str],
    *,
    imported: bool,
) -> NewWalletRecords:
    """The records and rows of a wallet that the signer made for these accounts."""
    now = Timestamp.from_ms(execution.now_ms)
    wallet = Wallet(
        wallet_id=wallet_id, wallet_name=name, created_at=now, updated_at=now, exported=False, imported=imported
    )
    account_records = tuple(
        derived_accounts.account_record(
            execution.new_id(), execution.organization.id, wallet_id, derived, params.name, now
        )
        for params, derived in zip(accounts, new_wallet.accounts, strict=True)
    )
    return NewWalletRecords(
        wallet,
        account_records,
        (
            SealedSecret(wallet_id, MNEMONIC_PURPOSE, new_wallet.sealed_mnemonic),
            *(NewAccount(account, path) for account, path in zip(account_records, normalized_paths, strict=True)),
        ),
    )


class UpdateWalletIntent(RequestStruct, frozen=True):
    wallet_id: Uuid
    wallet_name: Label | None = None


class UpdateWalletResult(Wire, frozen=True):
    wallet_id: str


@activity("ACTIVITY_TYPE_UPDATE_WALLET")
def update_wallet(execution: Execution, intent: UpdateWalletIntent) -> Output[UpdateWalletResult]:
    """Rename a wallet."""
    organization = execution.organization
    wallet = organization.record(Wallets, intent.wallet_id)
    name = wallet.wallet_name if intent.wallet_name is None else intent.wallet_name
    if name != wallet.wallet_name:
        _check_name_free(organization, name)
    renamed = replace(wallet, wallet_name=name, updated_at=Timestamp.from_ms(execution.now_ms))
    return Output(result=UpdateWalletResult(wallet_id=wallet.wallet_id), changes=(Put(renamed),))


class DeleteWalletsIntent(RequestStruct, frozen=True):
    """Without `delete_without_export`, each wallet must have been exported."""

    wallet_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=100)]
    delete_without_export: bool | None = None


class DeleteWalletsResult(Wire, frozen=True):
    wallet_ids: tuple[str, ...]


def _wallets_keyword(organization: Organization, intent: DeleteWalletsIntent, _: None) -> ResourceKeywords:
    wallets = organization.wallets
    return ResourceKeywords(
        {"wallets": [wallet_keywords(wallets[id_]) for id_ in dict.fromkeys(intent.wallet_ids) if id_ in wallets]}
    )


@activity("ACTIVITY_TYPE_DELETE_WALLETS", resources=_wallets_keyword, also_does=("DELETE_WALLET_ACCOUNTS",))
def delete_wallets(execution: Execution, intent: DeleteWalletsIntent) -> Output[DeleteWalletsResult]:
    """Delete wallets, all or none. Their mnemonics and accounts cannot be recovered."""
    organization = execution.organization
    wallets = [organization.record(Wallets, wallet_id) for wallet_id in dict.fromkeys(intent.wallet_ids)]
    check_exported(
        "wallet",
        ((wallet.wallet_id, wallet.exported) for wallet in wallets),
        without_export=intent.delete_without_export,
        machine_code="WALLET_NOT_EXPORTED",
    )
    deleted_ids = tuple(wallet.wallet_id for wallet in wallets)
    return Output(
        result=DeleteWalletsResult(wallet_ids=deleted_ids),
        changes=tuple(Remove(Wallet, wallet_id) for wallet_id in deleted_ids),
        attachments=tuple(
            row
            for wallet_id in deleted_ids
            for row in (RemovedWalletAccounts(wallet_id), SealedSecret.removal(wallet_id, MNEMONIC_PURPOSE))
        ),
    )


class GetWalletRequest(QueryRequest, frozen=True):
    wallet_id: Uuid


class GetWalletResponse(Wire, frozen=True):
    wallet: Wallet


@query()
def get_wallet(reading: Reading, request: GetWalletRequest) -> GetWalletResponse:
    """One wallet."""
    return GetWalletResponse(wallet=reading.organization.record(Wallets, request.wallet_id))


class ListWalletsRequest(QueryRequest, frozen=True):
    pass


class ListWalletsResponse(Wire, frozen=True):
    wallets: tuple[Wallet, ...]


@query(of_version=True)
def list_wallets(reading: Reading, _: ListWalletsRequest) -> ListWalletsResponse:
    """All wallets of the organization."""
    return ListWalletsResponse(wallets=tuple(reading.organization.wallets.in_order()))


def _check_name_free(organization: Organization, name: str) -> None:
    Wallets.check_label(name, organization.wallets.labels(), "parameters.walletName")
