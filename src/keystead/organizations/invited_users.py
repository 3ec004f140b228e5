"""The users whom invitations made, until they have a credential of their own. Pure.

Not here: the records of invitations (`kinds.invitations`), making and accepting them (`operations`).
"""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from keystead.api.enums import CredentialType
from keystead.api.records import User
from keystead.organizations.contacts.account_contacts import changes_for_removed_user
from keystead.organizations.credentials.credentials import registered_credential_ids
from keystead.organizations.kinds.invitations import Invitation
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.users import check_not_in_quorum


def without_invitations(organization: Organization, user_ids: Container[str]) -> tuple[Change, ...]:
    """The changes that remove the invitations of these users, who accepted them or are deleted."""
    return tuple(
        Remove(Invitation, invitation.id)
        for invitation in organization.invitations.in_order()
        if invitation.user_id and invitation.user_id in user_ids
    )


def without_invited_user(organization: Organization, invitation: Invitation) -> tuple[Change, ...]:
    """The changes that remove the user of an invitation; if the user has got a credential in another way, only the
    key of the link. Raises InvalidRequest if the user is in the root quorum."""
    user = organization.users.get(invitation.user_id)
    if user is None:
        return ()
    if registered_credential_ids(user):
        kept = tuple(
            key for key in user.api_keys if key.credential.type is not CredentialType.RECOVER_USER_KEY_P256
        )
        return (Put(replace(user, api_keys=kept)),)
    check_not_in_quorum(organization, [user.user_id])
    return (Remove(User, user.user_id), *changes_for_removed_user(organization, user.user_id))
