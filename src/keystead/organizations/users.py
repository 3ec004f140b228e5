"""The rules of users: that each can authenticate, and that the root quorum can reach its threshold.

Not here: the credentials themselves (`credentials`), and MFA policies (`operations.users.mfa_policies`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from keystead.api.enums import FeatureName
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.records import User
from keystead.organizations.credentials.credentials import has_lasting_credential
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.kinds.profile import RootQuorum
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


def new_quorum(
    organization_users: Iterable[str], threshold: int, user_ids: Sequence[str], field: str
) -> RootQuorum:
    """A root quorum of these users. Raises InvalidRequest unless they exist and can reach the threshold."""
    known = frozenset(organization_users)
    members = tuple(dict.fromkeys(user_ids))
    if missing := [user_id for user_id in members if user_id not in known]:
        raise InvalidRequest(
            f"quorum users missing: field `{field}.userIds`: there is no user {missing[0]} in this organization"
        )
    if not 1 <= threshold <= len(members):
        raise InvalidRequest(
            f"quorum threshold must be non-zero integer: field `{field}.threshold`: {threshold}: expected 1 to "
            f"{len(members)}, the number of members"
        )
    return RootQuorum(threshold, members)


def check_not_in_quorum(organization: Organization, user_ids: Iterable[str]) -> None:
    """Raise InvalidRequest if a user to be deleted is in the root quorum."""
    for user_id in user_ids:
        if user_id in organization.profile.root_quorum.user_ids:
            raise InvalidRequest(
                f"quorum users missing: user {user_id} is in the root quorum; remove the user from it first "
                "(update_root_quorum)"
            )
