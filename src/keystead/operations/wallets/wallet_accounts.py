"""Accounts of wallets: deriving, renaming, deleting and reading them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Pagination, QueryRequest, RequestStruct, ShortText, WalletAccountParams
from keystead.api.records import Timestamp, WalletAccount, Wire
from keystead.chains.paths import comparison_form
from keystead.operations.declare import Reading, activity, query
from keystead.operations.pages import page_of, unknown_cursor
from keystead.operations.wallets import derived_accounts
from keystead.operations.wallets.derived_accounts import sealed_mnemonic
from keystead.organizations.attachments import ChangedAccount, NewAccount, StoredAccount
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.wallets import Wallets
from keystead.organizations.labels import check_unique
from keystead.organizations.organization import Put
from keystead.organizations.wallets import check_exported, is_exported
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, Output


class CreateWalletAccountsIntent(RequestStruct, frozen=True):
    """If `persist` is false, nothing is stored. The answer has the addresses in either case."""

    wallet_id: Uuid
    accounts: Annotated[tuple[WalletAccountParams, ...], Meta(max_length=derived_accounts.ACCOUNTS_AT_ONCE)]
    persist: bool | None = None


class CreateWalletAccountsResult(Wire, frozen=True):
    addresses: tuple[str, ...]


class DerivationContext(msgspec.Struct, frozen=True):
    """A wallet's sealed mnemonic, and the accounts that already have one of the requested paths or names."""

    sealed_mnemonic: Sealed
    same_path: tuple[StoredAccount, ...]
    same_name: tuple[StoredAccount, ...]


async def _derivation_context(source: ContextSource, intent: CreateWalletAccountsIntent) -> DerivationContext:
    organization, store = source.organization, source.store
    sealed = await sealed_mnemonic(source, organization.record(Wallets, intent.wallet_id))
    if intent.persist is False:
        return DerivationContext(sealed, (), ())
    paths = list(dict.fromkeys(derived_accounts.checked_paths(intent.accounts)))
    names = [params.name for params in intent.accounts if params.name is not None]
    return DerivationContext(
        sealed,
        tuple(await store.accounts.at(organization.id, intent.wallet_id, paths) if paths else ()),
        tuple(await store.accounts.called(organization.id, names) if names else ()),
    )


@activity("ACTIVITY_TYPE_CREATE_WALLET_ACCOUNTS", load_context=_derivation_context)
async def create_wallet_accounts(
    execution: ExecutionWith[DerivationContext], intent: CreateWalletAccountsIntent
) -> Output[CreateWalletAccountsResult]:
    """Derive accounts of a wallet, and store them unless `persist` is false."""
    organization, context = execution.organization, execution.context
    wallet = organization.record(Wallets, intent.wallet_id)
    normalized_paths = derived_accounts.checked_paths(intent.accounts)
    _check_free(intent.accounts, normalized_paths, context)
    derived = await execution.signer.derive_accounts(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        wallet_id=wallet.wallet_id,
        sealed_mnemonic=context.sealed_mnemonic,
        accounts=[derived_accounts.account_request(params) for params in intent.accounts],
    )
    now = Timestamp.from_ms(execution.now_ms)
    accounts = tuple(
        derived_accounts.account_record(
            execution.new_id(), organization.id, wallet.wallet_id, account, params.name, now
        )
        for params, account in zip(intent.accounts, derived, strict=True)
    )
    result = CreateWalletAccountsResult(addresses=tuple(account.address for account in accounts))
    if intent.persist is False or not accounts:
        return Output(result=result, derived=accounts)
    return Output(
        result=result,
        # The wallet is written too, so that this conflicts with a deletion of the wallet at the same moment.
        changes=(Put(replace(wallet, updated_at=now)),),
        attachments=tuple(
            NewAccount(account, path) for account, path in zip(accounts, normalized_paths, strict=True)
        ),
        derived=accounts,
    )


def _check_free(accounts: tuple[WalletAccountParams, ...], paths: list[str], context: DerivationContext) -> None:
    """Raise InvalidRequest, naming the field, if an account has the path or the name already."""
    taken = {
        (
            account.curve,
            comparison_form(account.curve, account.path),
            account.address_format,
        ): account.wallet_account_id
        for account in (stored.account for stored in context.same_path)
    }
    named = [(stored.account.name or "", stored.account.wallet_account_id) for stored in context.same_name]
    for index, (params, path) in enumerate(zip(accounts, paths, strict=True)):
        if (holder := taken.get((params.curve, path, params.address_format))) is not None:
            raise InvalidRequest(
                f"invalid path: field `parameters.accounts[{index}].path`: {params.path} is the path of wallet "
                f"account {holder} too, with the same curve and address format"
            )
        if params.name is not None:
            check_unique(params.name, named, f"parameters.accounts[{index}].name")


class UpdateWalletAccountNameIntent(RequestStruct, frozen=True):
    wallet_account_id: Uuid
    name: Label


class UpdateWalletAccountNameResult(Wire, frozen=True):
    wallet_account_id: str


class AccountToRename(msgspec.Struct, frozen=True):
    stored: StoredAccount
    same_name: tuple[StoredAccount, ...]


async def _account_to_rename(source: ContextSource, intent: UpdateWalletAccountNameIntent) -> AccountToRename:
    organization_id, store = source.organization.id, source.store
    (stored,) = _in_requested_order(
        (intent.wallet_account_id,), await store.accounts.of_ids(organization_id, [intent.wallet_account_id])
    )
    return AccountToRename(stored, tuple(await store.accounts.called(organization_id, [intent.name])))


@activity("ACTIVITY_TYPE_UPDATE_WALLET_ACCOUNT_NAME", load_context=_account_to_rename, own=True)
def update_wallet_account_name(
    execution: ExecutionWith[AccountToRename], intent: UpdateWalletAccountNameIntent
) -> Output[UpdateWalletAccountNameResult]:
    """Name a wallet account."""
    stored, now = execution.context.stored, Timestamp.from_ms(execution.now_ms)
    account = stored.account
    others = [
        (other.name or "", other.wallet_account_id)
        for other in (same_name.account for same_name in execution.context.same_name)
        if other.wallet_account_id != account.wallet_account_id
    ]
    check_unique(intent.name, others, "parameters.name")
    wallet = execution.organization.record(Wallets, account.wallet_id)
    renamed = replace(account, name=intent.name, updated_at=now)
    path = comparison_form(account.curve, account.path)
    return Output(
        result=UpdateWalletAccountNameResult(wallet_account_id=account.wallet_account_id),
        changes=(Put(replace(wallet, updated_at=now)),),
        attachments=(ChangedAccount(renamed, path, stored.exported),),
    )


class DeleteWalletAccountsIntent(RequestStruct, frozen=True):
    """Without `delete_without_export`, each account or its wallet must have been exported."""

    wallet_account_ids: Annotated[
        tuple[Uuid, ...], Meta(min_length=1, max_length=derived_accounts.ACCOUNTS_AT_ONCE)
    ]
    delete_without_export: bool | None = None


class DeleteWalletAccountsResult(Wire, frozen=True):
    wallet_account_ids: tuple[str, ...]


async def _accounts_to_delete(
    source: ContextSource, intent: DeleteWalletAccountsIntent
) -> tuple[StoredAccount, ...]:
    requested = tuple(dict.fromkeys(intent.wallet_account_ids))
    return _in_requested_order(requested, await source.store.accounts.of_ids(source.organization.id, requested))


@activity("ACTIVITY_TYPE_DELETE_WALLET_ACCOUNTS", load_context=_accounts_to_delete)
def delete_wallet_accounts(
    execution: ExecutionWith[tuple[StoredAccount, ...]], intent: DeleteWalletAccountsIntent
) -> Output[DeleteWalletAccountsResult]:
    """Delete wallet accounts, all or none. Their wallet can derive them again."""
    organization, now = execution.organization, Timestamp.from_ms(execution.now_ms)
    wallets = {
        stored.account.wallet_id: organization.record(Wallets, stored.account.wallet_id)
        for stored in execution.context
    }
    check_exported(
        "wallet account",
        ((stored.account.wallet_account_id, is_exported(stored, organization)) for stored in execution.context),
        without_export=intent.delete_without_export,
        machine_code="WALLET_ACCOUNT_NOT_EXPORTED",
    )
    accounts = [stored.account for stored in execution.context]
    return Output(
        result=DeleteWalletAccountsResult(
            wallet_account_ids=tuple(account.wallet_account_id for account in accounts)
        ),
        changes=tuple(Put(replace(wallet, updated_at=now)) for wallet in wallets.values()),
        attachments=tuple(NewAccount.removal(account) for account in accounts),
    )


def _in_requested_order(account_ids: tuple[str, ...], accounts: list[StoredAccount]) -> tuple[StoredAccount, ...]:
    """The accounts in the order of the requested ids. Raises InvalidRequest for an id without an account."""
    by_id = {stored.account.wallet_account_id: stored for stored in accounts}
    for account_id in account_ids:
        if account_id not in by_id:
            raise InvalidRequest(f"wallet account not part of your organization: {account_id}")
    return tuple(by_id[account_id] for account_id in account_ids)


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
        organization.record(Wallets, request.wallet_id)
    page = page_of(request.pagination_options)
    accounts = await reading.store.accounts.page(organization.id, request.wallet_id, page)
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
    organization.record(Wallets, request.wallet_id)
    if request.address is None and request.path is None:
        raise InvalidRequest("invalid request body: send `address` or `path`, or both")
    for path in _normalized_paths(request.path):
        account = await reading.store.accounts.find(organization.id, request.wallet_id, request.address, path)
        if account is not None and (request.path is None or comparison_form(account.curve, request.path) == path):
            return GetWalletAccountResponse(account=account)
    requested = request.address if request.address is not None else request.path
    raise NotFound(f"Could not find wallet account {requested!r} in wallet {request.wallet_id}")


def _normalized_paths(path: str | None) -> list[str | None]:
    """The stored forms of a path, which depend on the account's curve. Raises InvalidRequest, naming the field."""
    if path is None:
        return [None]
    try:
        return list(dict.fromkeys(comparison_form(curve, path) for curve in Curve))
    except InvalidRequest as refused:
        raise InvalidRequest(f"{refused.message} (field `path`)") from None
