"""From rows to records, activities, votes and accounts. Pure.

Not here: other attached rows (`organizations.attached_rows`), which rows a commit writes (`rows`), the statements
that read them (`statements`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus, VoteSelection
from keystead.api.errors import Unavailable
from keystead.api.records import AppProof, Evaluation, Status, Timestamp, User, Vote, WalletAccount
from keystead.organizations.attachments import StoredAccount
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.organization import Change, Put, Remove
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.storage.row_encoding import EvaluationBody
from keystead.storage.rows import TOMBSTONE

_data_key_decoder = msgspec.json.Decoder(SealedDataKey)
_voter_decoder = msgspec.json.Decoder(User)
_result_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_proofs_decoder = msgspec.json.Decoder(tuple[Proof, ...])
_app_proofs_decoder = msgspec.json.Decoder(tuple[AppProof, ...])
_failure_decoder = msgspec.json.Decoder(Status)
_account_decoder = msgspec.json.Decoder(WalletAccount)
_evaluation_body_decoder = msgspec.json.Decoder(EvaluationBody)

_COLUMNS_OF_VOTES = 9
"""How many columns of the vote follow those of the activity in a row of `activities_of_page`."""


class RecordReader:
    """Reads the records of these kinds from their rows."""

    def __init__(self, kinds: RecordKinds) -> None:
        self._kinds = {
            name: (kind, msgspec.json.Decoder(kind.record)) for name, kind in kinds.by_stored_name.items()
        }

    def change(self, kind: str, id_: str, body: bytes) -> Change:
        """The change of a record that its row states. Raises Unavailable for an unknown kind, and for a record that
        is stored under another id: a change of it would leave this row."""
        if kind not in self._kinds:
            # The record cannot be left out: this version would then allow what the newer version forbids.
            raise Unavailable(
                f"a newer version of Keystead wrote a record of the kind {kind[:100]!a} into this organization; "
                "only a server of that version can use the organization"
            )
        record_kind, decoder = self._kinds[kind]
        if body == TOMBSTONE:
            return Remove(record_kind.record, id_)
        record = decoder.decode(body)
        if (own_id := record_kind.id_of(record)) != id_:
            raise Unavailable(
                f"the database is damaged: the {record_kind.called} {own_id} is stored under the id {id_[:100]!a}; "
                "keystead check lists all damage"
            )
        return Put(record)


def data_key_from(body: bytes) -> SealedDataKey:
    return _data_key_decoder.decode(body)


def evaluation_from(row: Sequence[Any]) -> Evaluation:
    organization_id, activity_id, evaluation_id, vote_id, created_at_ms, _, body = row
    findings = _evaluation_body_decoder.decode(body)
    return Evaluation(
        id=evaluation_id,
        activity_id=activity_id,
        organization_id=organization_id,
        vote_id=vote_id,
        policy_evaluations=findings.policy_evaluations,
        created_at=Timestamp.from_ms(created_at_ms),
        verdict=findings.verdict,
        rule=findings.rule,
        policy_ids=findings.policy_ids,
    )


def account_from(row: Sequence[Any]) -> WalletAccount:
    return _account_decoder.decode(row[0])


def stored_account_from(row: Sequence[Any]) -> StoredAccount:
    body, exported = row[:2]
    return StoredAccount(_account_decoder.decode(body), bool(exported))


class ActivityReader:
    """Reads activities from the rows of `activities_of_page`: each from its own row and those of its votes, which
    follow."""

    def __init__(self) -> None:
        self._activities: list[tuple[RecordedActivity, list[Vote]]] = []

    def add(self, row: Sequence[Any]) -> None:
        columns = row[-_COLUMNS_OF_VOTES:]
        if columns[0] is None:
            self._activities.append((_activity_from(row[:-_COLUMNS_OF_VOTES]), []))
        else:
            activity, votes = self._activities[-1]
            assert activity.id == row[1], "the row of an activity precedes those of its votes"
            votes.append(_vote_from(activity, columns))

    def activities(self) -> list[RecordedActivity]:
        """The activities of the rows so far, in their order."""
        return [replace(activity, votes=tuple(votes)) for activity, votes in self._activities]


def _vote_from(activity: RecordedActivity, columns: Sequence[Any]) -> Vote:
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


def _activity_from(row: Sequence[Any]) -> RecordedActivity:
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
    return RecordedActivity(
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
