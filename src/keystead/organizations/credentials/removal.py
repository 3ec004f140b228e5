"""Removing credentials from a user, who must still be able to authenticate afterwards.

Here: the kinds of credentials and their removal. Not here: adding credentials (`credentials`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from keystead.api.records import Timestamp, User
from keystead.organizations.contacts.account_contacts import account_contacts_of
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Organization
from keystead.organizations.users import check_can_authenticate, check_held


class CredentialKind(msgspec.Struct, frozen=True):
    """A kind of credential of users.

    `field`: the field of a user with the list of them. `id_field`: the field of a credential with its id. `called`:
    the name of such a credential in errors.
    """

    field: str
    id_field: str
    called: str


API_KEYS = CredentialKind("api_keys", "api_key_id", "API key")
AUTHENTICATORS = CredentialKind("authenticators", "authenticator_id", "authenticator")
OAUTH_PROVIDERS = CredentialKind("oauth_providers", "provider_id", "OAuth provider")
WALLET_AUTHENTICATORS = CredentialKind("wallet_authenticators", "wallet_authenticator_id", "wallet authenticator")


def without_credentials(
    organization: Organization, user_id: str, kind: CredentialKind, ids: Iterable[str], now_ms: int
) -> tuple[User, tuple[str, ...]]:
    """The user without these credentials, and the ids, each once.

    Raises NotFound for a user or credential that does not exist, InvalidRequest if no lasting credential remains.
    """
    user, removed = organization.record(Users, user_id), tuple(dict.fromkeys(ids))
    held = {getattr(credential, kind.id_field): credential for credential in getattr(user, kind.field)}
    check_held(removed, held, kind.called, user)
    kept = tuple(credential for id_, credential in held.items() if id_ not in removed)
    changed: User = replace(user, **{kind.field: kept}, updated_at=Timestamp.from_ms(now_ms))
    contacts = account_contacts_of(organization, changed)
    check_can_authenticate(changed, contacts, organization.profile.features, "parameters")
    return changed, removed
