"""A submission: its body with the envelope, the intent in the version that it names and the fingerprint; its
caller. And an activity as one caller sees it, whose intent is read again from its request.

Here: the values, decoding, and the check of its time. Not here: the stamp (`server.authentication`), how the caller
is found (`server.callers`), the steps that follow (`lifecycle`)."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from keystead.api import records
from keystead.api.catalogue import Catalogue, activity_kind
from keystead.api.decoding import decode_canonical, decoder, refuse_repeated_members, without_unsupported
from keystead.api.enums import FINAL_STATUSES, VoteSelection
from keystead.api.errors import InvalidRequest, NotImplementedHere
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct
from keystead.api.public_schema import ACTIVITY_TYPES
from keystead.api.secret_fields import repr_without_contents
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.lookups import AccountValue
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.operation import ActivityOperation, IntentVersion

ParametersT = TypeVar("ParametersT")


class Envelope(RequestStruct, Generic[ParametersT], frozen=True):
    """The members that every submission has. `timestamp_ms` is decimal text."""

    type: Annotated[str, Meta(max_length=255)]
    timestamp_ms: Annotated[str, Meta(max_length=20)]
    organization_id: Uuid
    parameters: ParametersT
    generate_app_proofs: bool | None = None

    __repr__ = repr_without_contents


class Liveness(msgspec.Struct, frozen=True):
    """How far a request's time may be from the server's, in milliseconds."""

    past_ms: int = 3_600_000
    future_ms: int = 300_000


class SubmissionBody(msgspec.Struct, frozen=True, kw_only=True):
    """The decoded body of a submission. `intent` is of the version that was sent."""

    operation: ActivityOperation
    version: IntentVersion
    envelope: Envelope[Any]
    intent: RequestStruct
    request: bytes
    fingerprint: str

    __repr__ = repr_without_contents

    def user_lookup(self) -> AccountValue | None:
        """The value that finds the sub-organization of the user whom the submission is about, if a user of the
        parent submits it."""
        by_parent = self.operation.by_parent
        if by_parent is None or by_parent.user_lookup is None:
            return None
        return by_parent.user_lookup(self.version.upgrade(self.intent))

    def id_tokens(self) -> Mapping[str, str]:
        """The ID tokens in its intent, by field. They are not verified yet."""
        tokens = self.operation.oidc_tokens
        return {} if tokens is None else tokens(self.version.upgrade(self.intent))


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission or a vote: decoded, and authenticated.

    `seen`: the organization that it changes, as it was read after the request arrived. The body names this
    organization or its parent; in the second case the submitter was found in the sub-organization. `caller`: who
    stamped it. `source`: the address that it came from. `identities`: what its ID tokens prove, by field, after
    they were verified."""

    body: SubmissionBody
    caller: Principal
    seen: Organization
    source: SourceAddress
    identities: Mapping[str, ProvenIdentity] = {}

    __repr__ = repr_without_contents

    @property
    def organization_id(self) -> str:
        return self.seen.id

    @property
    def is_vote(self) -> bool:
        return self.body.operation.vote is not None

    @property
    def activity_fingerprint(self) -> str:
        """The fingerprint of the activity that it makes or votes on."""
        if self.is_vote:
            return self.body.intent.fingerprint  # type: ignore[attr-defined, no-any-return]
        return self.body.fingerprint


_ENVELOPE = decoder(Envelope[msgspec.Raw])


def fingerprint(body: bytes) -> str:
    """The fingerprint of a submission: "sha256:" and the lower-case hex of SHA-256 over the exact bytes of its
    body."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def read_submission(operation: ActivityOperation, body: bytes) -> SubmissionBody:
    """Decode a body sent to this operation's path.

    Raises InvalidRequest, which names the field, for malformed input and for a type that does not belong to this
    path; NotImplementedHere for a version in the public schema that this server does not read.
    """
    version = operation.versions[0]
    value = decode_canonical(body)
    envelope = _decode_in_one_pass(version, body, value)
    if envelope is not None:
        intent = envelope.parameters
    else:
        envelope = _ENVELOPE.decode(body)
        version = _version_of(operation, envelope.type)
        intent = read_intent(version, envelope.parameters)
    if value is None:
        refuse_repeated_members(body)
    return SubmissionBody(
        operation=operation,
        version=version,
        envelope=envelope,
        intent=intent,
        request=body,
        fingerprint=fingerprint(body),
    )


def _version_of(operation: ActivityOperation, activity_type: str) -> IntentVersion:
    version = operation.version_of(activity_type)
    if version is None:
        expected = f"expected {' or '.join(operation.activity_types)}"
        kinds = map(activity_kind, operation.activity_types)
        if activity_type in ACTIVITY_TYPES and activity_kind(activity_type) in kinds:
            raise NotImplementedHere(
                f"field `type`: {activity_type} is not implemented by this version of Keystead; {expected}"
            )
        raise InvalidRequest(
            f"Invalid activity type: field `type`: {activity_type!r} does not belong to {operation.path}; "
            f"{expected}"
        )
    return version


def read_intent(version: IntentVersion, parameters: msgspec.Raw) -> RequestStruct:
    """The intent of this version. One unknown member is accepted: a published client puts `generateAppProofs`
    among the parameters."""
    try:
        return version.decoder.decode(parameters)  # type: ignore[no-any-return]
    except InvalidRequest:
        members = _members(parameters)
        if members is None or "generateAppProofs" not in members:
            raise
        del members["generateAppProofs"]
        return version.decoder.decode(msgspec.json.encode(members))  # type: ignore[no-any-return]


def _members(parameters: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    try:
        return msgspec.json.decode(parameters, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def recorded_envelope(request: bytes) -> Envelope[msgspec.Raw]:
    """The envelope of a request on record."""
    envelope: Envelope[msgspec.Raw] = _ENVELOPE.decode(request)
    return envelope


def recorded_request(version: IntentVersion, request: bytes) -> tuple[Envelope[Any], RequestStruct]:
    """The envelope and the intent of a request on record. The request is of this version."""
    typed_envelope = _decode_in_one_pass(version, request, None)
    if typed_envelope is not None:
        return typed_envelope, typed_envelope.parameters
    envelope = recorded_envelope(request)
    return envelope, read_intent(version, envelope.parameters)


def _decode_in_one_pass(version: IntentVersion, body: bytes, value: Any) -> Envelope[Any] | None:
    """The envelope with the intent, decoded in one pass, which takes half the time of two. `value`: the JSON value
    of the body, if it was decoded already, otherwise None.

    None if the body is not of this version, or is malformed. The caller then decodes envelope and intent one after
    the other, which raises the right error.
    """
    decoder_ = _one_pass_decoder(version.intent)
    try:
        envelope: Envelope[Any] = decoder_.decode(body) if value is None else msgspec.convert(value, decoder_.type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return envelope if envelope.type == version.activity_type else None


@functools.cache
def _one_pass_decoder(intent: type[RequestStruct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Envelope[intent])  # type: ignore[valid-type]


def check_liveness(envelope: Envelope[Any], times_ms: Sequence[int], liveness: Liveness) -> None:
    """Raise InvalidRequest unless the request's time is near one of these times. The first one is the server's."""
    text = envelope.timestamp_ms
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest(
            "invalid request body: field `timestampMs`: expected milliseconds since the epoch as decimal text, "
            f"got {json.dumps(text)}"
        )
    sent_ms = int(text)
    for now_ms in times_ms:
        if now_ms - liveness.past_ms < sent_ms <= now_ms + liveness.future_ms:
            break
    else:
        raise InvalidRequest(
            f"invalid request body: field `timestampMs`: {sent_ms} is too far from the server's time "
            f"{times_ms[0]}; accepted are less than {liveness.past_ms // 1000} s of age and at most "
            f"{liveness.future_ms // 1000} s ahead"
        )


def view(
    activity: RecordedActivity,
    catalogue: Catalogue,
    user_id: str,
    *,
    may_vote: bool,
    lacks_proofs: bool,
    body: SubmissionBody | None = None,
) -> records.Activity:
    """The activity as this user sees it.

    `may_vote`: whether the user may vote on it. `lacks_proofs`: whether the user's approval waits for further
    proofs. `body`: what the user has just sent; if it is this activity's request, it is not decoded again.
    """
    operation = catalogue.of_type(activity.type)
    assert isinstance(operation, ActivityOperation), activity.type
    version = operation.version_of(activity.type)
    assert version is not None, activity.type
    if body is not None and body.fingerprint == activity.fingerprint:
        envelope, intent = body.envelope, body.intent
    else:
        envelope, intent = recorded_request(version, activity.request)
    open_to_vote = may_vote and activity.status not in FINAL_STATUSES
    return records.Activity(
        id=activity.id,
        organization_id=activity.organization_id,
        status=activity.status,
        type=activity.type,
        timestamp_ms=envelope.timestamp_ms,
        intent={version.intent_key: without_unsupported(intent)},
        result=dict(activity.result),
        votes=activity.votes,
        app_proofs=activity.app_proofs or None,
        fingerprint=activity.fingerprint,
        can_approve=open_to_vote and (lacks_proofs or not _has_approved(activity, user_id)),
        can_reject=open_to_vote,
        created_at=records.Timestamp.from_ms(activity.created_at_ms),
        updated_at=records.Timestamp.from_ms(activity.updated_at_ms),
        failure=activity.failure,
    )


def _has_approved(activity: RecordedActivity, user_id: str) -> bool:
    """Whether the user's vote is an approval that has not lapsed."""
    return any(
        vote.user_id == user_id
        and vote.selection is VoteSelection.APPROVED
        and vote.created_at.epoch_ms >= activity.approvals_since_ms
        for vote in activity.votes
    )
