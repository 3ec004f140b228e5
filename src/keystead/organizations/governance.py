"""Rules that keep an organization governable: its root quorum exists and each user can authenticate.

Here: the conditions after a change of users, credentials or quorum. Not here: who may make the change (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from keystead.api.errors import InvalidRequest
from keystead.api.records import User
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.users import check_can_authenticate


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


def check_can_still_authenticate(organization: Organization, user: User) -> None:
    """Raise InvalidRequest if the user could no longer authenticate after the change."""
    check_can_authenticate(user, organization, "parameters")


def deletion_changes(organization: Organization, *, without_export: bool) -> tuple[Change, ...]:
    """The changes that delete every record of a sub-organization except its profile.

    Its data key is deleted too, so its sealed secrets can never be opened again. Raises InvalidRequest for an
    organization without a parent, or with a wallet or a private key that was not exported.
    """
    if organization.profile.parent_id is None:
        raise InvalidRequest(
            f"organization {organization.id} is not a sub-organization; only sub-organizations can be deleted"
        )
    unexported = [wallet for wallet in organization.wallets.in_order() if not wallet.exported]
    keys = [key for key in organization.private_keys.in_order() if not key.exported]
    if (unexported or keys) and not without_export:
        first = f"wallet {unexported[0].wallet_id}" if unexported else f"private key {keys[0].private_key_id}"
        raise InvalidRequest(
            f"{first} has not been exported; export every wallet and private key, or set "
            "`parameters.deleteWithoutExport`"
        )
    removed = [map_ for type_, map_ in organization.maps.items() if type_ not in (Profile, SealedDataKey)]
    return (
        *[Remove(map_.record, id_) for map_ in removed for id_ in map_],
        Put(replace(organization.profile, deleted=True, root_quorum=RootQuorum(1, ()), features={})),
        Put(SealedDataKey(Sealed("", b""))),
    )
