"""Bootstrap: an installation's first organization, its root user with an API key, the server's own keys.

Here: the records, written in one transaction. Not here: the commands that call this (`cli`).

Bootstrap does not use the pipeline: no organization exists whose user could submit it, and no policy that could
authorize it. Its caller is the operator, who has the database and the master key. It leaves no activity.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from keystead.api.enums import AddressFormat, ApiKeyCurve, Curve, PathFormat
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import Timestamp, User, Wallet, WalletAccount
from keystead.api.rendering import encode
from keystead.chains.paths import comparison_form
from keystead.operations.auth_proxies import new_auth_proxy
from keystead.operations.derived_accounts import account_record
from keystead.organizations.attachments import MNEMONIC_PURPOSE, Attachment, NewAccount, SealedSecret
from keystead.organizations.contacts import check_email
from keystead.organizations.credentials import new_api_key
from keystead.organizations.kinds.auth_proxies import ANY_ORIGIN, AuthProxies, AuthProxySettings
from keystead.organizations.kinds.data_key import DataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.lookups import user_lookups
from keystead.organizations.organization import Organization, Record, Version, from_records
from keystead.pipeline.ports import AccountRequest
from keystead.server.opening import MODE
from keystead.signer.local import LocalSigner
from keystead.signer.master_keys import Master
from keystead.storage.base import DatabaseStore

DEVELOPMENT_MNEMONIC = "test test test test test test test test test test test junk"
"""The public test mnemonic of local Ethereum nodes, which fund its first accounts."""

DEVELOPMENT_ACCOUNTS = 5


class FirstOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """The first organization and its root user. `api_public_key`: P-256, compressed, hex."""

    organization_id: str
    organization_name: str
    user_id: str
    user_name: str
    user_email: str | None
    api_key_name: str
    api_public_key: str


class Bootstrapped(msgspec.Struct, frozen=True, kw_only=True):
    organization: Organization
    user: User
    accounts: tuple[WalletAccount, ...]


async def bootstrap(
    store: DatabaseStore,
    *,
    mode: Literal["dev", "serve"],
    master_key: Master,
    first: FirstOrganization,
    now_ms: int,
    new_id: Callable[[], str],
    entropy: Callable[[int], bytes] = secrets.token_bytes,
) -> Bootstrapped | None:
    """Write the first organization. Returns None and changes nothing if the database holds one already.

    Mode "dev" adds the wallet "Development" and an authentication proxy that pages of any origin may call.
    `entropy(n)` returns n random bytes for the server's own keys; a development server with a seed passes its own.
    Raises InvalidRequest for a malformed name, e-mail address or key.
    """
    signer = LocalSigner(master_key, entropy=entropy)
    now = Timestamp.from_ms(now_ms)
    organization_id = first.organization_id
    user = User(
        user_id=first.user_id,
        user_name=first.user_name,
        authenticators=(),
        api_keys=(
            new_api_key(
                ApiKeyParamsV2(
                    api_key_name=first.api_key_name,
                    public_key=first.api_public_key,
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
        user_email=check_email(first.user_email, "user email") if first.user_email else None,
    )
    data_key = DataKey(await signer.new_data_key(organization_id))
    records: list[Record] = [
        Profile(name=first.organization_name, root_quorum=RootQuorum(1, (user.user_id,)), created_at=now),
        data_key,
        user,
    ]
    lookups = user_lookups(user)
    attachments: list[Attachment] = []
    accounts: list[WalletAccount] = []
    if mode == "dev":
        wallet = Wallet(
            wallet_id=new_id(),
            wallet_name="Development",
            created_at=now,
            updated_at=now,
            exported=False,
            imported=False,
        )
        requests = _development_accounts()
        made = await signer.restore_wallet(
            organization_id=organization_id,
            data_key=data_key.sealed,
            wallet_id=wallet.wallet_id,
            mnemonic=DEVELOPMENT_MNEMONIC,
            accounts=requests,
        )
        accounts = [
            account_record(new_id(), organization_id, wallet.wallet_id, derived, None, wallet.created_at)
            for derived in made.accounts
        ]
        records.append(wallet)
        attachments.append(SealedSecret(wallet.wallet_id, MNEMONIC_PURPOSE, made.sealed_mnemonic))
        attachments += [NewAccount(account, comparison_form(account.curve, account.path)) for account in accounts]
        proxy_id = new_id()
        proxy, proxy_user, policy = new_auth_proxy(
            proxy_id,
            new_id(),
            new_id(),
            await signer.new_auth_proxy_key(
                organization_id=organization_id, data_key=data_key.sealed, proxy_id=proxy_id
            ),
            AuthProxySettings(
                app_name=first.organization_name, allowed_origins=(ANY_ORIGIN,), otp_alphanumeric=False
            ),
            now,
        )
        records += [proxy, proxy_user, policy]
        lookups |= user_lookups(proxy_user) | AuthProxies.lookups(proxy)
    organization = from_records(organization_id, Version(1, new_id()), records)
    written = await store.bootstrap(
        organization,
        attachments,
        lookups,
        {
            MODE: mode.encode(),
            **{name: encode(value) for name, value in signer.new_installation_keys().values().items()},
        },
    )
    return Bootstrapped(organization=organization, user=user, accounts=tuple(accounts)) if written else None


def _development_accounts() -> Sequence[AccountRequest]:
    return [
        AccountRequest(
            curve=Curve.SECP256K1,
            path_format=PathFormat.BIP32,
            path=f"m/44'/60'/0'/0/{index}",
            address_format=AddressFormat.ETHEREUM,
        )
        for index in range(DEVELOPMENT_ACCOUNTS)
    ]
