"""Rules that keep an organization governable: its root quorum exists and each user can authenticate.

Here: what must hold after a change of users, credentials or quorum. Not here: who may ask for it (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.organization import Organization, RootQuorum
from keystead.organizations.users import check_credential


def new_quorum(
    organization_users: Iterable[str], threshold: int, user_ids: Sequence[str], field: str
) -> RootQuorum:
    """A root quorum of these users. Raises InvalidRequest unless they exist and can reach the threshold."""
    known = frozenset(organization_users)
    members = tuple(dict.fromkeys(user_ids))
    if missing := [user_id for user_id in members if user_id not in known]:
        raise InvalidRequest(f"quorum users missing: field `{field}.userIds`: {missing[0]} is no user here")
    if not 1 <= threshold <= len(members):
        raise InvalidRequest(
            f"quorum threshold must be non-zero integer: field `{field}.threshold`: {threshold}: expected 1 to "
            f"{len(members)}, the number of members"
        )
    return RootQuorum(threshold, members)


def check_may_go(organization: Organization, user_ids: Iterable[str]) -> None:
    """Raise InvalidRequest if a user to be deleted is in the root quorum."""
    for user_id in user_ids:
        if user_id in organization.profile.root_quorum.user_ids:
            raise InvalidRequest(
                f"quorum users missing: user {user_id} is in the root quorum; take the user out of it first "
                "(update_root_quorum)"
            )


def check_still_credentialed(organization: Organization, user: User) -> None:
    """Raise InvalidRequest if the user, after the change, could not authenticate any more."""
    check_credential(user, organization, "parameters")
