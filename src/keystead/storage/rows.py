"""From commits to rows, and from rows to records, activities and votes. Pure.

Here: what each row holds, encoding and decoding. Not here: SQL (`statements`), which commits share a transaction
(`group_commit`, `batch`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import Unavailable
from keystead.api.records import (
    AppProof,
    Evaluation,
    PolicyOutcome,
    Status,
    Timestamp,
    User,
    Vote,
    WalletAccount,
)
from keystead.organizations.attached_rows import AttachedRow, RemovedRow, VersionedRow
from keystead.organizations.attachments import (
    Attachment,
    RemovedOrganizationContents,
    RemovedWalletAccounts,
    StoredAccount,
)
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.lookups import CREDENTIALS, Lookup
from keystead.organizations.one_time_codes import CodeCount, OneTimeCode
from keystead.organizations.organization import Change, Organization, Put, Remove, records_of
from keystead.organizations.outgoing_messages import EmailEventRow, OutgoingMessage
from keystead.organizations.record_kinds import RecordKinds
from keystead.organizations.webhooks import WebhookDelivery, WebhookLease
from keystead.pipeline.activity import Activity, Proof
from keystead.pipeline.store import Commit, OrganizationChange
from keystead.storage.tables import table_of
from keystead.storage.write_set import ActivitySwap, Row, RowSwap, VersionSwap, WriteSet

_encode = msgspec.json.Encoder().encode
_data_key_decoder = msgspec.json.Decoder(SealedDataKey)
_voter_decoder = msgspec.json.Decoder(User)
_result_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_proofs_decoder = msgspec.json.Decoder(tuple[Proof, ...])
_app_proofs_decoder = msgspec.json.Decoder(tuple[AppProof, ...])
_failure_decoder = msgspec.json.Decoder(Status)
_account_decoder = msgspec.json.Decoder(WalletAccount)
_one_time_code_decoder = msgspec.json.Decoder(OneTimeCode)
_code_count_decoder = msgspec.json.Decoder(CodeCount)
_outgoing_message_decoder = msgspec.json.Decoder(OutgoingMessage)
_webhook_delivery_decoder = msgspec.json.Decoder(WebhookDelivery)
_webhook_lease_decoder = msgspec.json.Decoder(WebhookLease)
_email_event_decoder = msgspec.json.Decoder(EmailEventRow)

_REMOVED = b""
"""The body of a record that was removed."""

FORGOTTEN = "forgotten"
"""The kind of a record that has the version of the newest removed record that is no longer kept. Its body is
empty. So a server of an earlier release, which does not know the kind, works if it knows this version of the
organization, and refuses to if it only knows an older one."""

WHOLE_ORGANIZATION = ""
"""In place of a wallet's id: all rows of the organization are to be deleted."""

_COLUMNS_OF_VOTES = 9
"""How many columns of the vote follow those of the activity in a row of `activity_with_votes`."""


class _Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an evaluation that other evaluations share: everything but its ids and its time."""

    verdict: str
    rule: str
    policy_ids: tuple[str, ...] = ()
    policy_evaluations: tuple[PolicyOutcome, ...] = ()


_findings_decoder = msgspec.json.Decoder(_Findings)


def of_commit(commit: Commit) -> WriteSet:
    """The write set of a commit. Encodes every body, on the caller's thread."""
    activity, change, new_organization = commit.activity, commit.change, commit.new_organization
    version_swap = activity_swap = None
    version_checks = [] if commit.authorized_by is None else [commit.authorized_by]
    if change is not None:
        version_swap = VersionSwap(change.after.id, commit.decided_on, change.after.version)
    else:
        version_checks.append((commit.organization_id, commit.decided_on))
    if activity is not None and activity.revision:
        values = _activity_changes(activity)
        activity_swap = ActivitySwap(activity.organization_id, activity.id, activity.revision - 1, values)
    written = WriteSet(version_swap=version_swap, version_checks=version_checks, activity_swap=activity_swap)
    if change is not None:
        _change_rows(change, written)
    if new_organization is not None:
        written.rows.append(("organization", _organization_row(new_organization.after)))
        _change_rows(new_organization, written)
    if activity is not None:
        if not activity.revision:
            written.rows.append(("activity", _activity_row(activity)))
        votes = {vote.user_id: vote for vote in activity.votes}
        for vote in votes.values():
            written.rows.extend(_vote_rows(activity, vote))
    for row in commit.rows:
        write_row(commit.organization_id, row, written)
    for evaluation in commit.evaluations:
        written.rows.extend(_evaluation_rows(evaluation))
    return written


def of_bootstrap(
    organization: Organization,
    attachments: Iterable[Attachment],
    lookups: Iterable[Lookup],
    instance: Mapping[str, bytes],
) -> WriteSet:
    """The write set that makes an empty database an instance with its first organization."""
    made = OrganizationChange(
        after=organization,
        changes=tuple(Put(record) for record in records_of(organization)),
        attachments=tuple(attachments),
        lookups_added=frozenset(lookups),
    )
    written = WriteSet()
    written.rows.extend(("instance", item) for item in instance.items())
    written.rows.append(("organization", _organization_row(organization)))
    _change_rows(made, written)
    return written


def write_row(organization_id: str, attached: AttachedRow, written: WriteSet) -> None:
    """Add a row of this organization to the write set: a new row, or one that replaces its previous revision."""
    table = table_of(attached.table)
    row = (organization_id, *attached.row())
    if isinstance(attached, VersionedRow) and attached.revision > 1:
        columns = list(zip(table.names, row, strict=True))
        key, values = columns[: table.key_length], columns[table.key_length :]
        written.row_swaps.append(RowSwap(table.name, tuple(key), attached.revision - 1, tuple(values)))
    else:
        written.rows.append((table.name, row))


def _change_rows(change: OrganizationChange, written: WriteSet) -> None:
    """Add what the change writes and deletes to the write set."""
    after, organization_id = change.after, change.after.id
    has_parent = after.profile.parent_id is not None
    for one in change.changes:
        written.rows.append(("record", _record_row(after, one)))
    for attachment in change.attachments:
        match attachment:
            case AttachedRow():
                write_row(organization_id, attachment, written)
            case RemovedRow(attached, key):
                written.deleted.append((attached.name, (organization_id, *key)))
            case RemovedWalletAccounts(wallet_id):
                written.rows.append(("unfinished_deletion", (organization_id, wallet_id)))
            case RemovedOrganizationContents():
                written.deleted_organizations.append(organization_id)
                written.rows.append(("unfinished_deletion", (organization_id, WHOLE_ORGANIZATION)))
            case _:
                assert_never(attachment)
    for lookup in change.lookups_added:
        is_exclusive = lookup.kind in CREDENTIALS and has_parent and not change.shares_credentials
        written.rows.append(("lookup", (*_lookup_key(after, lookup), is_exclusive)))
    for lookup in change.lookups_removed:
        written.deleted.append(("lookup", _lookup_key(after, lookup)))


def _organization_row(organization: Organization) -> Row:
    version = organization.version
    return (organization.id, organization.profile.parent_id, version.number, version.changed_by)


def _record_row(after: Organization, change: Change) -> Row:
    match change:
        case Put(record):
            kind = after.maps[type(record)]
            return (after.id, kind.word, kind.id_of(record), after.version.number, _encode(record))
        case Remove(type_, id_):
            return (after.id, after.maps[type_].word, id_, after.version.number, _REMOVED)
        case _:
            assert_never(change)


def _activity_row(activity: Activity) -> Row:
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


def _activity_changes(activity: Activity) -> Row:
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


def _vote_rows(activity: Activity, vote: Vote) -> Iterable[tuple[str, Row]]:
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
    findings = _Findings(evaluation.verdict, evaluation.rule, evaluation.policy_ids, evaluation.policy_evaluations)
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


def _snapshot_row(organization_id: str, value: User | _Findings) -> Row:
    body = _encode(value)
    return (organization_id, hashlib.sha256(body).digest(), body)


def _lookup_key(organization: Organization, lookup: Lookup) -> Row:
    parent_id = organization.profile.parent_id or ""
    return (str(lookup.kind), lookup.value, parent_id, organization.id, lookup.holder_id)


class RecordReader:
    """Reads the records of these kinds from their rows."""

    def __init__(self, kinds: RecordKinds) -> None:
        self._decoders = {
            word: (kind.record, msgspec.json.Decoder(kind.record)) for word, kind in kinds.of_word.items()
        }

    def change(self, word: str, id_: str, body: bytes) -> Change:
        """The change of a record that its row states. Raises Unavailable for an unknown kind."""
        if word not in self._decoders:
            # Not left out: what a rule of the newer version forbids would be allowed here.
            raise Unavailable(
                f"a newer version of Keystead wrote a record of the kind {word[:100]!a} into this organization; "
                "only a server of that version can use the organization"
            )
        record, decoder = self._decoders[word]
        return Remove(record, id_) if body == _REMOVED else Put(decoder.decode(body))


def data_key_from(body: bytes) -> SealedDataKey:
    return _data_key_decoder.decode(body)


def evaluation_from(row: Sequence[Any]) -> Evaluation:
    organization_id, activity_id, evaluation_id, vote_id, created_at_ms, _, body = row
    found = _findings_decoder.decode(body)
    return Evaluation(
        id=evaluation_id,
        activity_id=activity_id,
        organization_id=organization_id,
        vote_id=vote_id,
        policy_evaluations=found.policy_evaluations,
        created_at=Timestamp.from_ms(created_at_ms),
        verdict=found.verdict,
        rule=found.rule,
        policy_ids=found.policy_ids,
    )


def one_time_code_from(row: Sequence[Any]) -> OneTimeCode:
    return _one_time_code_decoder.decode(row[0])


def code_count_from(row: Sequence[Any]) -> CodeCount:
    return _code_count_decoder.decode(row[0])


def outgoing_message_from(row: Sequence[Any]) -> OutgoingMessage:
    return _outgoing_message_decoder.decode(row[0])


def email_event_from(row: Sequence[Any]) -> EmailEventRow:
    return _email_event_decoder.decode(row[0])


def webhook_delivery_from(row: Sequence[Any]) -> WebhookDelivery:
    return _webhook_delivery_decoder.decode(row[0])


def webhook_lease_from(row: Sequence[Any]) -> WebhookLease:
    return _webhook_lease_decoder.decode(row[0])


def account_from(row: Sequence[Any]) -> WalletAccount:
    return _account_decoder.decode(row[0])


def stored_account_from(row: Sequence[Any]) -> StoredAccount:
    body, exported = row[:2]
    return StoredAccount(_account_decoder.decode(body), bool(exported))


def activities_from(rows: Iterable[Sequence[Any]]) -> list[Activity]:
    """Activities in the order of the rows. Each activity has consecutive rows, one for each vote, or one row
    without a vote."""
    found: list[tuple[Activity, list[Vote]]] = []
    for row in rows:
        if not found or found[-1][0].id != row[1]:
            found.append((_activity_from(row[:-_COLUMNS_OF_VOTES]), []))
        activity, votes = found[-1]
        columns = row[-_COLUMNS_OF_VOTES:]
        if columns[0] is not None:
            votes.append(_vote_from(activity, columns))
    return [replace(activity, votes=tuple(votes)) for activity, votes in found]


def _vote_from(activity: Activity, columns: Sequence[Any]) -> Vote:
    vote_id, user_id, selection, message, public_key, signature, scheme, voted_at_ms, voter = columns
    return Vote(
        id=vote_id,
        user_id=user_id,
        user=_voter_decoder.decode(voter),
        activity_id=activity.id,
        selection=VoteSelection(selection),
        message=(activity.request if message is None else message).decode(),
        public_key=public_key,
        signature=signature,
        scheme=scheme,
        created_at=Timestamp.from_ms(voted_at_ms),
    )


def _activity_from(row: Sequence[Any]) -> Activity:
    """An activity without its votes."""
    (
        organization_id,
        activity_id,
        fingerprint,
        activity_type,
        submitter_id,
        created_at_ms,
        request,
        status,
        result,
        app_proofs,
        failure,
        proofs,
        approvals_since_ms,
        revision,
        updated_at_ms,
    ) = row
    return Activity(
        id=activity_id,
        organization_id=organization_id,
        type=activity_type,
        status=ActivityStatus(status),
        fingerprint=fingerprint,
        request=request,
        result=_result_decoder.decode(result),
        votes=(),
        app_proofs=() if app_proofs is None else _app_proofs_decoder.decode(app_proofs),
        failure=None if failure is None else _failure_decoder.decode(failure),
        submitter_id=submitter_id,
        proofs=_proofs_decoder.decode(proofs),
        approvals_since_ms=approvals_since_ms,
        revision=revision,
        created_at_ms=created_at_ms,
        updated_at_ms=updated_at_ms,
    )
