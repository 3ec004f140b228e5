"""What an ID token of Google proves besides an identity: that the person has an e-mail address. Pure.

Here: which user's address it proves, and for which client ids the proof is accepted. Not here: verifying tokens
(`identities`), the operations that use it (`operations.oauth_providers`, `operations.google_linking`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from keystead.api.enums import OtpType
from keystead.api.records import User
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.organization import Change, Organization
from keystead.organizations.verified_contacts import changes_for_verified_contact, has_contact

GOOGLE: Final = "https://accounts.google.com"
"""The issuer whose verified e-mail addresses prove contacts."""

_GMAIL: Final = "@gmail.com"
"""Google assigns the addresses of this domain. For other addresses it only checked once that somebody read a
message."""


def proves_email_of(identity: ProvenIdentity, user: User) -> bool:
    """Whether Google has verified the address that the user has."""
    email = identity.email
    return identity.iss == GOOGLE and email is not None and has_contact(user, OtpType.EMAIL, email)


def changes_for_google_email(
    organization: Organization,
    user: User,
    identities: Iterable[ProvenIdentity],
    client_ids: Container[str] | None,
) -> tuple[Change, ...]:
    """The change that marks the user's e-mail address as verified, if one of these identities proves it.

    `client_ids`: the client ids for which a token is accepted; None accepts any, if the submitter is responsible
    for the identities.
    """
    for identity in identities:
        if proves_email_of(identity, user) and (client_ids is None or identity.aud in client_ids):
            return changes_for_verified_contact(organization, user, OtpType.EMAIL)
    return ()


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
