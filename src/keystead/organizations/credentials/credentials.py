"""The rules for credentials of every type: which users may have one, and whether a user has one that lasts.

Not here: API keys (`api_keys`), passkeys (`authenticators`), OAuth identities (`oauth_providers`), wallets
(`wallet_authenticators`), and which user a credential proves (`principals`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, User


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
                "parent can give it to this one, in create_sub_organization",
                machine_code="CREDENTIAL_CONFLICT",
            )


_REGISTERED_KEYS = frozenset(
    {CredentialType.API_KEY_P256, CredentialType.API_KEY_SECP256K1, CredentialType.API_KEY_ED25519}
)


def is_session_key(key: ApiKey) -> bool:
    """Whether another credential or a contact began a session with this key, or recovers a user with it."""
    return key.credential.type not in _REGISTERED_KEYS


def registered_credential_ids(user: User) -> frozenset[str]:
    """The ids of the credentials that were registered for the user. The keys of sessions are not among them: a
    login made each of them from another credential, or from a contact."""
    return frozenset(
        [
            *(key.api_key_id for key in user.api_keys if not is_session_key(key)),
            *(authenticator.authenticator_id for authenticator in user.authenticators),
            *(provider.provider_id for provider in user.oauth_providers),
            *(wallet.wallet_authenticator_id for wallet in user.wallet_authenticators),
        ]
    )


def has_lasting_credential(user: User) -> bool:
    """Whether the user can authenticate at any later time: an expiring API key alone does not count."""
    return bool(
        user.authenticators
        or user.oauth_providers
        or user.wallet_authenticators
        or any(key.expiration_seconds is None for key in user.api_keys)
    )
