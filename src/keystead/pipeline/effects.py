"""The effects of an execution: from its outcome to the result, the organization's change, a new organization.

Pure. Not here: the commit that holds them (`commit`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from keystead.api.records import User, Wire
from keystead.api.rendering import encode
from keystead.organizations.attachments import AttachedRow, Attachment, RemovedRow
from keystead.organizations.kinds.profile import Profile
from keystead.organizations.lookups import Lookup, lookups, name_lookup
from keystead.organizations.organization import Change, Organization, Put, Remove, Version, apply, records_of
from keystead.pipeline.activity import Outcome
from keystead.pipeline.authorization import Case
from keystead.pipeline.store import OrganizationChange


def result_of(case: Case, outcome: Outcome[Wire]) -> dict[str, msgspec.Raw]:
    version = case.operation.version_of(case.activity_type)
    assert version is not None, case.activity_type
    result = outcome.result if version.result is None else version.result(outcome.result)
    return {version.result_key: msgspec.Raw(encode(result))}


def change_of(organization: Organization, outcome: Outcome[Wire], evaluation_id: str) -> OrganizationChange | None:
    """The organization's next version, which this evaluation allowed; None if the outcome leaves it as it is."""
    if not outcome.changes and not outcome.attachments:
        return None
    after = apply(organization, outcome.changes, Version(organization.version.number + 1, evaluation_id))
    known = _found_by(organization, outcome.changes) | _removed_lookups(outcome.attachments)
    found = _found_by(after, outcome.changes) | _new_lookups(outcome.attachments)
    return OrganizationChange(
        after=after,
        changes=outcome.changes,
        attachments=outcome.attachments,
        lookups=found - known,
        forgotten=known - found,
    )


def founding_of(outcome: Outcome[Wire]) -> OrganizationChange | None:
    """The organization that the outcome makes."""
    founded = outcome.founds
    if founded is None:
        return None
    changes = tuple(Put(record) for record in records_of(founded.organization))
    return OrganizationChange(
        after=founded.organization,
        changes=changes,
        attachments=founded.attachments,
        lookups=_found_by(founded.organization, changes) | _new_lookups(founded.attachments),
    )


def _found_by(organization: Organization, changes: Iterable[Change]) -> frozenset[Lookup]:
    """The look-ups, in this version of the organization, of the profile and the users that these changes write."""
    found, users = set[Lookup](), organization.users
    for change in changes:
        match change:
            case Put(Profile()):
                found.add(name_lookup(organization.profile.name))
            case Put(User(user_id=user_id)) if user_id in users:
                found |= lookups(users[user_id])
            case Remove(kind, user_id) if kind is User and user_id in users:
                found |= lookups(users[user_id])
    return frozenset(found)


def _new_lookups(attachments: Iterable[Attachment]) -> frozenset[Lookup]:
    return frozenset(lookup for one in attachments if isinstance(one, AttachedRow) for lookup in one.lookups())


def _removed_lookups(attachments: Iterable[Attachment]) -> frozenset[Lookup]:
    return frozenset(lookup for one in attachments if isinstance(one, RemovedRow) for lookup in one.lookups)
