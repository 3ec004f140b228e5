"""The effects of an execution: the result, the organization's change and the new organization of its output.

Pure. Not here: the commit that holds them (`execute`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

import msgspec

from keystead.api.enums import CredentialType
from keystead.api.errors import LimitReached
from keystead.api.records import Wire
from keystead.api.rendering import encode
from keystead.organizations.attached_rows import AttachedRow, RemovedRow, VersionedRow
from keystead.organizations.attachments import Attachment, RemovedOrganizationContents, RemovedWalletAccounts
from keystead.organizations.change_sizes import ChangeSizes
from keystead.organizations.credentials.registrations import AddedByChanges, registrations
from keystead.organizations.limits import Limits
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import (
    Change,
    ChangingOrganization,
    Organization,
    Put,
    Remove,
    Version,
    apply_unordered,
    records_of,
)
from keystead.pipeline.bounds import CHANGED_ROWS_MAX
from keystead.pipeline.execution import Output
from keystead.pipeline.operation import AddedCredential, IntentVersion, NewUser
from keystead.pipeline.store import Changes
from keystead.primitives.share import Share

LOOKUPS_DELETED_AT_ONCE_MAX: Final = 1_000
"""The most look-ups that are deleted in the commit that deletes their organization. To delete 100,000 there made
every commit of the process wait for two seconds."""


def result_of(version: IntentVersion, result: Wire) -> dict[str, msgspec.Raw]:
    """The result under its key, in the version of the activity type that was submitted."""
    of_version = result if version.result is None else version.result(result)
    return {version.result_key: msgspec.Raw(encode(of_version))}


class UndeclaredCredential(Exception):
    """A defect of an operation: its execution adds a credential that its declaration (`adds`) does not name, so the
    rules about added credentials did not see it. Nothing is committed."""


async def changes_of(
    organization: Organization,
    output: Output[Wire],
    declared: Sequence[AddedCredential],
    evaluation_id: str,
    limits: Limits,
    share: Share,
) -> Changes | None:
    """The organization's next version, which this evaluation allowed. None if the output does not change it.

    Many changes are applied in slices of time, because a deleted tag may change 10,000 users. Raises LimitReached
    if the changed records or the organization have too many bytes, or if there are more than ROWS_MAX rows;
    UndeclaredCredential if the output adds a credential that is not among `declared`.
    """
    attachments = tuple(attachment for attachment in output.attachments if not isinstance(attachment, VersionedRow))
    if not output.changes and not attachments:
        return None
    version = Version(organization.version.number + 1, evaluation_id)
    if any(isinstance(attachment, RemovedOrganizationContents) for attachment in attachments):
        return _deletion(organization, output.changes, attachments, version)
    registered = registrations(organization, output.changes, output.begun_by)
    for credential in registered.added:
        _check_declared(credential, declared)
    changes = (*output.changes, *registered.changes)

    sizes, changing = ChangeSizes(organization, limits), ChangingOrganization(organization)
    added, removed = _attachment_lookups(attachments)
    lookups_before, lookups_after = set(removed), set(added)

    def check_and_apply(change: Change) -> None:
        sizes.check_change(change)
        changing.change(change)
        _add_record_lookups(organization, change, lookups_before)

    await share.each(organization.id, check_and_apply, changes)
    after = changing.organization(version)
    sizes.check_growth(after)
    await share.each(organization.id, lambda change: _add_record_lookups(after, change, lookups_after), changes)
    rows = len(changes) + len(lookups_before ^ lookups_after)
    if rows > CHANGED_ROWS_MAX:
        raise LimitReached(
            f"the activity changes {rows} records, credentials, contacts and names, and one activity may change "
            f"{CHANGED_ROWS_MAX}: name fewer records in each request"
        )
    return Changes(
        after=after,
        records=changes,
        attachments=attachments,
        lookups_added=frozenset(lookups_after - lookups_before),
        lookups_removed=frozenset(lookups_before - lookups_after),
    )


def _check_declared(added: AddedByChanges, declared: Sequence[AddedCredential]) -> None:
    """Raise UndeclaredCredential if none of these is the added credential. A recovery key approves nothing, so no
    rule is about it."""
    if added.type is CredentialType.RECOVER_USER_KEY_P256:
        return
    for each in declared:
        if added.is_of_new_user:
            is_of_holder = isinstance(each.holder, NewUser)
        else:
            is_of_holder = each.holder is None or each.holder == added.user_id
        if each.type is added.type and is_of_holder:
            return
    raise UndeclaredCredential(f"{added.type} of user {added.user_id}")


def _deletion(
    organization: Organization, changes: tuple[Change, ...], attachments: tuple[Attachment, ...], version: Version
) -> Changes:
    """The deletion of an organization. Few look-ups go with its commit, so that its credentials are free at once;
    many are deleted with its other rows (`storage.purger`)."""
    counted = itertools.accumulate(
        len(map_.lookups(record)) for map_ in organization.maps.values() for record in map_.values()
    )
    has_many = any(count > LOOKUPS_DELETED_AT_ONCE_MAX for count in counted)
    after, removed = apply_unordered(organization, changes, version), frozenset[Lookup]()
    if not has_many:
        removed = _record_lookups(organization, changes) - _record_lookups(after, changes)
    return Changes(
        after=after, records=changes, attachments=attachments, lookups_added=frozenset(), lookups_removed=removed
    )


def versioned_rows(attachments: Iterable[Attachment]) -> tuple[VersionedRow, ...]:
    """The rows that are written without a new version of the organization."""
    return tuple(attachment for attachment in attachments if isinstance(attachment, VersionedRow))


def new_organization_of(output: Output[Wire]) -> Changes | None:
    """The organization that the output creates; None if it creates none."""
    new = output.new_organization
    if new is None:
        return None
    return Changes(
        after=new.organization,
        records=tuple([Put(record) for record in records_of(new.organization)]),
        attachments=new.attachments,
        lookups_added=lookups_of(new.organization, new.attachments),
        shares_credentials=new.shares_credentials,
    )


def lookups_of(organization: Organization, attachments: Iterable[Attachment]) -> frozenset[Lookup]:
    """Every look-up of a new organization."""
    return _record_lookups(organization, map(Put, records_of(organization))) | _attachment_lookups(attachments)[0]


def _record_lookups(organization: Organization, changes: Iterable[Change]) -> frozenset[Lookup]:
    """The look-ups, in this version of the organization, of the records that these changes touch."""
    lookups = set[Lookup]()
    for change in changes:
        _add_record_lookups(organization, change, lookups)
    return frozenset(lookups)


def _add_record_lookups(organization: Organization, change: Change, lookups: set[Lookup]) -> None:
    """Add the look-ups, in this version of the organization, of the record that this change touches."""
    match change:
        case Put(record):
            records = organization.maps[type(record)]
            id_ = records.id_of(record)
        case Remove(type_, id_):
            records = organization.maps[type_]
        case _:
            assert_never(change)
    if (found := records.get(id_)) is not None:
        lookups |= records.lookups(found)


def _attachment_lookups(attachments: Iterable[Attachment]) -> tuple[frozenset[Lookup], frozenset[Lookup]]:
    """The look-ups of new attached rows, and those of deleted ones."""
    added, removed = set[Lookup](), set[Lookup]()
    for attachment in attachments:
        match attachment:
            case AttachedRow():
                added |= attachment.lookups()
            case RemovedRow():
                removed |= attachment.lookups
            case RemovedWalletAccounts() | RemovedOrganizationContents():
                pass  # their look-ups are deleted with their rows (`storage.purger`)
            case _:
                assert_never(attachment)
    return frozenset(added), frozenset(removed)
