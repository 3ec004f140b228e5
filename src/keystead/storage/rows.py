"""Between the values of the rooms below and the rows of the tables. Pure.

Here: what each row holds, encoding and decoding. Not here: SQL (`statements`), which commits share a transaction
(`groups`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
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
from keystead.chains.addresses.stored_forms import stored_form
from keystead.organizations.attachments import (
    MNEMONIC_PURPOSE,
    Attachment,
    ChangedAccount,
    Dissolution,
    InterfaceText,
    NewAccount,
    RemovedAccount,
    RemovedInterfaceText,
    RemovedSecret,
    RemovedWalletContents,
    SealedSecret,
    StoredAccount,
)
from keystead.organizations.kinds.data_key import DataKey
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import KIND_NAMED, KIND_OF, Change, Organization, Put, Remove, records_of
from keystead.pipeline.activity import Activity, Proof
from keystead.pipeline.store import Commit, OrganizationChange
from keystead.storage.write_set import ActivitySwap, Row, VersionSwap, WalletContents, WriteSet

_encode = msgspec.json.Encoder().encode
_record_decoders = {kind.word: msgspec.json.Decoder(kind.record) for kind in KIND_NAMED.values()}
_voter_decoder = msgspec.json.Decoder(User)
_result_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_proofs_decoder = msgspec.json.Decoder(tuple[Proof, ...])
_app_proofs_decoder = msgspec.json.Decoder(tuple[AppProof, ...])
_failure_decoder = msgspec.json.Decoder(Status)
_account_decoder = msgspec.json.Decoder(WalletAccount)

_TOMBSTONE = b""
_COLUMNS_OF_VOTES = 9
"""How many of them follow those of the activity in a row of both."""


class _Findings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of an evaluation that others share: everything but its ids and its time."""

    verdict: str
    rule: str
    policy_ids: tuple[str, ...] = ()
    policy_evaluations: tuple[PolicyOutcome, ...] = ()


_findings_decoder = msgspec.json.Decoder(_Findings)


def of_commit(commit: Commit) -> WriteSet:
    """The rows of a commit; every body is encoded here, on the caller's thread."""
    version_swap = activity_swap = None
    rows: list[tuple[str, Row]] = []
    deleted: list[tuple[str, Row]] = []
    activity, change, founding = commit.activity, commit.change, commit.founding
    if change is not None:
        assert change.before is not None, "an organization is founded by `founding`"
        version_swap = VersionSwap(change.after.id, change.before, change.after.version)
        rows.extend(_change_rows(change))
        deleted.extend(_gone(change))
    if founding is not None:
        rows.append(("organization", _organization_row(founding.after)))
        rows.extend(_change_rows(founding))
    if activity is not None:
        if activity.revision:
            activity_swap = ActivitySwap(
                activity.organization_id, activity.id, activity.revision - 1, _activity_changes(activity)
            )
        else:
            rows.append(("activity", _activity_row(activity)))
        votes = {vote.user_id: vote for vote in activity.votes}
        for vote in votes.values():
            rows.extend(_vote_rows(activity, vote))
    for evaluation in commit.evaluations:
        rows.extend(_evaluation_rows(evaluation))
    is_dissolved = change is not None and any(isinstance(one, Dissolution) for one in change.attachments)
    emptied = () if change is None else tuple(_emptied(change))
    return WriteSet(
        rows,
        deleted,
        version_swap,
        activity_swap,
        (commit.organization_id,) if is_dissolved else (),
        emptied,
    )


def of_founding(
    organization: Organization,
    attachments: Iterable[Attachment],
    lookups: Iterable[Lookup],
    instance: Mapping[str, bytes],
) -> WriteSet:
    """The rows that make an empty database an instance with its first organization."""
    founding = OrganizationChange(
        before=None,
        after=organization,
        changes=tuple(Put(record) for record in records_of(organization)),
        attachments=tuple(attachments),
        lookups=frozenset(lookups),
    )
    rows: list[tuple[str, Row]] = [("instance", item) for item in instance.items()]
    rows.append(("organization", _organization_row(organization)))
    rows.extend(_change_rows(founding))
    return WriteSet(rows, [])


def _change_rows(change: OrganizationChange) -> Iterable[tuple[str, Row]]:
    after = change.after
    for one in change.changes:
        yield "record", _record_row(after, one)
    for attachment in change.attachments:
        if isinstance(attachment, InterfaceText | NewAccount | ChangedAccount | SealedSecret):
            yield _attachment_row(after.id, attachment)
    for lookup in change.lookups:
        yield "lookup", _lookup_row(after, lookup)


def _gone(change: OrganizationChange) -> Iterable[tuple[str, Row]]:
    organization_id = change.after.id
    for attachment in change.attachments:
        match attachment:
            case RemovedInterfaceText(interface_id):
                yield "interface_text", (organization_id, interface_id)
            case RemovedAccount(account):
                yield "wallet_account", (organization_id, account.wallet_account_id)
            case RemovedSecret(record_id, purpose):
                yield "sealed_secret", (organization_id, record_id, purpose)
            case RemovedWalletContents(wallet_id):
                yield "sealed_secret", (organization_id, wallet_id, MNEMONIC_PURPOSE)
    for lookup in change.forgotten:
        yield "lookup", _lookup_row(change.after, lookup)


def _emptied(change: OrganizationChange) -> Iterable[WalletContents]:
    for attachment in change.attachments:
        if isinstance(attachment, RemovedWalletContents):
            yield WalletContents(change.after.id, attachment.wallet_id)


def _organization_row(organization: Organization) -> Row:
    version = organization.version
    return (organization.id, organization.profile.parent_id, version.number, version.changed_by)


def _record_row(after: Organization, change: Change) -> Row:
    match change:
        case Put(record):
            kind = KIND_OF[type(record)]
            return (after.id, kind.word, kind.id_of(record), after.version.number, _encode(record))
        case Remove(record_type, id_):
            return (after.id, KIND_OF[record_type].word, id_, after.version.number, _TOMBSTONE)


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


def _attachment_row(
    organization_id: str, attachment: InterfaceText | NewAccount | ChangedAccount | SealedSecret
) -> tuple[str, Row]:
    match attachment:
        case InterfaceText(contract_interface_id, text):
            return "interface_text", (organization_id, contract_interface_id, text.encode())
        case NewAccount(account, normalized_path):
            return "wallet_account", _account_row(organization_id, account, normalized_path, exported=False)
        case ChangedAccount(account, normalized_path, exported):
            return "wallet_account", _account_row(organization_id, account, normalized_path, exported=exported)
        case SealedSecret(record_id, purpose, sealed):
            return "sealed_secret", (organization_id, record_id, purpose, sealed.key_id, sealed.ciphertext)


def _account_row(organization_id: str, account: WalletAccount, normalized_path: str, *, exported: bool) -> Row:
    return (
        organization_id,
        account.wallet_account_id,
        account.wallet_id,
        normalized_path,
        str(account.curve),
        str(account.address_format),
        stored_form(account.address_format, account.address),
        account.name,
        exported,
        _encode(account),
    )


def _lookup_row(organization: Organization, lookup: Lookup) -> Row:
    """All of its columns are its key."""
    parent_id = organization.profile.parent_id or ""
    return (str(lookup.kind), lookup.value, parent_id, organization.id, lookup.holder_id)


def change_from(kind: str, id_: str, body: bytes) -> Change:
    """What became of a record."""
    if body == _TOMBSTONE:
        return Remove(KIND_NAMED[kind].record, id_)  # type: ignore[arg-type]  # one of those that can be removed
    return Put(_record_decoders[kind].decode(body))


def data_key_from(body: bytes) -> DataKey:
    key = _record_decoders[KIND_OF[DataKey].word].decode(body)
    assert isinstance(key, DataKey)
    return key


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


def account_from(row: Sequence[Any]) -> WalletAccount:
    return _account_decoder.decode(row[0])


def stored_account_from(row: Sequence[Any]) -> StoredAccount:
    body, exported = row[:2]
    return StoredAccount(_account_decoder.decode(body), bool(exported))


def activities_from(rows: Iterable[Sequence[Any]]) -> list[Activity]:
    """Activities in the order of the rows: each has a row per vote, one after the other, or one without a vote."""
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
    """Without its votes."""
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
