"""From commits to rows. Pure.

Here: what each row holds, and its encoding. Not here: reading it back (`row_decoding`), SQL (`statements`), which
commits share a transaction (`group_commit`, `batch`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import assert_never

import msgspec

from keystead.api.records import Evaluation, PolicyOutcome, User, Vote
from keystead.organizations.attached_rows import AttachedRow, RemovedRow, VersionedRow
from keystead.organizations.attachments import Attachment, RemovedOrganizationContents, RemovedWalletAccounts
from keystead.organizations.lookups import CREDENTIALS, Lookup
from keystead.organizations.organization import Change, Organization, Put, Remove, records_of
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Commit, OrganizationWrite
from keystead.storage.tables import table_of
from keystead.storage.write_set import TOMBSTONE, ActivitySwap, Row, RowSwap, VersionSwap, WriteSet

_encode = msgspec.json.Encoder().encode

PURGED_TOMBSTONES = "forgotten"
"""The kind of one special record of an organization. Its version is that of the newest tombstone that was purged,
or that of the organization's deletion, which writes no tombstones. Its body is empty. A process that knows only an
older version must load the whole organization. A server of an earlier release does not know this kind: it fails in
that case, and is not affected otherwise."""

WHOLE_ORGANIZATION = ""
"""Stands in place of a wallet's id if all rows of the organization are to be deleted."""


_UNFINISHED = "unfinished_deletion"


class Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an evaluation that several evaluations can share: everything except its ids and its time."""

    verdict: str
    rule: str
    policy_ids: tuple[str, ...] = ()
    policy_evaluations: tuple[PolicyOutcome, ...] = ()


def of_commit(commit: Commit) -> WriteSet:
    """The write set of a commit. Encodes every body, on the caller's thread."""
    activity, write, new_organization = commit.activity, commit.write, commit.new_organization
    version_swap = activity_swap = None
    version_checks = [] if commit.authorized_by is None else [commit.authorized_by]
    if write is not None:
        after = write.after
        version_swap = VersionSwap(after.id, commit.decided_on, after.version, after.record_count)
    else:
        version_checks.append((commit.organization_id, commit.decided_on))
    if activity is not None and activity.revision:
        values = _activity_changes(activity)
        activity_swap = ActivitySwap(activity.organization_id, activity.id, activity.revision - 1, values)
    write_set = WriteSet(version_swap=version_swap, version_checks=version_checks, activity_swap=activity_swap)
    if write is not None:
        _add_rows(write, write_set)
    if new_organization is not None:
        write_set.rows.append(("organization", _organization_row(new_organization.after)))
        _add_rows(new_organization, write_set)
    if activity is not None:
        if not activity.revision:
            write_set.rows.append(("activity", _activity_row(activity)))
        for vote in commit.new_votes:
            write_set.rows.extend(_vote_rows(activity, vote))
    for row in commit.rows:
        write_row(commit.organization_id, row, write_set)
    for evaluation in commit.evaluations:
        write_set.rows.extend(_evaluation_rows(evaluation))
    return write_set


def of_new_organization(
    organization: Organization,
    attachments: Iterable[Attachment],
    lookups: Iterable[Lookup],
    instance: Mapping[str, bytes],
) -> WriteSet:
    """The write set that makes an organization without an activity. `instance`: values of the instance that are
    written with the first organization."""
    write = OrganizationWrite(
        after=organization,
        changes=tuple(Put(record) for record in records_of(organization)),
        attachments=tuple(attachments),
        lookups_added=frozenset(lookups),
    )
    write_set = WriteSet()
    write_set.rows.extend(("instance", item) for item in instance.items())
    write_set.rows.append(("organization", _organization_row(organization)))
    _add_rows(write, write_set)
    return write_set


def leaves_rows_to_delete(write_set: WriteSet) -> bool:
    """Whether rows of a deleted wallet or organization are to be deleted in steps (`purger`)."""
    return any(table == _UNFINISHED for table, _ in write_set.rows)


def write_row(organization_id: str, attached: AttachedRow, write_set: WriteSet) -> None:
    """Add a row to the write set: a new row, or one that replaces its previous revision. It belongs to this
    organization, unless it names another one."""
    table = table_of(attached.table)
    row = (attached.owner_id or organization_id, *attached.row())
    if isinstance(attached, VersionedRow) and attached.revision > 1:
        columns = list(zip(table.names, row, strict=True))
        key, values = columns[: table.key_length], columns[table.key_length :]
        write_set.row_swaps.append(RowSwap(table.name, tuple(key), attached.revision - 1, tuple(values)))
    else:
        write_set.rows.append((table.name, row))


def _add_rows(write: OrganizationWrite, write_set: WriteSet) -> None:
    """Add the rows that the organization writes and deletes to the write set."""
    after, organization_id = write.after, write.after.id
    has_parent = after.profile.parent_id is not None
    deletes_records = any(isinstance(one, RemovedOrganizationContents) for one in write.attachments)
    if deletes_records:
        forgotten = (organization_id, PURGED_TOMBSTONES, "", after.version.number, TOMBSTONE)
        write_set.rows.append(("record", forgotten))
    # Each version writes a record, so that the newest record has the version of its organization.
    for change in write.changes or (Put(after.profile),):
        if not (deletes_records and isinstance(change, Remove)):  # one statement deletes these records
            write_set.rows.append(("record", _record_row(after, change)))
    for attachment in write.attachments:
        match attachment:
            case AttachedRow():
                write_row(organization_id, attachment, write_set)
            case RemovedRow(attached, key):
                write_set.deleted.append((attached.name, (organization_id, *key)))
            case RemovedWalletAccounts(wallet_id):
                write_set.rows.append((_UNFINISHED, (organization_id, wallet_id)))
            case RemovedOrganizationContents():
                write_set.deleted_organizations.append(organization_id)
                write_set.rows.append((_UNFINISHED, (organization_id, WHOLE_ORGANIZATION)))
            case _:
                assert_never(attachment)
    for lookup in write.lookups_added:
        is_exclusive = lookup.kind in CREDENTIALS and has_parent and not write.shares_credentials
        write_set.rows.append(("lookup", (*_lookup_key(after, lookup), is_exclusive)))
    for lookup in write.lookups_removed:
        write_set.deleted.append(("lookup", _lookup_key(after, lookup)))


def _organization_row(organization: Organization) -> Row:
    version = organization.version
    return (
        organization.id,
        organization.profile.parent_id,
        version.number,
        version.changed_by,
        organization.record_count,
        version.number,
    )


def _record_row(after: Organization, change: Change) -> Row:
    match change:
        case Put(record):
            kind = after.maps[type(record)]
            return (after.id, kind.stored_name, kind.id_of(record), after.version.number, _encode(record))
        case Remove(type_, id_):
            return (after.id, after.maps[type_].stored_name, id_, after.version.number, TOMBSTONE)
        case _:
            assert_never(change)


def _activity_row(activity: RecordedActivity) -> Row:
    return (
        activity.organization_id,
        activity.id,
        activity.fingerprint,
        activity.type,
        activity.submitter_id,
        activity.created_at_ms,
        activity.request,
        *_activity_changes(activity),
    )


def _activity_changes(activity: RecordedActivity) -> Row:
    """The columns of ACTIVITY_CHANGES."""
    return (
        str(activity.status),
        _encode(activity.result),
        _encode(activity.app_proofs) if activity.app_proofs else None,
        _encode(activity.failure) if activity.failure is not None else None,
        _encode(activity.proofs),
        activity.approvals_since_ms,
        activity.revision,
        activity.updated_at_ms,
    )


def _vote_rows(activity: RecordedActivity, vote: Vote) -> Iterable[tuple[str, Row]]:
    message = vote.message.encode()
    voter = _snapshot_row(activity.organization_id, vote.user)
    yield "snapshot", voter
    yield (
        "vote",
        (
            activity.organization_id,
            vote.activity_id,
            vote.user_id,
            vote.id,
            str(vote.selection),
            None if message == activity.request else message,
            vote.public_key,
            vote.signature,
            vote.scheme,
            vote.created_at.epoch_ms,
            voter[1],
        ),
    )


def _evaluation_rows(evaluation: Evaluation) -> Iterable[tuple[str, Row]]:
    findings = Findings(evaluation.verdict, evaluation.rule, evaluation.policy_ids, evaluation.policy_evaluations)
    snapshot = _snapshot_row(evaluation.organization_id, findings)
    yield "snapshot", snapshot
    yield (
        "policy_evaluation",
        (
            evaluation.organization_id,
            evaluation.activity_id,
            evaluation.id,
            evaluation.vote_id,
            evaluation.created_at.epoch_ms,
            snapshot[1],
        ),
    )


def _snapshot_row(organization_id: str, value: User | Findings) -> Row:
    body = _encode(value)
    return (organization_id, hashlib.sha256(body).digest(), body)


def _lookup_key(organization: Organization, lookup: Lookup) -> Row:
    parent_id = organization.profile.parent_id or ""
    return (str(lookup.kind), lookup.value, parent_id, organization.id, lookup.holder_id)
