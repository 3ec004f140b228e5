"""Long histories of activities, written directly to the database.

Here: activities of several types and statuses, like those of real submissions. The records that they name do not
exist; no query of activities reads these.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bench.rows import Batch, shown, write
from keystead.api.enums import ActivityStatus, CredentialType, VoteSelection
from keystead.api.identifiers import new_id
from keystead.api.records import Evaluation, Status, Timestamp, User, Vote
from keystead.organizations.organization import Version
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.store import Commit
from keystead.storage.row_encoding import rows_of

TYPES = ("ACTIVITY_TYPE_CREATE_USER_TAG", "ACTIVITY_TYPE_UPDATE_USER_NAME", "ACTIVITY_TYPE_CREATE_WALLET")
STATUSES = (*[ActivityStatus.COMPLETED] * 7, ActivityStatus.FAILED, ActivityStatus.REJECTED)
"""The statuses with their frequencies. No activity is open, because a query authorizes again whether the caller
may vote on an open one, and that would measure policies."""

_AT_ONCE = 5_000
_CURSORS = 100
_MADE_AT_MS = 1_767_225_600_000
_SIGNATURE_BYTES = 71


def write_history(database_url: str, organization_id: str, user: User, count: int) -> Sequence[str]:
    """Write `count` activities of this user to this organization. Returns the ids of some from the middle of the
    list."""
    ids = sorted(new_id() for _ in range(count))
    write(database_url, shown(_batches(organization_id, user, ids), "activities", _AT_ONCE, len(ids)))
    middle = (count - _CURSORS) // 2
    return ids[middle : middle + _CURSORS]


def _batches(organization_id: str, user: User, ids: Sequence[str]) -> Iterator[Batch]:
    for begin in range(0, len(ids), _AT_ONCE):
        numbered = enumerate(ids[begin : begin + _AT_ONCE], begin)
        yield [row for number, id_ in numbered for row in _rows(organization_id, user, id_, number)]


def _rows(organization_id: str, user: User, id_: str, number: int) -> Batch:
    type_, status = TYPES[number % len(TYPES)], STATUSES[number % len(STATUSES)]
    made_at_ms = _MADE_AT_MS + number
    parameters, result = _asked(type_, number)
    if status is not ActivityStatus.COMPLETED:
        result = {}
    request = msgspec.json.encode(
        {
            "type": type_,
            "timestampMs": str(made_at_ms),
            "organizationId": organization_id,
            "parameters": parameters,
        }
    )
    key = user.api_keys[0]
    fingerprint = "sha256:" + hashlib.sha256(request).hexdigest()
    vote = Vote(
        id=new_id(),
        user_id=user.user_id,
        user=user,
        activity_id=id_,
        selection=VoteSelection.APPROVED,
        message=request.decode(),
        public_key=key.credential.public_key,
        signature=secrets.token_hex(_SIGNATURE_BYTES),
        scheme="SIGNATURE_SCHEME_TK_API_P256",
        created_at=Timestamp.from_ms(made_at_ms),
    )
    proof = Proof(
        user_id=user.user_id,
        record_id=key.api_key_id,
        type=CredentialType.API_KEY_P256,
        public_key=key.credential.public_key,
        credential_id="",
        at_ms=made_at_ms,
        fingerprint=fingerprint,
    )
    evaluation = Evaluation(
        id=new_id(),
        activity_id=id_,
        organization_id=organization_id,
        vote_id=vote.id,
        policy_evaluations=(),
        created_at=Timestamp.from_ms(made_at_ms),
        verdict="allow",
        rule="enough members of the root quorum approve",
        policy_ids=(),
    )
    activity = RecordedActivity(
        id=id_,
        organization_id=organization_id,
        type=type_,
        status=status,
        fingerprint=fingerprint,
        request=request,
        result={name: msgspec.Raw(msgspec.json.encode(value)) for name, value in result.items()},
        votes=(vote,),
        app_proofs=(),
        failure=Status(code=5, message="no such record") if status is ActivityStatus.FAILED else None,
        submitter_id=user.user_id,
        proofs=(proof,),
        approvals_since_ms=made_at_ms,
        revision=0,
        created_at_ms=made_at_ms,
        updated_at_ms=made_at_ms,
    )
    return rows_of(
        Commit(
            organization_id=organization_id, decided_on=Version(1, ""), activity=activity, evaluations=(evaluation,)
        )
    ).inserted


def _asked(type_: str, number: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The parameters and the result of an activity of this type."""
    match type_:
        case "ACTIVITY_TYPE_CREATE_USER_TAG":
            return (
                {"userTagName": f"Tag {number}", "userIds": [new_id() for _ in range(3)]},
                {"createUserTagResult": {"userTagId": new_id(), "userIds": []}},
            )
        case "ACTIVITY_TYPE_UPDATE_USER_NAME":
            user_id = new_id()
            return {"userId": user_id, "userName": f"User {number}"}, {"updateUserNameResult": {"userId": user_id}}
        case _:
            account = {
                "curve": "CURVE_SECP256K1",
                "pathFormat": "PATH_FORMAT_BIP32",
                "path": "m/44'/60'/0'/0/0",
                "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
            }
            addresses = [f"0x{secrets.token_hex(20)}"]
            return (
                {"walletName": f"Wallet {number}", "accounts": [account]},
                {"createWalletResult": {"walletId": new_id(), "addresses": addresses}},
            )
