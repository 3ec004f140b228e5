"""The kinds of credentials, and the rules for all of them: which users may have one, and whether one lasts.

Not here: API keys (`api_keys`), passkeys (`authenticators`), OAuth identities (`oauth_providers`), wallets
(`wallet_authenticators`), and which user a credential proves (`principals`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final, TypeAlias

import msgspec

from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, Authenticator, OauthProvider, User, WalletAuthenticator

UserCredential: TypeAlias = ApiKey | Authenticator | OauthProvider | WalletAuthenticator
"""A credential that is registered in a user's record, or the key of a session."""


class CredentialKind(msgspec.Struct, frozen=True):
    """A kind of credential of users.

    `field`: the field of a user with the list of them. `id_field`: the field of a credential with its id. `called`:
    the name of such a credential in errors.
    """

    field: str
    id_field: str
    called: str

    def held_by(self, user: User) -> tuple[UserCredential, ...]:
        """The user's credentials of this kind."""
        held: tuple[UserCredential, ...] = getattr(user, self.field)
        return held

    def by_id(self, user: User) -> dict[str, UserCredential]:
        """The user's credentials of this kind, each with its id."""
        return {getattr(credential, self.id_field): credential for credential in self.held_by(user)}


API_KEYS = CredentialKind("api_keys", "api_key_id", "API key")
AUTHENTICATORS = CredentialKind("authenticators", "authenticator_id", "authenticator")
OAUTH_PROVIDERS = CredentialKind("oauth_providers", "provider_id", "OAuth provider")
WALLET_AUTHENTICATORS = CredentialKind("wallet_authenticators", "wallet_authenticator_id", "wallet authenticator")

CREDENTIAL_KINDS: Final = (API_KEYS, AUTHENTICATORS, OAUTH_PROVIDERS, WALLET_AUTHENTICATORS)
"""Every kind. What holds for all credentials asks this table, so that it cannot leave a kind out."""


def credentials_by_id(user: User) -> dict[str, UserCredential]:
    """Every credential of the user, keys of sessions included, by the id under which it stamps."""
    return {id_: credential for kind in CREDENTIAL_KINDS for id_, credential in kind.by_id(user).items()}


def check_not_held_by_siblings(held: Container[str], values: Iterable[str]) -> None:
    """Raise InvalidRequest if one of these public keys, credential ids and wallets is in `held`: another
    sub-organization of the same parent has it.

    Two sub-organizations with one key make every look-up by that key ambiguous (`whoami`, log-in), so a user who
    registers the key of somebody else could make that key useless for its owner. A user of the parent may give one
    key to several sub-organizations by creating them with it; the users of a sub-organization may not.
    """
    for value in values:
        if value in held:
            raise InvalidRequest(
                f"credential {value} is held in another sub-organization of the same parent: only a user of the "
                "parent can give it to a second one, in create_sub_organization",
                machine_code="CREDENTIAL_CONFLICT",
            )


_REGISTERED_KEYS = frozenset(
    {CredentialType.API_KEY_P256, CredentialType.API_KEY_SECP256K1, CredentialType.API_KEY_ED25519}
)


def is_session_key(credential: UserCredential) -> bool:
    """Whether another credential or a contact began a session with this key, or recovers a user with it."""
    return isinstance(credential, ApiKey) and credential.credential.type not in _REGISTERED_KEYS


def registered_credential_ids(user: User) -> frozenset[str]:
    """The ids of the credentials that were registered for the user. The keys of sessions are not among them: a
    login made each of them from another credential, or from a contact."""
    return frozenset(id_ for id_, credential in credentials_by_id(user).items() if not is_session_key(credential))


def has_lasting_credential(user: User) -> bool:
    """Whether the user can authenticate at any later time: an expiring API key alone does not count."""
    return any(
        not isinstance(credential, ApiKey) or credential.expiration_seconds is None
        for kind in CREDENTIAL_KINDS
        for credential in kind.held_by(user)
    )
