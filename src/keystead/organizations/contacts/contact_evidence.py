"""What entitles a contact to find the account of its user: a proof, or that a user of the parent wrote it.

Anybody can write another person's address on record: at a sign-up, or in a sub-organization of their own. So a
contact finds an account only with evidence. Pure. Not here: verifying tokens and codes (`operations`,
`identities`), the records that evidence leads to (`account_contacts`).
"""

from __future__ import annotations

from collections.abc import Collection, Container

import msgspec

from keystead.api.enums import OtpType
from keystead.api.records import User
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.organization import Organization
from keystead.sessions.verification_tokens import VerificationToken

GOOGLE = "https://accounts.google.com"
"""The issuer whose verified e-mail addresses prove contacts."""


class ContactEvidence(msgspec.Struct, frozen=True):
    """Evidence for one contact, normalized. Only the functions of this module make it; a test checks this.

    `is_verified`: a code or an ID token proved the contact. Otherwise a user of the parent wrote it.
    """

    otp_type: OtpType
    contact: str
    is_verified: bool


def of_token(token: VerificationToken) -> ContactEvidence:
    """The evidence of a verification token whose signature and time were verified."""
    return ContactEvidence(token.otp_type, normalized_contact(token.otp_type, token.contact), is_verified=True)


def of_used_code(code: OneTimeCode) -> ContactEvidence:
    """The evidence of a code after the attempt that used it."""
    assert code.used_at_ms is not None, "a code that nobody typed proves nothing"
    return ContactEvidence(code.otp_type, normalized_contact(code.otp_type, code.contact), is_verified=True)


def of_google(identity: ProvenIdentity, client_ids: Container[str] | None) -> tuple[ContactEvidence, ...]:
    """The evidence of an ID token of Google with a verified e-mail address; none for any other token.

    `client_ids`: the client ids for which a token is accepted; None accepts any, if the submitter is responsible
    for the identities.
    """
    if identity.iss != GOOGLE or identity.email is None:
        return ()
    if client_ids is not None and identity.aud not in client_ids:
        return ()
    return (ContactEvidence(OtpType.EMAIL, normalized_contact(OtpType.EMAIL, identity.email), is_verified=True),)


def of_writing(
    writer_id: str, organization: Organization, user: User, written: Collection[OtpType] = tuple(OtpType)
) -> tuple[ContactEvidence, ...]:
    """The evidence that a user wrote the contacts of `user` that are of the types in `written`.

    `organization`: that of the writer. `user` belongs to it or to one of its sub-organizations.

    There is none if it is a sub-organization, which writes about itself, or if the writer is an authentication
    proxy, which passes on what anybody claims.
    """
    is_parent = organization.profile.parent_id is None
    if not is_parent or writer_id not in organization.users or writer_id in organization.auth_proxies:
        return ()
    return tuple(one for one in of_operator(user) if one.otp_type in written)


def of_operator(user: User) -> tuple[ContactEvidence, ...]:
    """The evidence that the operator wrote the contacts of a user, with a command at the machine."""
    contacts = ((OtpType.EMAIL, user.user_email), (OtpType.SMS, user.user_phone_number))
    return tuple(
        ContactEvidence(otp_type, normalized_contact(otp_type, contact), is_verified=False)
        for otp_type, contact in contacts
        if contact
    )
