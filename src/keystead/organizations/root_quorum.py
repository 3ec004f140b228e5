"""The rules of the root quorum: its members exist, and can reach its threshold.

Pure. Not here: whether a member can authenticate (`users`), who may change the quorum (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keystead.api.errors import InvalidRequest
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.organization import Organization


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
