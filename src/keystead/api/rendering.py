"""From values to answer bytes, in the two forms that callers need.

SDK form: what the published clients parse; absent optional fields are left out. Documented form: what the API
documentation shows; every text field is there, "" where nothing is set; an activity differs more.
Not here: which form a caller gets (`server`), and what an answer holds (the operations).
"""

from __future__ import annotations

import datetime
import functools
import types
import typing
from enum import Enum
from typing import Any

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import AppProof, Status, Timestamp, Vote, Wire


class Form(Enum):
    DOCUMENTED = "documented"
    SDK = "sdk"


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity as its caller sees it; `intent` and `result` hold one member each, or none."""

    id: str
    organization_id: str
    status: ActivityStatus
    type: str
    timestamp_ms: str
    intent: dict[str, Any]
    result: dict[str, Any]
    votes: tuple[Vote, ...]
    app_proofs: tuple[AppProof, ...]
    fingerprint: str
    can_approve: bool
    can_reject: bool
    created_at_ms: int
    updated_at_ms: int
    failure: Status | None


_encoder = msgspec.json.Encoder()
encode = _encoder.encode


def answer(response: Wire, form: Form) -> bytes:
    """The bytes of a query's answer."""
    if form is Form.DOCUMENTED:
        return encode(documented(response))
    if not _holds_activities(type(response)):
        return encode(response)
    return encode(
        {
            wire_name: _sdk_activity(held) if isinstance(held, Activity) else [_sdk_activity(one) for one in held]
            for name, wire_name, _, _ in _fields(type(response))
            for held in [getattr(response, name)]
        }
    )


def activity_answer(activity: Activity, form: Form) -> bytes:
    """The bytes of {"activity": …}."""
    return encode({"activity": activity_object(activity, form)})


def activity_object(activity: Activity, form: Form) -> dict[str, Any]:
    """One activity in the given form; the documented one repeats itself under `result.activity`."""
    if form is Form.SDK:
        return _sdk_activity(activity)
    shown = _documented_activity(activity)
    return {**shown, "result": {**shown["result"], "activity": shown}}


def error_answer(error: ServiceError) -> bytes:
    """The bytes of a refusal: code, message, details, and the machine code where there is one."""
    details = error.details
    if details is None:
        details = (
            [
                {
                    "@type": "type.googleapis.com/errors.v1.TurnkeyErrorDetail",
                    "turnkeyErrorCode": error.machine_code,
                }
            ]
            if error.machine_code
            else []
        )
    return encode(
        {
            "code": error.grpc_code,
            "message": error.message,
            "details": details,
            "turnkeyErrorCode": error.machine_code,
        }
    )


def rfc3339(epoch_ms: int) -> str:
    """UTC with milliseconds: 2026-11-21T18:53:00.123Z."""
    moment = datetime.datetime.fromtimestamp(epoch_ms // 1000, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{epoch_ms % 1000:03d}Z"


def _shared_members(activity: Activity) -> dict[str, Any]:
    members = {
        "id": activity.id,
        "organizationId": activity.organization_id,
        "status": activity.status,
        "type": activity.type,
        "intent": activity.intent,
        "result": activity.result,
        "votes": activity.votes,
        "fingerprint": activity.fingerprint,
        "canApprove": activity.can_approve,
        "canReject": activity.can_reject,
    }
    if activity.app_proofs:
        members["appProofs"] = activity.app_proofs
    if activity.failure is not None:
        members["failure"] = activity.failure
    return members


def _sdk_activity(activity: Activity) -> dict[str, Any]:
    return {
        **_shared_members(activity),
        "createdAt": Timestamp.from_ms(activity.created_at_ms),
        "updatedAt": Timestamp.from_ms(activity.updated_at_ms),
    }


def _documented_activity(activity: Activity) -> dict[str, Any]:
    members = _shared_members(activity)
    return {
        **members,
        "timestampMs": activity.timestamp_ms,
        "intent": {key: documented(value) for key, value in activity.intent.items()},
        "result": {key: documented(value) for key, value in activity.result.items()},
        "votes": [documented(vote) for vote in activity.votes],
        "createdAt": rfc3339(activity.created_at_ms),
        "updatedAt": rfc3339(activity.updated_at_ms),
    }


def documented(value: Any) -> Any:
    """The value with every absent text field filled by "" (other absent fields stay out)."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, Activity):
        return activity_object(value, Form.DOCUMENTED)
    if isinstance(value, msgspec.Struct):
        members = {}
        for name, wire_name, is_text, is_plain in _fields(type(value)):
            field = getattr(value, name)
            if field is None:
                if is_text:
                    members[wire_name] = ""
            else:
                members[wire_name] = field if is_plain else documented(field)
        return members
    if isinstance(value, (tuple, list)):
        return [documented(item) for item in value]
    return value


@functools.cache
def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, str, bool, bool], ...]:
    """(attribute, wire name, is absent text shown as "", needs no look inside) of each field."""
    hints = typing.get_type_hints(struct)
    return tuple(
        (
            field.name,
            field.encode_name,
            _is_optional_text(hints[field.name]),
            hints[field.name] in (str, int, bool),
        )
        for field in msgspec.structs.fields(struct)
    )


@functools.cache
def _holds_activities(struct: type[msgspec.Struct]) -> bool:
    """Whether this is the response of a query for activities, which hold nothing else."""
    return any(hint in (Activity, tuple[Activity, ...]) for hint in typing.get_type_hints(struct).values())


def _is_optional_text(hint: Any) -> bool:
    if not isinstance(hint, types.UnionType) and typing.get_origin(hint) is not typing.Union:
        return False
    members = set(typing.get_args(hint))
    return type(None) in members and all(
        isinstance(member, type) and issubclass(member, str) and not issubclass(member, Enum)
        for member in members - {type(None)}
    )
