"""Wallets and their accounts: making them with real keys, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.activities.activity import Execution, Outcome
from keystead.activities.ports import AccountRequest, DerivedAccount, NewWallet
from keystead.api.decoding import Label
from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest, NotFound, ServiceError
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Asked, Pagination, QueryRequest, ShortText, WalletAccountParams
from keystead.api.records import Timestamp, Wallet, WalletAccount, Wire
from keystead.keys.addresses import caip2_prefix, require_encodable
from keystead.keys.paths import comparison_form
from keystead.operations.declare import Reading, activity, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.organizations.attachments import MNEMONIC_PURPOSE, Attachment, NewAccount, SealedSecret
from keystead.organizations.labels import check_unique
from keystead.organizations.limits import check_room
from keystead.organizations.organization import Organization, Put

ACCOUNTS_AT_ONCE = 1_000
"""Most accounts that one request may derive."""

MNEMONIC_LENGTH = 12
"""Words of a mnemonic where the caller does not say."""


class CreateWalletIntent(Asked, frozen=True):
    """`mnemonic_length`: 12, 15, 18, 21 or 24 words."""

    wallet_name: Label
    accounts: Annotated[tuple[WalletAccountParams, ...], Meta(max_length=ACCOUNTS_AT_ONCE)]
    mnemonic_length: int | None = None


class CreateWalletResult(Wire, frozen=True):
    wallet_id: str
    addresses: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_WALLET")
async def create_wallet(execution: Execution, intent: CreateWalletIntent) -> Outcome[CreateWalletResult]:
    """Make a wallet of a fresh mnemonic, sealed at rest, and derive its accounts."""
    normalized_paths = check_new_wallet(execution, intent.wallet_name, intent.accounts)
    organization, wallet_id = execution.organization, execution.new_id()
    made = await execution.signer.create_wallet(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        wallet_id=wallet_id,
        mnemonic_length=MNEMONIC_LENGTH if intent.mnemonic_length is None else intent.mnemonic_length,
        accounts=[account_request(params) for params in intent.accounts],
    )
    kept = keep_wallet(
        execution, wallet_id, intent.wallet_name, made, intent.accounts, normalized_paths, imported=False
    )
    return Outcome(
        result=CreateWalletResult(
            wallet_id=wallet_id, addresses=tuple(account.address for account in kept.accounts)
        ),
        changes=(Put(kept.wallet),),
        attachments=kept.attachments,
        derived=kept.accounts,
    )


class KeptWallet(msgspec.Struct, frozen=True):
    """The records of a wallet just made, and the rows beside the organization."""

    wallet: Wallet
    accounts: tuple[WalletAccount, ...]
    attachments: tuple[Attachment, ...]


def check_new_wallet(execution: Execution, name: str, accounts: tuple[WalletAccountParams, ...]) -> list[str]:
    """The normalized path of each account. Raises LimitReached, InvalidRequest if there can be no such wallet."""
    wallets = execution.organization.wallets
    check_room(len(wallets), 1, execution.limits.wallets, "wallets")
    check_unique(
        name, ((wallet.wallet_name, wallet.wallet_id) for wallet in wallets.values()), "parameters.walletName"
    )
    return _checked_paths(accounts)


def keep_wallet(
    execution: Execution,
    wallet_id: str,
    name: str,
    made: NewWallet,
    accounts: Sequence[WalletAccountParams],
    normalized_paths: Sequence[str],
    *,
    imported: bool,
) -> KeptWallet:
    """What is to be kept of a wallet that the signer made for these accounts."""
    now = Timestamp.from_ms(execution.now_ms)
    wallet = Wallet(
        wallet_id=wallet_id, wallet_name=name, created_at=now, updated_at=now, exported=False, imported=imported
    )
    records = tuple(
        account_record(execution.new_id(), execution.organization.id, wallet, derived, params.name)
        for params, derived in zip(accounts, made.accounts, strict=True)
    )
    return KeptWallet(
        wallet,
        records,
        (
            SealedSecret(wallet_id, MNEMONIC_PURPOSE, made.sealed_mnemonic),
            *(NewAccount(account, path) for account, path in zip(records, normalized_paths, strict=True)),
        ),
    )


def account_request(params: WalletAccountParams) -> AccountRequest:
    return AccountRequest(
        curve=params.curve,
        path_format=params.path_format,
        path=params.path,
        address_format=params.address_format,
    )


def account_record(
    account_id: str, organization_id: str, wallet: Wallet, derived: DerivedAccount, name: str | None
) -> WalletAccount:
    """The record of a derived account, as old as its wallet."""
    return WalletAccount(
        wallet_account_id=account_id,
        organization_id=organization_id,
        wallet_id=wallet.wallet_id,
        curve=derived.request.curve,
        path_format=derived.request.path_format,
        path=derived.request.path,
        address_format=derived.request.address_format,
        address=derived.address,
        created_at=wallet.created_at,
        updated_at=wallet.created_at,
        public_key=derived.public_key,
        name=name,
        caip2_prefix=caip2_prefix(derived.request.address_format),
    )


def _checked_paths(accounts: tuple[WalletAccountParams, ...]) -> list[str]:
    """The normalized path of each account. Raises InvalidRequest if two would be the same account."""
    seen: dict[tuple[str, ...], int] = {}
    paths = []
    for index, params in enumerate(accounts):
        path = _checked_path(params, f"parameters.accounts[{index}]")
        same = seen.setdefault((params.curve, path, params.address_format), index)
        if same != index:
            raise InvalidRequest(
                f"invalid path: field `parameters.accounts[{index}].path`: {params.path} is the path of "
                f"`parameters.accounts[{same}]` too, with the same curve and address format"
            )
        paths.append(path)
    names = [params.name for params in accounts if params.name is not None]
    if len(set(names)) != len(names):
        raise InvalidRequest("invalid request: field `parameters.accounts`: two accounts have the same `name`")
    return paths


def _checked_path(params: WalletAccountParams, field: str) -> str:
    """The normalized path of an account that can be derived; refusals name the field."""
    try:
        require_encodable(params.curve, params.address_format)
    except ServiceError as refused:
        raise type(refused)(f"{refused.message} (field `{field}.addressFormat`)") from None
    try:
        return comparison_form(params.curve, params.path)
    except InvalidRequest as refused:
        raise InvalidRequest(f"{refused.message} (field `{field}.path`)") from None


class GetWalletRequest(QueryRequest, frozen=True):
    wallet_id: Uuid


class GetWalletResponse(Wire, frozen=True):
    wallet: Wallet


@query()
def get_wallet(reading: Reading, request: GetWalletRequest) -> GetWalletResponse:
    """One wallet."""
    return GetWalletResponse(wallet=wallet_named(reading.organization, request.wallet_id))


class ListWalletsRequest(QueryRequest, frozen=True):
    pass


class ListWalletsResponse(Wire, frozen=True):
    wallets: tuple[Wallet, ...]


@query(of_version=True)
def list_wallets(reading: Reading, _: ListWalletsRequest) -> ListWalletsResponse:
    """All wallets of the organization."""
    return ListWalletsResponse(wallets=tuple(reading.organization.wallets_in_order()))


class ListWalletAccountsRequest(QueryRequest, frozen=True):
    """Without `wallet_id`: the accounts of all wallets."""

    wallet_id: Uuid | None = None
    include_wallet_details: bool | None = None
    pagination_options: Pagination | None = None


class ListWalletAccountsResponse(Wire, frozen=True):
    accounts: tuple[WalletAccount, ...]


@query()
async def list_wallet_accounts(reading: Reading, request: ListWalletAccountsRequest) -> ListWalletAccountsResponse:
    """Accounts of a wallet, or of the organization, by page."""
    organization = reading.organization
    if request.wallet_id is not None:
        wallet_named(organization, request.wallet_id)
    page = page_of(request.pagination_options)
    accounts = await reading.store.wallet_accounts(organization.id, request.wallet_id, page)
    if accounts is None:
        raise unknown_cursor(page)
    if request.include_wallet_details:
        accounts = [
            replace(account, wallet_details=organization.wallets.get(account.wallet_id)) for account in accounts
        ]
    return ListWalletAccountsResponse(accounts=tuple(accounts))


class GetWalletAccountRequest(QueryRequest, frozen=True):
    """At least one of `address` and `path`."""

    wallet_id: Uuid
    address: ShortText | None = None
    path: Annotated[str, Meta(max_length=4096)] | None = None


class GetWalletAccountResponse(Wire, frozen=True):
    account: WalletAccount


@query()
async def get_wallet_account(reading: Reading, request: GetWalletAccountRequest) -> GetWalletAccountResponse:
    """One account, by its address, its path, or both."""
    organization = reading.organization
    wallet_named(organization, request.wallet_id)
    if request.address is None and request.path is None:
        raise InvalidRequest("invalid request body: one of `address` and `path` is needed")
    for path in _normalized_paths(request.path):
        account = await reading.store.wallet_account(organization.id, request.wallet_id, request.address, path)
        if account is not None and (request.path is None or comparison_form(account.curve, request.path) == path):
            return GetWalletAccountResponse(account=account)
    asked = request.address if request.address is not None else request.path
    raise NotFound(f"Could not find wallet account {asked!r} in wallet {request.wallet_id}")


def _normalized_paths(path: str | None) -> list[str | None]:
    """What a path may be stored as, depending on the account's curve. Raises InvalidRequest, naming the field."""
    if path is None:
        return [None]
    try:
        return list(dict.fromkeys(comparison_form(curve, path) for curve in Curve))
    except InvalidRequest as refused:
        raise InvalidRequest(f"{refused.message} (field `path`)") from None


def wallet_named(organization: Organization, wallet_id: str) -> Wallet:
    wallet = organization.wallets.get(wallet_id)
    if wallet is None:
        raise NotFound(f"unable to find wallet {wallet_id} in organization {organization.id}")
    return wallet
