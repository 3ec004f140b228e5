"""From commits to rows. Pure.

Here: what each row holds, and its encoding. Not here: reading it back (`row_decoding`), SQL (`statements`), which
commits share a transaction (`group_commit`).
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
from keystead.pipeline.store import Changes, Commit
from keystead.storage.rows import TOMBSTONE, ActivitySwap, Row, Rows, RowSwap, VersionSwap
from keystead.storage.tables import table_of

_encode = msgspec.json.Encoder().encode

PURGED_TOMBSTONES = "forgotten"
"""The kind of one special record of an organization. Its version is that of the newest tombstone that was purged,
or that of the organization's deletion, which writes no tombstones. Its body is empty. A process that knows only an
older version must load the whole organization. A server of an earlier release does not know this kind: it fails in
that case, and is not affected otherwise."""

WHOLE_ORGANIZATION = ""
"""Stands in place of a wallet's id if all rows of the organization are to be deleted."""


UNFINISHED_DELETION = "unfinished_deletion"
"""The table whose rows name deleted wallets and organizations of which rows are left (`purger`)."""


class EvaluationBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an evaluation that several evaluations can share: everything except its ids and its time."""

    verdict: str
    rule: str
    policy_ids: tuple[str, ...] = ()
    policy_evaluations: tuple[PolicyOutcome, ...] = ()


def rows_of(commit: Commit) -> Rows:
    """The rows of a commit. Encodes every body, on the caller's thread."""
    activity, changes = commit.activity, commit.changes
    rows = Rows(attached=[*commit.rows])
    if commit.authorized_by is not None:
        rows.version_checks.append(commit.authorized_by)
    if changes is None:
        rows.version_checks.append((commit.organization_id, commit.decided_on))
    else:
        after = changes.after
        rows.version_swaps.append(VersionSwap(after.id, commit.decided_on, after.version, after.record_count))
        _add_changes(changes, rows)
    if commit.new_organization is not None:
        _add_new_organization(commit.new_organization, rows)
    if activity is not None:
        _add_activity(activity, rows)
        for vote in commit.new_votes:
            _add_vote(activity, vote, rows)
    for row in commit.rows:
        add_attached_row(commit.organization_id, row, rows)
    rows.counted.extend(commit.counted)
    for evaluation in commit.evaluations:
        _add_evaluation(evaluation, rows)
    return rows


def rows_of_new_organization(
    organization: Organization,
    attachments: Iterable[Attachment],
    lookups: Iterable[Lookup],
    instance: Mapping[str, bytes],
) -> Rows:
    """The rows that make an organization without an activity. `instance`: values of the instance that are written
    with the first organization."""
    changes = Changes(
        after=organization,
        records=tuple([Put(record) for record in records_of(organization)]),
        attachments=tuple(attachments),
        lookups_added=frozenset(lookups),
    )
    rows = Rows(inserted=[("instance", item) for item in instance.items()])
    _add_new_organization(changes, rows)
    return rows


def add_attached_row(organization_id: str, attached: AttachedRow, rows: Rows) -> None:
    """Add a row: a new row, or one that replaces its previous revision. It belongs to this organization, unless it
    names another one."""
    table = table_of(attached.table)
    row = (attached.owner_id or organization_id, *attached.row())
    if isinstance(attached, VersionedRow) and attached.revision > 1:
        columns = list(zip(table.names, row, strict=True))
        key, values = columns[: table.key_length], columns[table.key_length :]
        rows.row_swaps.append(RowSwap(table.name, tuple(key), attached.revision - 1, tuple(values)))
    else:
        rows.inserted.append((table.name, row))


def _add_new_organization(changes: Changes, rows: Rows) -> None:
    organization = changes.after
    version = organization.version
    row = (
        organization.id,
        organization.profile.parent_id,
        version.number,
        version.changed_by,
        organization.record_count,
        version.number,
    )
    rows.inserted.append(("organization", row))
    _add_changes(changes, rows)


def _add_changes(changes: Changes, rows: Rows) -> None:
    """Add the rows that the changes of an organization write and delete."""
    after, organization_id = changes.after, changes.after.id
    rows.organizations.append(after)
    for attachment in changes.attachments:
        match attachment:
            case AttachedRow():
                add_attached_row(organization_id, attachment, rows)
            case RemovedRow(attached, key):
                rows.deleted.append((attached.name, (organization_id, *key)))
            case RemovedWalletAccounts(wallet_id):
                rows.inserted.append((UNFINISHED_DELETION, (organization_id, wallet_id)))
            case RemovedOrganizationContents():
                rows.deleted_organizations.append(organization_id)
                rows.inserted.append((UNFINISHED_DELETION, (organization_id, WHOLE_ORGANIZATION)))
            case _:
                assert_never(attachment)
    is_deleted = organization_id in rows.deleted_organizations
    if is_deleted:
        forgotten = (organization_id, PURGED_TOMBSTONES, "", after.version.number, TOMBSTONE)
        rows.inserted.append(("record", forgotten))
    # Each version writes a record, so that the newest record has the version of its organization.
    for change in changes.records or (Put(after.profile),):
        _add_record(after, change, rows, is_deleted=is_deleted)
    has_parent = after.profile.parent_id is not None
    for lookup in changes.lookups_added:
        is_exclusive = lookup.kind in CREDENTIALS and has_parent and not changes.shares_credentials
        rows.inserted.append(("lookup", (*_lookup_key(after, lookup), is_exclusive)))
    for lookup in changes.lookups_removed:
        rows.deleted.append(("lookup", _lookup_key(after, lookup)))


def _add_record(after: Organization, change: Change, rows: Rows, *, is_deleted: bool) -> None:
    match change:
        case Put(record):
            kind = after.maps[type(record)]
            row = (after.id, kind.stored_name, kind.id_of(record), after.version.number, change.body)
        case Remove(type_, id_):
            rows.removes_records.append(after.id)
            if is_deleted:  # one statement deletes these records
                return
            row = (after.id, after.maps[type_].stored_name, id_, after.version.number, TOMBSTONE)
        case _:
            assert_never(change)
    rows.inserted.append(("record", row))


def _add_activity(activity: RecordedActivity, rows: Rows) -> None:
    changed = (
        str(activity.status),
        _encode(activity.result),
        _encode(activity.app_proofs) if activity.app_proofs else None,
        _encode(activity.failure) if activity.failure is not None else None,
        _encode(activity.proofs),
        activity.approvals_since_ms,
        activity.revision,
        activity.updated_at_ms,
    )  # the columns of ACTIVITY_CHANGES
    if activity.revision:
        rows.activity_swaps.append(
            ActivitySwap(activity.organization_id, activity.id, activity.revision - 1, changed)
        )
        return
    row = (
        activity.organization_id,
        activity.id,
        activity.fingerprint,
        activity.type,
        activity.submitter_id,
        activity.created_at_ms,
        activity.request,
        *changed,
    )
    rows.inserted.append(("activity", row))


def _add_vote(activity: RecordedActivity, vote: Vote, rows: Rows) -> None:
    message = vote.message.encode()
    row = (
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
        _add_snapshot(activity.organization_id, vote.user, rows),
    )
    rows.inserted.append(("vote", row))


def _add_evaluation(evaluation: Evaluation, rows: Rows) -> None:
    body = EvaluationBody(evaluation.verdict, evaluation.rule, evaluation.policy_ids, evaluation.policy_evaluations)
    row = (
        evaluation.organization_id,
        evaluation.activity_id,
        evaluation.id,
        evaluation.vote_id,
        evaluation.created_at.epoch_ms,
        _add_snapshot(evaluation.organization_id, body, rows),
    )
    rows.inserted.append(("policy_evaluation", row))


def _add_snapshot(organization_id: str, value: User | EvaluationBody, rows: Rows) -> bytes:
    """Add a value that several rows may name by its digest. Returns the digest."""
    body = _encode(value)
    digest = hashlib.sha256(body).digest()
    rows.inserted.append(("snapshot", (organization_id, digest, body)))
    return digest


def _lookup_key(organization: Organization, lookup: Lookup) -> Row:
    parent_id = organization.profile.parent_id or ""
    return (str(lookup.kind), lookup.value, parent_id, organization.id, lookup.holder_id)
