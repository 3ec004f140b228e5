"""The body of a submission: its envelope, its intent in the version that it names, its fingerprint.

Here: decoding, and the check of its time. Not here: who sent it, and the steps that follow (`lifecycle`).
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.decoding import decode_canonical, decoder, refuse_repeated_members
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct
from keystead.api.secret_fields import repr_without_contents
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.lookups import AccountValue
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


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded submission. `intent` is of the version that was sent.

    `organization_id`: the organization that it changes. The body names this organization or its parent; in the
    second case the submitter was found in the sub-organization. `identities`: what its ID tokens prove, by field,
    after they were verified.
    """

    organization_id: str
    operation: ActivityOperation
    version: IntentVersion
    envelope: Envelope[Any]
    intent: RequestStruct
    request: bytes
    fingerprint: str
    identities: Mapping[str, ProvenIdentity] = {}

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


_ENVELOPE = decoder(Envelope[msgspec.Raw])


def fingerprint(body: bytes) -> str:
    """The fingerprint of a submission: "sha256:" and the lower-case hex of SHA-256 over the exact bytes of its
    body."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def read_submission(operation: ActivityOperation, body: bytes) -> Submission:
    """Decode a body sent to this operation's path.

    Raises InvalidRequest, which names the field, for malformed input and for a type that does not belong to this
    path.
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
    return Submission(
        organization_id=envelope.organization_id,
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
        raise InvalidRequest(
            f"Invalid activity type: field `type`: {activity_type!r} does not belong to {operation.path}; "
            f"expected {' or '.join(operation.activity_types)}"
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
    if not any(now_ms - liveness.past_ms < sent_ms <= now_ms + liveness.future_ms for now_ms in times_ms):
        raise InvalidRequest(
            f"invalid request body: field `timestampMs`: {sent_ms} is too far from the server's time "
            f"{times_ms[0]}; accepted are less than {liveness.past_ms // 1000} s of age and at most "
            f"{liveness.future_ms // 1000} s ahead"
        )
