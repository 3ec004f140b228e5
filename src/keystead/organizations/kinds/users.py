"""Users, with their credentials and passkeys: look-ups by credential, and the limits of each user."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from keystead.api.records import ApiKey, Authenticator, OauthProvider, User, WalletAuthenticator
from keystead.organizations.limits import Limit
from keystead.organizations.lookups import Lookup, user_lookups
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.record_map import RecordMap
from keystead.sessions.wallet_tokens import WalletClaim


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """`rp_id_hash` is the SHA-256 of the relying party that the authenticator was registered for."""

    authenticator_id: str
    rp_id_hash: bytes


class Passkeys(RecordMap[Passkey], frozen=True):
    stored_name = "passkey"
    record = Passkey
    id_field = "authenticator_id"


USERS = Limit(name="users", default=10_000, description="Most users of an organization.", called="users")
AUTHENTICATORS = Limit(
    name="authenticators_per_user",
    default=10,
    description="Most authenticators of a user.",
    called="authenticators of one user",
)
LONG_LIVED_API_KEYS = Limit(
    name="long_lived_api_keys_per_user",
    default=10,
    description="Most API keys without expiry of a user.",
    called="long-lived API keys of one user",
)
EXPIRING_API_KEYS = Limit(
    name="expiring_api_keys_per_user",
    default=10,
    description="Most expiring API keys of a user; one more replaces the oldest.",
    called="expiring API keys of one user",
)
SESSION_SECONDS = Limit(
    name="session_seconds",
    default=30 * 24 * 3600,
    description="Most seconds that a session may last.",
    called="seconds of a session",
)
OAUTH_PROVIDERS = Limit(
    name="oauth_providers_per_user",
    default=10,
    description="Most OAuth identities of a user.",
    called="OAuth identities of one user",
)
WALLET_AUTHENTICATORS = Limit(
    name="wallet_authenticators_per_user",
    default=10,
    description="Most wallet authenticators of a user.",
    called="wallet authenticators of one user",
)
MFA_POLICIES = Limit(
    name="mfa_policies_per_user",
    default=10,
    description="Most MFA policies of a user.",
    called="MFA policies of one user",
)
MFA_POLICY_CHARACTERS = Limit(
    name="mfa_policy_characters_per_user",
    default=10_000,
    description="Most characters of the conditions of a user's MFA policies.",
    called="characters of one user's MFA policies",
)
USER_BYTES = Limit(
    name="user_bytes",
    default=65_536,
    description="Most bytes of a user's record with its credentials, tags and MFA policies, as JSON.",
    called="bytes of one user",
)

_HOLDER_BYTES = 180
"""Bytes of one entry in an index of credentials, with its tuple."""


class Users(RecordMap[User], frozen=True):
    """The users, with these indexes:

    - `by_public_key`: from the public key of an API key to its user's id and the key;
    - `by_credential_id`: from a passkey's credential id to its user's id and the passkey;
    - `authenticators`: from an authenticator's id to the authenticator;
    - `by_identity`: from issuer, audience and subject of an OAuth identity to its user's id and its record;
    - `by_wallet`: from a wallet and the domain at which it logs in to its user's id and its record.

    There is no index of the contacts in these records, because anybody may write any contact: see
    `account_contacts`.
    """

    stored_name = "user"
    record = User
    id_field = "user_id"
    limits = (
        USERS,
        AUTHENTICATORS,
        LONG_LIVED_API_KEYS,
        EXPIRING_API_KEYS,
        SESSION_SECONDS,
        OAUTH_PROVIDERS,
        WALLET_AUTHENTICATORS,
        MFA_POLICIES,
        MFA_POLICY_CHARACTERS,
        USER_BYTES,
    )
    has_index = True

    by_public_key: PersistentMap[str, tuple[str, ApiKey]] = PersistentMap()
    by_credential_id: PersistentMap[str, tuple[str, Authenticator]] = PersistentMap()
    authenticators: PersistentMap[str, Authenticator] = PersistentMap()
    by_identity: PersistentMap[tuple[str, str, str], tuple[str, OauthProvider]] = PersistentMap()
    by_wallet: PersistentMap[WalletClaim, tuple[str, WalletAuthenticator]] = PersistentMap()

    @classmethod
    def _bytes(cls, record: User) -> int:
        credentials = len(record.api_keys) + 2 * len(record.authenticators) + len(record.oauth_providers)
        credentials += len(record.wallet_authenticators)
        return super()._bytes(record) + _HOLDER_BYTES * credentials

    @classmethod
    def lookups(cls, record: User) -> frozenset[Lookup]:
        return user_lookups(record)

    def _index(self, record: User) -> Users:
        keys, holders, authenticators = self.by_public_key, self.by_credential_id, self.authenticators
        for api_key in record.api_keys:
            keys = keys.set(api_key.credential.public_key, (record.user_id, api_key))
        for authenticator in record.authenticators:
            holders = holders.set(authenticator.credential_id, (record.user_id, authenticator))
            authenticators = authenticators.set(authenticator.authenticator_id, authenticator)
        identities = self.by_identity
        for provider in record.oauth_providers:
            identities = identities.set(
                (provider.issuer, provider.audience, provider.subject), (record.user_id, provider)
            )
        wallets = self.by_wallet
        for wallet in record.wallet_authenticators:
            claim = WalletClaim(wallet.type, wallet.address, wallet.domain)
            wallets = wallets.set(claim, (record.user_id, wallet))
        return replace(
            self,
            by_public_key=keys,
            by_credential_id=holders,
            authenticators=authenticators,
            by_identity=identities,
            by_wallet=wallets,
        )

    def _unindex(self, record: User) -> Users:
        keys, holders, authenticators = self.by_public_key, self.by_credential_id, self.authenticators
        for api_key in record.api_keys:
            keys = keys.delete(api_key.credential.public_key)
        for authenticator in record.authenticators:
            holders = holders.delete(authenticator.credential_id)
            authenticators = authenticators.delete(authenticator.authenticator_id)
        identities = self.by_identity
        for provider in record.oauth_providers:
            identities = identities.delete((provider.issuer, provider.audience, provider.subject))
        wallets = self.by_wallet
        for wallet in record.wallet_authenticators:
            wallets = wallets.delete(WalletClaim(wallet.type, wallet.address, wallet.domain))
        return replace(
            self,
            by_public_key=keys,
            by_credential_id=holders,
            authenticators=authenticators,
            by_identity=identities,
            by_wallet=wallets,
        )
