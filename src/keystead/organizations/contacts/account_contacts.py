"""Which users a contact finds, and the one function that changes this. Pure.

Not here: what entitles a contact to find a user (`contact_evidence`), verification tokens (`sessions`), who may
present one (`operations.logins.verification_tokens`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, assert_never

from msgspec.structs import replace

from keystead.api.enums import FeatureName, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.contacts.contact_evidence import ContactEvidence
from keystead.organizations.kinds.account_contacts import AccountContacts, AccountContactsMap
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Change, Organization, Put, Remove

NOT_AN_ACCOUNT = (
    "no user proved it there, and no user of the parent wrote it; update_user_email and update_user_phone_number "
    "prove a contact with a verification token"
)
"""Why a contact finds nobody, for errors. It is the same if no user has the contact."""


def has_contact(user: User, otp_type: OtpType, contact: str) -> bool:
    """Whether this is the user's e-mail address or phone number. `contact`: normalized."""
    match otp_type:
        case OtpType.EMAIL:
            return user.user_email is not None and user.user_email.lower() == contact.lower()
        case OtpType.SMS:
            return user.user_phone_number == contact
        case _:
            assert_never(otp_type)


def users_found_by(organization: Organization, otp_type: OtpType, contact: str) -> list[User]:
    """The users whose account contact this is, oldest first. `contact`: normalized."""
    contacts = organization.of(AccountContactsMap)
    match otp_type:
        case OtpType.EMAIL:
            ids = contacts.by_email.get(contact.lower(), ())
        case OtpType.SMS:
            ids = contacts.by_phone_number.get(contact, ())
        case _:
            assert_never(otp_type)
    users = [organization.users[id_] for id_ in ids if id_ in organization.users]
    return [user for user in users if has_contact(user, otp_type, contact)]


def is_verified(organization: Organization, user: User, otp_type: OtpType) -> bool:
    """Whether a code or an ID token verified the user's own contact of this type."""
    contacts = account_contacts_of(organization, user)
    match otp_type:
        case OtpType.EMAIL:
            return bool(contacts.email) and contacts.email_verified
        case OtpType.SMS:
            return bool(contacts.phone_number) and contacts.phone_number_verified
        case _:
            assert_never(otp_type)


def account_contacts_of(
    organization: Organization, user: User, evidence: Iterable[ContactEvidence] = ()
) -> AccountContacts:
    """The account contacts of a user: those that are on record and that the user still has, and those of the user's
    contacts for which there is new evidence."""
    held = organization.of(AccountContactsMap).get(user.user_id) or AccountContacts(user_id=user.user_id)
    contacts = AccountContacts(user_id=user.user_id)
    if held.email and has_contact(user, OtpType.EMAIL, held.email):
        contacts = replace(contacts, email=held.email, email_verified=held.email_verified)
    if held.phone_number and has_contact(user, OtpType.SMS, held.phone_number):
        contacts = replace(
            contacts, phone_number=held.phone_number, phone_number_verified=held.phone_number_verified
        )
    for one in evidence:
        if has_contact(user, one.otp_type, one.contact):
            contacts = _with_evidence(contacts, user, one)
    return contacts


def contact_lookup_kind(
    otp_type: OtpType,
) -> Literal[LookupKind.ACCOUNT_EMAIL, LookupKind.ACCOUNT_PHONE_NUMBER]:
    """The kind of look-up that finds the account of a contact of this type."""
    match otp_type:
        case OtpType.EMAIL:
            return LookupKind.ACCOUNT_EMAIL
        case OtpType.SMS:
            return LookupKind.ACCOUNT_PHONE_NUMBER
        case _:
            assert_never(otp_type)


def has_logins_by_code(organization: Organization, otp_type: OtpType) -> bool:
    """Whether the organization's users may log in with codes of this type."""
    return _FEATURES[otp_type] in organization.profile.features


def check_logins_by_code(organization: Organization, otp_type: OtpType) -> None:
    """Raise InvalidRequest unless the organization's users may log in with codes of this type."""
    if not has_logins_by_code(organization, otp_type):
        raise InvalidRequest(
            f"feature {_FEATURES[otp_type]} is not enabled in organization {organization.id}; "
            "enable it with set_organization_feature"
        )


_FEATURES = {OtpType.EMAIL: FeatureName.OTP_EMAIL_AUTH, OtpType.SMS: FeatureName.SMS_AUTH}


def contact_changes(
    organization: Organization, user: User, evidence: Iterable[ContactEvidence]
) -> tuple[Change, ...]:
    """The change of the user's account contacts, for every request that writes contacts or proves them.

    `user`: as the request leaves it. A contact that the user no longer has is removed. A contact that the user has
    is added if there is evidence for it. Evidence for other contacts changes nothing.
    """
    before = organization.of(AccountContactsMap).get(user.user_id) or AccountContacts(user_id=user.user_id)
    after = account_contacts_of(organization, user, evidence)
    if after == before:
        return ()
    return (
        (Put(after),) if after.email or after.phone_number else changes_for_removed_user(organization, user.user_id)
    )


def _with_evidence(contacts: AccountContacts, user: User, evidence: ContactEvidence) -> AccountContacts:
    match evidence.otp_type:
        case OtpType.EMAIL:
            was_verified = bool(contacts.email) and contacts.email_verified
            return replace(contacts, email=user.user_email, email_verified=was_verified or evidence.is_verified)
        case OtpType.SMS:
            was_verified = bool(contacts.phone_number) and contacts.phone_number_verified
            return replace(
                contacts,
                phone_number=user.user_phone_number,
                phone_number_verified=was_verified or evidence.is_verified,
            )
        case _:
            assert_never(evidence.otp_type)


def changes_for_removed_user(organization: Organization, user_id: str) -> tuple[Change, ...]:
    """The change that removes all account contacts of this user; none if the user has none."""
    return (Remove(AccountContacts, user_id),) if user_id in organization.of(AccountContactsMap) else ()
