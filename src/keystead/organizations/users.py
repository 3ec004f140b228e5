"""The rules of users and their tags: who may be added, and that each can authenticate.

Not here: the credentials themselves (`credentials`), and MFA policies (`mfa_policies`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.records import User
from keystead.organizations.credentials import has_lasting_credential
from keystead.organizations.organization import Organization


def user_named(organization: Organization, user_id: str) -> User:
    """The user of this id. Raises NotFound."""
    user = organization.users.get(user_id)
    if user is None:
        raise NotFound(f"unable to find user {user_id} in organization {organization.id}")
    return user


def check_user(user: User, organization: Organization, field: str) -> None:
    """Raise InvalidRequest unless the user can authenticate, and NotFound if a tag of theirs does not exist."""
    login_by_message = "FEATURE_NAME_OTP_EMAIL_AUTH" in organization.profile.features and user.user_email
    login_by_message = login_by_message or (
        "FEATURE_NAME_SMS_AUTH" in organization.profile.features and user.user_phone_number
    )
    if not has_lasting_credential(user) and not login_by_message:
        raise InvalidRequest(
            f"user missing valid credential: field `{field}`: {user.user_name!r} needs an API key that does not "
            "expire, an authenticator or an OAuth provider"
        )
    check_tags(organization, user.user_tags, f"{field}.userTags")


def check_tags(organization: Organization, tag_ids: Iterable[str], field: str) -> None:
    """Raise NotFound for the first id that is no tag of this organization."""
    for tag_id in tag_ids:
        if tag_id not in organization.tags:
            raise NotFound(f"field `{field}`: unable to find tag {tag_id} in organization {organization.id}")
