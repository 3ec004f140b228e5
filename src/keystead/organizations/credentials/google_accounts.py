"""What an ID token of Google proves besides an identity: that the person has an e-mail address. Pure.

Here: whose address it proves, and for which client ids the proof is accepted. Not here: verifying tokens
(`identities`), the evidence for a contact (`contacts.contact_evidence`), the operations that use it
(`operations.users.oauth_providers`, `operations.logins.google_linking`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.enums import OtpType
from keystead.api.records import User
from keystead.organizations.contacts.account_contacts import has_contact
from keystead.organizations.contacts.contact_evidence import GOOGLE
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.organization import Organization

_GMAIL: Final = "@gmail.com"
"""Google assigns the addresses of this domain. For other addresses it only checked once that somebody read a
message."""


def proves_email_of(identity: ProvenIdentity, user: User) -> bool:
    """Whether Google has verified the address that the user has."""
    email = identity.email
    return identity.iss == GOOGLE and email is not None and has_contact(user, OtpType.EMAIL, email)


def client_ids_of(parent: Organization) -> frozenset[str]:
    """The client ids that the authentication proxies of this parent name. Only tokens for these client ids are
    accepted, because the operator of any other application has tokens of its users, and could send them here."""
    return frozenset(
        client_id
        for proxy in parent.auth_proxies.values()
        for client_id in (*proxy.settings.social_linking_client_ids, *proxy.settings.oauth_client_ids.values())
    )


def linked_email(identity: ProvenIdentity, settings: AuthProxySettings) -> str | None:
    """The address whose verified user may get this identity at a login; None if no user may."""
    email = identity.email
    if identity.iss != GOOGLE or email is None or not email.endswith(_GMAIL):
        return None
    return email if identity.aud in settings.social_linking_client_ids else None
