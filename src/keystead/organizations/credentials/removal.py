"""Removing credentials from a user, who must still be able to authenticate afterwards.

Not here: the kinds of credentials and the rules for adding them (`credentials`).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from keystead.api.records import Timestamp, User
from keystead.organizations.contacts.account_contacts import account_contacts_of
from keystead.organizations.credentials.credentials import CredentialKind
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Organization
from keystead.organizations.users import check_can_authenticate, check_held


def without_credentials(
    organization: Organization, user_id: str, kind: CredentialKind, ids: Iterable[str], now_ms: int
) -> tuple[User, tuple[str, ...]]:
    """The user without these credentials, and the ids, each once.

    Raises NotFound for a user or credential that does not exist, InvalidRequest if no lasting credential remains.
    """
    user, removed = organization.record(Users, user_id), tuple(dict.fromkeys(ids))
    held = kind.by_id(user)
    check_held(removed, held, kind.called, user)
    kept = tuple(credential for id_, credential in held.items() if id_ not in removed)
    changed: User = replace(user, **{kind.field: kept}, updated_at=Timestamp.from_ms(now_ms))
    contacts = account_contacts_of(organization, changed)
    check_can_authenticate(changed, contacts, organization.profile.features, "parameters")
    return changed, removed
