"""The rules of users: that each can authenticate.

Not here: the credentials themselves (`credentials`), and MFA policies (`operations.users.mfa_policies`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from keystead.api.enums import FeatureName
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.records import User
from keystead.organizations.credentials.credentials import has_lasting_credential
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Organization


def can_authenticate(user: User, contacts: AccountContacts, features: Container[str]) -> bool:
    """Whether the user can authenticate, now and later.

    `contacts`: the user's account contacts; nobody logs in with another contact. `features`: those of the
    organization.
    """
    by_email = contacts.email and (FeatureName.OTP_EMAIL_AUTH in features or FeatureName.EMAIL_AUTH in features)
    by_phone = contacts.phone_number and FeatureName.SMS_AUTH in features
    return bool(has_lasting_credential(user) or by_email or by_phone)


def check_can_authenticate(user: User, contacts: AccountContacts, features: Container[str], field: str) -> None:
    """Raise InvalidRequest unless the user can authenticate, as in `can_authenticate`."""
    if not can_authenticate(user, contacts, features):
        raise InvalidRequest(
            f"user missing valid credential: field `{field}`: {user.user_name!r} needs an API key that does not "
            "expire, an authenticator, an OAuth provider, a wallet authenticator, or a contact that is verified or "
            "that a user of the parent wrote, with its feature for logins by code"
        )


def requested_users(organization: Organization, user_id: str | None) -> list[User]:
    """The user of this id; all users in order of creation if the id is None or "". Raises NotFound."""
    return [organization.record(Users, user_id)] if user_id else organization.users.in_order()


def check_held(asked: Iterable[str], held: Iterable[str], what: str, user: User) -> None:
    """Raise NotFound for the first id that is not one of the user's."""
    known = frozenset(held)
    for id_ in asked:
        if id_ not in known:
            raise NotFound(f"unable to find {what} {id_} of user {user.user_id}")
