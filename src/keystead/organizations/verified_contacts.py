"""Which contacts of users are verified, and which users have a contact. Pure.

Not here: verification tokens (`sessions`), who may present one (`operations.verification_tokens`).
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from keystead.api.enums import FeatureName, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.kinds.verified_contacts import VerifiedContacts, VerifiedContactsMap
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Change, Organization, Put, Remove


def has_contact(user: User, otp_type: OtpType, contact: str) -> bool:
    """Whether this is the user's e-mail address or phone number. `contact`: normalized."""
    match otp_type:
        case OtpType.EMAIL:
            return user.user_email is not None and user.user_email.lower() == contact.lower()
        case OtpType.SMS:
            return user.user_phone_number == contact
        case _:
            assert_never(otp_type)


def users_with_contact(organization: Organization, otp_type: OtpType, contact: str) -> list[User]:
    """The users who verified this contact. If no user verified it, all users who have it. Oldest first."""
    users = organization.users
    match otp_type:
        case OtpType.EMAIL:
            ids = users.by_email.get(contact.lower(), ())
        case OtpType.SMS:
            ids = users.by_phone_number.get(contact, ())
        case _:
            assert_never(otp_type)
    holders = [users[id_] for id_ in ids]
    return [user for user in holders if is_verified(organization, user, otp_type)] or holders


def is_verified(organization: Organization, user: User, otp_type: OtpType) -> bool:
    """Whether the user's own contact of this type is verified."""
    verified = organization.of(VerifiedContactsMap).get(user.user_id) or VerifiedContacts(user_id=user.user_id)
    match otp_type:
        case OtpType.EMAIL:
            return bool(verified.email)
        case OtpType.SMS:
            return bool(verified.phone_number)
        case _:
            assert_never(otp_type)


def contact_lookup_kind(otp_type: OtpType) -> LookupKind:
    """The kind of look-up that finds the users who have a contact of this type."""
    match otp_type:
        case OtpType.EMAIL:
            return LookupKind.EMAIL
        case OtpType.SMS:
            return LookupKind.PHONE_NUMBER
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


def changes_for_verified_contact(organization: Organization, user: User, otp_type: OtpType) -> tuple[Change, ...]:
    """The change that marks the user's own contact of this type as verified; no change if it is marked already."""
    verified = organization.of(VerifiedContactsMap).get(user.user_id) or VerifiedContacts(user_id=user.user_id)
    match otp_type:
        case OtpType.EMAIL:
            changed = replace(verified, email=user.user_email)
        case OtpType.SMS:
            changed = replace(verified, phone_number=user.user_phone_number)
        case _:
            assert_never(otp_type)
    return () if changed == verified else (Put(changed),)


def changes_for_changed_contacts(organization: Organization, user: User) -> tuple[Change, ...]:
    """The change that removes verified contacts that the user no longer has. `user`: the user after the change of
    contacts."""
    verified = organization.of(VerifiedContactsMap).get(user.user_id)
    if verified is None:
        return ()
    kept = replace(
        verified,
        email=verified.email if has_contact(user, OtpType.EMAIL, verified.email or "") else None,
        phone_number=verified.phone_number if user.user_phone_number == verified.phone_number else None,
    )
    if kept == verified:
        return ()
    return (Put(kept),) if kept.email or kept.phone_number else changes_for_removed_user(organization, user.user_id)


def changes_for_removed_user(organization: Organization, user_id: str) -> tuple[Change, ...]:
    """The change that removes all verified contacts of this user; none if the user has none."""
    return (Remove(VerifiedContacts, user_id),) if user_id in organization.of(VerifiedContactsMap) else ()
