"""Which key `signWith` names: a wallet account or a private key by its address, a private key by its id.

Here: the look-up, and the key's values for policies and parsers. Not here: what is signed (`signing`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.api.enums import AddressFormat
from keystead.api.errors import NotFound
from keystead.api.identifiers import UUID_PATTERN
from keystead.api.records import PrivateKey, Wallet, WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms, stored_form
from keystead.chains.curves import decode_public_key
from keystead.chains.transaction import Party
from keystead.operations.wallets import derived_accounts
from keystead.operations.wallets.private_keys import private_key_keywords, wallet_account_keywords, wallet_keywords
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.memory_size import measured_bytes
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource
from keystead.pipeline.signer_values import SigningKey

_ID = re.compile(UUID_PATTERN)


class NamedKey(msgspec.Struct, frozen=True):
    """A key that can sign, in three forms: for the signer, for parsers, and as keywords of policies."""

    key: SigningKey
    party: Party
    keywords: Mapping[str, Any]


async def key_named(source: ContextSource, sign_with: str) -> NamedKey:
    """The key that `sign_with` names. Raises NotFound.

    If several keys have the address, it names the oldest one. Hex and bech32 may be in upper or lower case. Each
    change of a key makes a new version of the organization, so the cache keeps a key for one version.
    """
    organization = source.organization
    cached = (organization.id, organization.version, sign_with)
    named: NamedKey | None = source.cache.keys.get(cached)
    if named is None:
        named = await _read_key(source, sign_with)
        source.cache.keys.put(cached, named, measured_bytes(named))
    return named


async def _read_key(source: ContextSource, sign_with: str) -> NamedKey:
    organization = source.organization
    if _ID.match(sign_with):
        private_key = organization.private_keys.get(sign_with)
        account = None
    else:
        forms = [organization.private_keys.oldest_with_address(form) for form in possible_forms(sign_with)]
        private_key = min(
            (organization.private_keys[id_] for id_ in forms if id_ is not None),
            key=lambda key: key.private_key_id,
            default=None,
        )
        stored = await source.store.accounts.with_address(organization.id, sign_with)
        account = None if stored is None else stored.account
    if account is not None and (private_key is None or account.wallet_account_id < private_key.private_key_id):
        wallet = organization.wallets.get(account.wallet_id)
        if wallet is None:
            raise _not_found(organization, sign_with)
        return _named_account(account, wallet, await derived_accounts.sealed_mnemonic(source, wallet))
    if private_key is None:
        raise _not_found(organization, sign_with)
    return _named_private_key(
        private_key, sign_with, await derived_accounts.sealed_private_key(source, private_key)
    )


def _not_found(organization: Organization, sign_with: str) -> NotFound:
    return NotFound(
        "Could not find any resource to sign with: field `parameters.signWith`: "
        f"organization {organization.id} has no wallet account or private key with the address {sign_with!r}, and "
        "no private key with this id"
    )


def _named_account(account: WalletAccount, wallet: Wallet, sealed: Sealed) -> NamedKey:
    key = derived_accounts.account_key(account, sealed)
    return NamedKey(
        key=key,
        party=_party(account, key.public_key, account.address_format, account.address),
        keywords={"wallet": wallet_keywords(wallet), "wallet_account": wallet_account_keywords(account)},
    )


def _named_private_key(key: PrivateKey, sign_with: str, sealed: Sealed) -> NamedKey:
    forms = possible_forms(sign_with)
    named = next((held for held in key.addresses if stored_form(held.format, held.address) in forms), None)
    signing = derived_accounts.standalone_key(key, sealed)
    return NamedKey(
        key=signing,
        party=_party(
            key,
            signing.public_key,
            named.format if named else None,
            named.address if named else None,
        ),
        keywords={"private_key": private_key_keywords(key)},
    )


def _party(
    key: WalletAccount | PrivateKey, encoded: bytes, address_format: AddressFormat | None, address: str | None
) -> Party:
    public = decode_public_key(key.curve, encoded)
    return Party(
        curve=key.curve,
        compressed=public.compressed,
        uncompressed=public.uncompressed,
        address_format=address_format,
        address=address,
    )
