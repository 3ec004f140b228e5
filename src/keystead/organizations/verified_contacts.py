"""Which contacts of a user are verified, as the user and the contacts change. Pure.

Not here: verification tokens (`sessions`), who may present one (`operations.verified_contacts`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.api.records import User
from keystead.organizations.kinds.verified_contacts import VerifiedContacts, VerifiedContactsMap
from keystead.organizations.organization import Change, Organization, Put, Remove


def has_contact(user: User, otp_type: OtpType, contact: str) -> bool:
    """Whether this is the user's e-mail address or phone number. `contact`: normalized."""
    if otp_type is OtpType.EMAIL:
        return user.user_email is not None and user.user_email.lower() == contact.lower()
    return user.user_phone_number == contact


def contact_verified(organization: Organization, user: User, otp_type: OtpType) -> tuple[Change, ...]:
    """The change that marks the user's own contact of this type as verified; none if it is marked already."""
    marked = organization.of(VerifiedContactsMap).get(user.user_id) or VerifiedContacts(user_id=user.user_id)
    if otp_type is OtpType.EMAIL:
        changed = replace(marked, email=user.user_email)
    else:
        changed = replace(marked, phone_number=user.user_phone_number)
    return () if changed == marked else (Put(changed),)


def contacts_changed(organization: Organization, user: User) -> tuple[Change, ...]:
    """The change that keeps only what is still true of the user, who is as after a change."""
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
    return (Remove(VerifiedContacts, user_id),) if user_id in organization.of(VerifiedContactsMap) else ()
