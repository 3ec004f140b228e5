"""Which contacts of users are verified, and which users have a contact. Pure.

Not here: verification tokens (`sessions`), who may present one (`operations.verification_tokens`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import FeatureName, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.kinds.verified_contacts import VerifiedContacts, VerifiedContactsMap
from keystead.organizations.organization import Change, Organization, Put, Remove


def has_contact(user: User, otp_type: OtpType, contact: str) -> bool:
    """Whether this is the user's e-mail address or phone number. `contact`: normalized."""
    if otp_type is OtpType.EMAIL:
        return user.user_email is not None and user.user_email.lower() == contact.lower()
    return user.user_phone_number == contact


def users_with_contact(organization: Organization, otp_type: OtpType, contact: str) -> list[User]:
    """The users who verified this contact. If no user verified it, all users who have it. Oldest first."""
    users = organization.users
    if otp_type is OtpType.EMAIL:
        ids = users.by_email.get(contact.lower(), ())
    else:
        ids = users.by_phone_number.get(contact, ())
    found = [users[id_] for id_ in ids]
    return [user for user in found if is_verified(organization, user, otp_type)] or found


def is_verified(organization: Organization, user: User, otp_type: OtpType) -> bool:
    """Whether the user's own contact of this type is verified."""
    marked = organization.of(VerifiedContactsMap).get(user.user_id)
    return marked is not None and bool(marked.email if otp_type is OtpType.EMAIL else marked.phone_number)


def has_logins_by_code(organization: Organization, otp_type: OtpType) -> bool:
    """Whether the organization's users may log in by such a code."""
    return _FEATURES[otp_type] in organization.profile.features


def check_logins_by_code(organization: Organization, otp_type: OtpType) -> None:
    """Raise InvalidRequest unless the organization's users may log in by such a code."""
    if not has_logins_by_code(organization, otp_type):
        raise InvalidRequest(
            f"feature {_FEATURES[otp_type]} is not enabled in organization {organization.id}; "
            "set_organization_feature does it"
        )


_FEATURES = {OtpType.EMAIL: FeatureName.OTP_EMAIL_AUTH, OtpType.SMS: FeatureName.SMS_AUTH}


def contact_verified(organization: Organization, user: User, otp_type: OtpType) -> tuple[Change, ...]:
    """The change that marks the user's own contact of this type as verified; none if it is marked already."""
    marked = organization.of(VerifiedContactsMap).get(user.user_id) or VerifiedContacts(user_id=user.user_id)
    if otp_type is OtpType.EMAIL:
        changed = replace(marked, email=user.user_email)
    else:
        changed = replace(marked, phone_number=user.user_phone_number)
    return () if changed == marked else (Put(changed),)


def contacts_changed(organization: Organization, user: User) -> tuple[Change, ...]:
    """The change that removes contacts from the user's verified ones that the user no longer has. `user`: after the
    change."""
    marked = organization.of(VerifiedContactsMap).get(user.user_id)
    if marked is None:
        return ()
    kept = replace(
        marked,
        email=marked.email if has_contact(user, OtpType.EMAIL, marked.email or "") else None,
        phone_number=marked.phone_number if user.user_phone_number == marked.phone_number else None,
    )
    if kept == marked:
        return ()
    return (Put(kept),) if kept.email or kept.phone_number else user_removed(organization, user.user_id)


def user_removed(organization: Organization, user_id: str) -> tuple[Change, ...]:
    """The change that removes all verified contacts of this user; none if the user has none."""
    return (Remove(VerifiedContacts, user_id),) if user_id in organization.of(VerifiedContactsMap) else ()
