"""Which credentials of a request another sub-organization of the same tree holds.

Here: the look-up before an operation that registers credentials. Not here: the rule about its result
(`organizations.credentials.credentials.check_not_held_by_siblings`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.parameters import ApiKeyParamsV2, AuthenticatorParamsV2, WalletAuthenticatorParams
from keystead.identities.tokens import claimed_identity
from keystead.organizations.credentials.api_keys import normalized_public_key
from keystead.organizations.credentials.authenticators import normalized_credential_id
from keystead.organizations.credentials.wallet_authenticators import claimed_values
from keystead.organizations.lookups import LookupKind, identity_lookup_value
from keystead.pipeline.context import ForeignReads, ForeignSource

HeldBySiblings = frozenset[str]
"""Public keys, credential ids, wallets and identities that another sub-organization of the same tree holds."""


async def held_by_siblings(
    source: ForeignSource,
    api_keys: Iterable[ApiKeyParamsV2] = (),
    authenticators: Iterable[AuthenticatorParamsV2] = (),
    wallets: Iterable[WalletAuthenticatorParams] = (),
) -> HeldBySiblings:
    """The keys, credential ids and wallets among these that a sibling holds.

    In an organization without a parent: that one of its sub-organizations holds. A login that names the parent
    looks there first, so a user of the parent who registered the key of somebody in a sub-organization would get
    that person's logins.
    """
    organization = source.organization
    parent_id = organization.profile.parent_id or organization.id
    return await _held(source.store, parent_id, organization.id, api_keys, authenticators, wallets)


async def held_by_suborganizations(
    store: ForeignReads,
    parent_id: str,
    api_keys: Iterable[ApiKeyParamsV2],
    authenticators: Iterable[AuthenticatorParamsV2],
    wallets: Iterable[WalletAuthenticatorParams],
    id_tokens: Iterable[str],
) -> HeldBySiblings:
    """The keys, credential ids, wallets and identities among these that any sub-organization of the parent holds.

    `id_tokens`: they are not verified yet.
    """
    return await _held(store, parent_id, parent_id, api_keys, authenticators, wallets, id_tokens)


async def _held(
    store: ForeignReads,
    parent_id: str,
    organization_id: str,
    api_keys: Iterable[ApiKeyParamsV2],
    authenticators: Iterable[AuthenticatorParamsV2],
    wallets: Iterable[WalletAuthenticatorParams],
    id_tokens: Iterable[str] = (),
) -> HeldBySiblings:
    """The keys, credential ids, wallets and identities among these that sub-organizations of the parent hold,
    except the one with the id `organization_id`."""
    values_by_kind = {
        LookupKind.PUBLIC_KEY: [normalized_public_key(key.public_key) for key in api_keys],
        LookupKind.CREDENTIAL_ID: [
            normalized_credential_id(params.attestation.credential_id) for params in authenticators
        ],
        LookupKind.WALLET: claimed_values(wallets),
        LookupKind.OAUTH_IDENTITY: [
            identity_lookup_value(claimed.iss, claimed.aud, claimed.sub)
            for claimed in map(claimed_identity, id_tokens)
            if claimed is not None
        ],
    }
    found_values: set[str] = set()
    for kind, values in values_by_kind.items():
        if values:
            found_values.update(
                await store.suborganizations.held_by_siblings(parent_id, organization_id, kind, values)
            )
    return frozenset(found_values)
