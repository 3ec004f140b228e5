"""Accounts to derive: the checks before any key is made, their records, and the sealed keys they are derived from.

Not here: the operations that derive (`wallets`, `wallet_accounts`), the derivation (`keys`).
"""

from __future__ import annotations

from keystead.api.errors import InvalidRequest, ServiceError
from keystead.api.parameters import WalletAccountParams
from keystead.api.records import PrivateKey, Timestamp, Wallet, WalletAccount
from keystead.chains.addresses.formats import caip2_prefix, require_encodable
from keystead.chains.paths import check_total_depth, comparison_form
from keystead.organizations.attachments import MNEMONIC_PURPOSE, PRIVATE_KEY_PURPOSE, SealedSecret
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.wallets import Wallets
from keystead.pipeline.context import ContextSource
from keystead.pipeline.signer_values import AccountRequest, DerivedAccount, StandaloneKey, WalletKey


async def sealed_mnemonic(source: ContextSource, wallet: Wallet) -> Sealed:
    """The sealed mnemonic of a wallet. Raises NotFound if the wallet was deleted after this version of the
    organization."""
    row = await source.store.attached.get(SealedSecret, source.organization.id, wallet.wallet_id, MNEMONIC_PURPOSE)
    if row is None:
        raise source.organization.not_found(Wallets, wallet.wallet_id)
    return row.sealed


async def sealed_private_key(source: ContextSource, key: PrivateKey) -> Sealed:
    """The sealed bytes of a private key. Raises NotFound if the key was deleted after this version of the
    organization."""
    row = await source.store.attached.get(
        SealedSecret, source.organization.id, key.private_key_id, PRIVATE_KEY_PURPOSE
    )
    if row is None:
        raise source.organization.not_found(PrivateKeys, key.private_key_id)
    return row.sealed


def account_key(account: WalletAccount, mnemonic: Sealed) -> WalletKey:
    public_key = bytes.fromhex(account.public_key or "")
    return WalletKey(account.wallet_id, mnemonic, account.curve, account.path, public_key)


def standalone_key(key: PrivateKey, sealed: Sealed) -> StandaloneKey:
    return StandaloneKey(key.private_key_id, sealed, key.curve, bytes.fromhex(key.public_key))


ACCOUNTS_AT_ONCE = 1_000
"""Most accounts that one request may derive or delete."""


def account_request(params: WalletAccountParams) -> AccountRequest:
    return AccountRequest(
        curve=params.curve,
        path_format=params.path_format,
        path=params.path,
        address_format=params.address_format,
    )


def account_record(
    account_id: str,
    organization_id: str,
    wallet_id: str,
    derived: DerivedAccount,
    name: str | None,
    now: Timestamp,
) -> WalletAccount:
    """The record of an account that has just been derived."""
    return WalletAccount(
        wallet_account_id=account_id,
        organization_id=organization_id,
        wallet_id=wallet_id,
        curve=derived.request.curve,
        path_format=derived.request.path_format,
        path=derived.request.path,
        address_format=derived.request.address_format,
        address=derived.address,
        created_at=now,
        updated_at=now,
        public_key=derived.public_key,
        name=name,
        caip2_prefix=caip2_prefix(derived.request.address_format),
    )


def checked_paths(accounts: tuple[WalletAccountParams, ...]) -> list[str]:
    """The normalized path of each account. Raises InvalidRequest if two accounts are the same or have the same
    name, if a path is malformed, and if the paths together have too many levels."""
    check_total_depth([params.path for params in accounts])
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
