"""Between the values of the rooms below and the rows of the tables. Pure.

Here: what each row holds, encoding and decoding. Not here: SQL (`statements`), which commits share a transaction
(`groups`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from keystead.activities.activity import Activity
from keystead.activities.store import Commit
from keystead.api.enums import ActivityStatus
from keystead.api.records import AppProof, Policy, Status, Tag, User, Vote, Wallet, WalletAccount
from keystead.organizations.attachments import InterfaceText, NewAccount, RemovedInterfaceText, SealedSecret
from keystead.organizations.lookups import Lookup
from keystead.organizations.organization import (
    KIND_NAMED,
    KIND_OF,
    Change,
    ContractInterface,
    Invitation,
    Organization,
    Passkey,
    Put,
    Record,
    Remove,
    Version,
)
from keystead.storage.dialects import Row

NewAttachment = InterfaceText | NewAccount | SealedSecret

MAP_OF: dict[type[Record], str] = {
    User: "users",
    Passkey: "passkeys",
    Tag: "tags",
    Wallet: "wallets",
    ContractInterface: "contract_interfaces",
    Policy: "policies",
    Invitation: "invitations",
}
"""Which field of an organization holds the records of a kind of which there are many."""

_encode = msgspec.json.Encoder().encode
_record_decoders = {kind.word: msgspec.json.Decoder(kind.record) for kind in KIND_NAMED.values()}
_vote_decoder = msgspec.json.Decoder(Vote)
_result_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_app_proofs_decoder = msgspec.json.Decoder(tuple[AppProof, ...])
_failure_decoder = msgspec.json.Decoder(Status)
_account_decoder = msgspec.json.Decoder(WalletAccount)


class Move(msgspec.Struct, frozen=True):
    """An organization's step from one version to another; it holds only if the first is still the newest."""

    organization_id: str
    before: Version
    after: Version

    def parameters(self) -> dict[str, str | int]:
        return {
            "organization_id": self.organization_id,
            "before_number": self.before.number,
            "before_changed_by": self.before.changed_by,
            "after_number": self.after.number,
            "after_changed_by": self.after.changed_by,
        }


class Rows(msgspec.Struct, frozen=True):
    """What one commit writes, and the move it stands on.

    `rows` are pairs of table and row, in the order of the table's columns; `gone` of table and key.
    """

    move: Move | None
    rows: list[tuple[str, Row]]
    gone: list[tuple[str, Row]]


def of_commit(commit: Commit) -> Rows:
    """The rows of a commit; every body is encoded here, on the caller's thread."""
    move = None
    rows: list[tuple[str, Row]] = []
    gone: list[tuple[str, Row]] = []
    change = commit.change
    if change is not None:
        if change.before is None:
            rows.append(("organization", _organization_row(change.after)))
        else:
            move = Move(change.after.id, change.before, change.after.version)
    if commit.activity is not None:
        rows.append(("activity", _activity_row(commit.activity)))
        rows.extend(("vote", _vote_row(commit.activity, vote)) for vote in commit.activity.votes)
    if change is not None:
        after = change.after
        rows.extend(("record", _changed_row(after, changed)) for changed in change.changes)
        for attachment in change.attachments:
            if isinstance(attachment, RemovedInterfaceText):
                gone.append(("interface_text", (after.id, attachment.contract_interface_id)))
            else:
                rows.append(_attachment_row(after.id, attachment))
        rows.extend(("lookup", _lookup_row(after, lookup)) for lookup in change.lookups)
        gone.extend(("lookup", _lookup_row(after, lookup)) for lookup in change.forgotten)
    return Rows(move, rows, gone)


def of_founding(
    organization: Organization,
    attachments: Iterable[NewAttachment],
    lookups: Iterable[Lookup],
    instance: Mapping[str, bytes],
) -> Rows:
    """The rows that make an empty database an instance with its first organization."""
    rows: list[tuple[str, Row]] = [("instance", item) for item in instance.items()]
    rows.append(("organization", _organization_row(organization)))
    records: list[Record] = [organization.profile, organization.data_key]
    for field in MAP_OF.values():
        records.extend(getattr(organization, field).values())
    rows.extend(("record", _record_row(organization, record)) for record in records)
    rows.extend(_attachment_row(organization.id, attachment) for attachment in attachments)
    rows.extend(("lookup", _lookup_row(organization, lookup)) for lookup in lookups)
    return Rows(None, rows, [])


def _organization_row(organization: Organization) -> Row:
    version = organization.version
    return (organization.id, organization.profile.parent_id, version.number, version.changed_by)


def _record_row(organization: Organization, record: Record) -> Row:
    kind = KIND_OF[type(record)]
    return (organization.id, kind.word, kind.id_of(record), organization.version.number, _encode(record))


def _changed_row(organization: Organization, change: Change) -> Row:
    match change:
        case Put(record):
            return _record_row(organization, record)
        case Remove(kind, record_id):
            return (organization.id, KIND_OF[kind].word, record_id, organization.version.number, None)


def _activity_row(activity: Activity) -> Row:
    return (
        activity.organization_id,
        activity.id,
        activity.fingerprint,
        activity.type,
        activity.status.value,
        activity.request,
        _encode(activity.result),
        _encode(activity.app_proofs) if activity.app_proofs else None,
        _encode(activity.failure) if activity.failure is not None else None,
        activity.created_at_ms,
        activity.updated_at_ms,
    )


def _vote_row(activity: Activity, vote: Vote) -> Row:
    message = vote.message.encode()
    return (
        activity.organization_id,
        vote.activity_id,
        vote.user_id,
        vote.id,
        None if message == activity.request else message,
        _encode(replace(vote, message="")),
    )


def _attachment_row(organization_id: str, attachment: NewAttachment) -> tuple[str, Row]:
    match attachment:
        case InterfaceText(contract_interface_id, text):
            return "interface_text", (organization_id, contract_interface_id, text.encode())
        case NewAccount(account, normalized_path):
            return "wallet_account", (
                organization_id,
                account.wallet_account_id,
                account.wallet_id,
                normalized_path,
                account.curve.value,
                account.address_format.value,
                account.address,
                _encode(account),
            )
        case SealedSecret(record_id, purpose, sealed):
            return "sealed_secret", (organization_id, record_id, purpose, sealed.key_id, sealed.ciphertext)


def _lookup_row(organization: Organization, lookup: Lookup) -> Row:
    parent_id = organization.profile.parent_id or ""
    return (lookup.kind.value, lookup.value, parent_id, organization.id, lookup.user_id)


def change_from(kind: str, record_id: str, body: bytes | None) -> Change:
    """What became of a record: it is now so, or it is gone."""
    if body is None:
        return Remove(cast(Any, KIND_NAMED[kind].record), record_id)
    return Put(_record_decoders[kind].decode(body))


def account_from(row: Sequence[Any]) -> WalletAccount:
    return _account_decoder.decode(row[0])


def activities_from(rows: Iterable[Sequence[Any]]) -> list[Activity]:
    """Activities in the order of the rows: each has a row per vote, one after the other, or one without a vote."""
    activities: list[tuple[Sequence[Any], list[Vote]]] = []
    for row in rows:
        if not activities or activities[-1][0][1] != row[1]:
            activities.append((row, []))
        message, body = row[-2:]
        if body is not None:
            signed = row[5] if message is None else message
            activities[-1][1].append(replace(_vote_decoder.decode(body), message=signed.decode()))
    return [_activity_from(row, votes) for row, votes in activities]


def _activity_from(row: Sequence[Any], votes: list[Vote]) -> Activity:
    (
        organization_id,
        activity_id,
        fingerprint,
        activity_type,
        status,
        request,
        result,
        app_proofs,
        failure,
        created_at_ms,
        updated_at_ms,
    ) = row[:-2]
    return Activity(
        id=activity_id,
        organization_id=organization_id,
        type=activity_type,
        status=ActivityStatus(status),
        fingerprint=fingerprint,
        request=request,
        result=_result_decoder.decode(result),
        votes=tuple(votes),
        app_proofs=() if app_proofs is None else _app_proofs_decoder.decode(app_proofs),
        failure=None if failure is None else _failure_decoder.decode(failure),
        created_at_ms=created_at_ms,
        updated_at_ms=updated_at_ms,
    )
