"""The records of a new organization with its root user, for organizations that no activity makes.

Here: the records, and what is stored beside them. Not here: writing them (`bootstrap`, `development`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from keystead.api.enums import AddressFormat, ApiKeyCurve, Curve, PathFormat
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import Timestamp, User, Wallet, WalletAccount
from keystead.chains.paths import comparison_form
from keystead.operations.auth_proxy.auth_proxies import new_auth_proxy
from keystead.operations.wallets.derived_accounts import account_record
from keystead.organizations.attachments import MNEMONIC_PURPOSE, Attachment, NewAccount, SealedSecret
from keystead.organizations.contacts.account_contacts import contact_changes
from keystead.organizations.contacts.contact_evidence import of_operator
from keystead.organizations.contacts.contacts import check_email, check_phone_number
from keystead.organizations.credentials.api_keys import new_api_key
from keystead.organizations.kinds.auth_proxies import ANY_ORIGIN, AuthProxySettings
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import Organization, Record, Version, apply, from_records
from keystead.pipeline.changes import lookups_of
from keystead.pipeline.signer_values import AccountRequest
from keystead.signer.local import LocalSigner

DEVELOPMENT_MNEMONIC = "test test test test test test test test test test test junk"
"""The public test mnemonic of local Ethereum nodes, which fund its first accounts."""

DEVELOPMENT_ACCOUNTS = 5


class OrganizationParams(msgspec.Struct, frozen=True, kw_only=True):
    """A new organization and its root user. The operator is responsible for the user's contacts.

    `api_public_key`: P-256, compressed, hex.
    """

    organization_id: str
    organization_name: str
    user_id: str
    user_name: str
    user_email: str | None
    user_phone_number: str | None = None
    api_key_name: str
    api_public_key: str
    parent_id: str | None = None


class WalletOfMnemonic(msgspec.Struct, frozen=True, kw_only=True):
    """A wallet with a known mnemonic. `account_names`: the names of the accounts, in their order, or empty."""

    name: str
    mnemonic: str
    accounts: tuple[AccountRequest, ...]
    account_names: tuple[str | None, ...] = ()

    def __repr__(self) -> str:
        return f"WalletOfMnemonic(name={self.name!r})"


class UnstoredOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """An organization that is not stored yet, and the rows beside its records."""

    organization: Organization
    user: User
    accounts: tuple[WalletAccount, ...]
    attachments: tuple[Attachment, ...]
    lookups: frozenset[Lookup]


async def new_organization(
    signer: LocalSigner,
    params: OrganizationParams,
    now: Timestamp,
    new_id: Callable[[], str],
    *,
    wallets: Sequence[WalletOfMnemonic] = (),
    has_proxy: bool = False,
) -> UnstoredOrganization:
    """An organization whose root quorum is one user with an API key.

    `has_proxy` adds an authentication proxy that pages of any origin may call. Raises InvalidRequest for a
    malformed name, e-mail address, key or mnemonic.
    """
    user = _root_user(params, now, new_id)
    data_key = SealedDataKey(await signer.new_data_key(params.organization_id))
    records: list[Record] = [
        Profile(
            name=params.organization_name,
            root_quorum=RootQuorum(1, (user.user_id,)),
            created_at=now,
            parent_id=params.parent_id,
        ),
        data_key,
        user,
    ]
    attachments: list[Attachment] = []
    accounts: tuple[WalletAccount, ...] = ()
    for new_wallet in wallets:
        wallet, its_accounts, its_attachments = await _wallet(
            signer, params.organization_id, data_key.sealed, new_wallet, now, new_id
        )
        records.append(wallet)
        accounts += its_accounts
        attachments += its_attachments
    if has_proxy:
        records += await _development_proxy(signer, params, data_key.sealed, now, new_id)
    organization = from_records(params.organization_id, Version(1, new_id()), records)
    organization = apply(organization, contact_changes(organization, user, of_operator(user)), organization.version)
    return UnstoredOrganization(
        organization=organization,
        user=user,
        accounts=accounts,
        attachments=tuple(attachments),
        lookups=lookups_of(organization, attachments),
    )


async def first_organization(
    signer: LocalSigner,
    params: OrganizationParams,
    now: Timestamp,
    new_id: Callable[[], str],
    *,
    mode: Literal["dev", "serve"],
) -> UnstoredOrganization:
    """The first organization of an installation. Mode "dev" adds the wallet "Development" and an authentication
    proxy. Raises as `new_organization`."""
    return await new_organization(
        signer,
        params,
        now,
        new_id,
        wallets=[DEVELOPMENT_WALLET] if mode == "dev" else (),
        has_proxy=mode == "dev",
    )


def _root_user(params: OrganizationParams, now: Timestamp, new_id: Callable[[], str]) -> User:
    return User(
        user_id=params.user_id,
        user_name=params.user_name,
        authenticators=(),
        api_keys=(
            new_api_key(
                ApiKeyParamsV2(
                    api_key_name=params.api_key_name,
                    public_key=params.api_public_key,
                    curve_type=ApiKeyCurve.P256,
                ),
                new_id(),
                now,
                "api key",
            ),
        ),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
        user_email=check_email(params.user_email, "user email") if params.user_email else None,
        user_phone_number=check_phone_number(params.user_phone_number, "user phone number")
        if params.user_phone_number
        else None,
    )


async def _wallet(
    signer: LocalSigner,
    organization_id: str,
    data_key: Sealed,
    requested: WalletOfMnemonic,
    now: Timestamp,
    new_id: Callable[[], str],
) -> tuple[Wallet, tuple[WalletAccount, ...], list[Attachment]]:
    wallet = Wallet(
        wallet_id=new_id(),
        wallet_name=requested.name,
        created_at=now,
        updated_at=now,
        exported=False,
        imported=False,
    )
    new_wallet = await signer.restore_wallet(
        organization_id=organization_id,
        data_key=data_key,
        wallet_id=wallet.wallet_id,
        mnemonic=requested.mnemonic,
        accounts=requested.accounts,
    )
    names = requested.account_names or (None,) * len(new_wallet.accounts)
    accounts = tuple(
        account_record(new_id(), organization_id, wallet.wallet_id, derived, name, now)
        for derived, name in zip(new_wallet.accounts, names, strict=True)
    )
    attachments: list[Attachment] = [SealedSecret(wallet.wallet_id, MNEMONIC_PURPOSE, new_wallet.sealed_mnemonic)]
    attachments += [NewAccount(account, comparison_form(account.curve, account.path)) for account in accounts]
    return wallet, accounts, attachments


async def _development_proxy(
    signer: LocalSigner, params: OrganizationParams, data_key: Sealed, now: Timestamp, new_id: Callable[[], str]
) -> list[Record]:
    proxy_id = new_id()
    proxy, user, policy = new_auth_proxy(
        proxy_id,
        new_id(),
        new_id(),
        await signer.new_auth_proxy_key(
            organization_id=params.organization_id, data_key=data_key, proxy_id=proxy_id
        ),
        AuthProxySettings(app_name=params.organization_name, allowed_origins=(ANY_ORIGIN,), otp_alphanumeric=False),
        now,
    )
    return [proxy, user, policy]


DEVELOPMENT_WALLET = WalletOfMnemonic(
    name="Development",
    mnemonic=DEVELOPMENT_MNEMONIC,
    accounts=tuple(
        AccountRequest(
            curve=Curve.SECP256K1,
            path_format=PathFormat.BIP32,
            path=f"m/44'/60'/0'/0/{index}",
            address_format=AddressFormat.ETHEREUM,
        )
        for index in range(DEVELOPMENT_ACCOUNTS)
    ),
)
