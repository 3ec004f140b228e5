"""From values to answer bytes, in the two forms that callers need.

SDK form: what the published clients parse; absent optional fields are left out. Documented form: what the API
documentation shows; every text field is present, "" if nothing is set, and activities have another shape.
Not here: which form a caller gets (`server`), and the content of an answer (the operations).
"""

from __future__ import annotations

import datetime
import functools
import types
import typing
from enum import Enum
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.decoding import is_not_supported
from keystead.api.errors import ServiceError
from keystead.api.records import Activity, Timestamp, Wire


class Form(Enum):
    DOCUMENTED = "documented"
    SDK = "sdk"


_encoder = msgspec.json.Encoder()
encode = _encoder.encode


def answer(response: Wire, form: Form) -> bytes:
    """The bytes of an answer in this form."""
    if form is Form.DOCUMENTED:
        return encode(to_documented_form(response))
    return encode(_without_timestamps(response) if holds_activities(type(response)) else response)


def rendered_activity(activity: Activity, form: Form) -> bytes:
    """The bytes of an activity alone, as webhooks have it."""
    return encode(to_documented_form(activity) if form is Form.DOCUMENTED else replace(activity, timestamp_ms=None))


def error_answer(error: ServiceError) -> bytes:
    """The bytes of a refusal: code, message, details, and the machine code if there is one."""
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
    seconds, ms = divmod(epoch_ms, 1000)
    return f"{_to_the_second(seconds)}.{ms:03d}Z"


@functools.lru_cache(maxsize=64)
def _to_the_second(epoch_s: int) -> str:
    """Cached: every log line needs the current second, and formatting it takes five times as long."""
    return f"{datetime.datetime.fromtimestamp(epoch_s, datetime.UTC):%Y-%m-%dT%H:%M:%S}"


def _without_timestamps(response: Wire) -> Wire:
    """The response without its activities' `timestampMs`, which the SDK form does not have."""
    held = {name: getattr(response, name) for name, _, _, _ in _fields(type(response))}
    return replace(
        response,
        **{
            name: replace(value, timestamp_ms=None)
            if isinstance(value, Activity)
            else tuple(replace(activity, timestamp_ms=None) for activity in value)
            for name, value in held.items()
        },
    )


def _documented_activity(activity: Activity) -> dict[str, Any]:
    """Times as text; `result.activity` repeats the activity, without that member."""
    members = _with_empty_texts(activity)
    # Long members that appear twice are encoded once.
    members["intent"] = _encode_raw({key: to_documented_form(value) for key, value in activity.intent.items()})
    members["votes"] = _encode_raw(members["votes"])
    members["createdAt"] = rfc3339(activity.created_at.epoch_ms)
    members["updatedAt"] = rfc3339(activity.updated_at.epoch_ms)
    return {**members, "result": {**activity.result, "activity": members}}


def _encode_raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))


def to_documented_form(value: Any) -> Any:
    """The value in documented form."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, Activity):
        return _documented_activity(value)
    if isinstance(value, msgspec.Struct):
        return _with_empty_texts(value)
    if isinstance(value, (tuple, list)):
        return [to_documented_form(item) for item in value]
    return value


def _with_empty_texts(struct: msgspec.Struct) -> dict[str, Any]:
    """The members of the struct by wire name. An absent text is "", other absent members are left out."""
    members = {}
    for name, wire_name, is_text, is_plain in _fields(type(struct)):
        field = getattr(struct, name)
        if field is None:
            if is_text:
                members[wire_name] = ""
        else:
            members[wire_name] = field if is_plain else to_documented_form(field)
    return members


@functools.cache
def _fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, str, bool, bool], ...]:
    """For each field: attribute, wire name, whether it is an optional text, whether its value is rendered as it
    is."""
    hints = typing.get_type_hints(struct)
    annotated = typing.get_type_hints(struct, include_extras=True)
    return tuple(
        (
            field.name,
            field.encode_name,
            _is_optional_text(hints[field.name]),
            hints[field.name] in (str, int, bool),
        )
        for field in msgspec.structs.fields(struct)
        if not is_not_supported(annotated[field.name])
    )


@functools.cache
def holds_activities(struct: type[msgspec.Struct]) -> bool:
    """Whether this response holds activities. Such a response has no other members."""
    return any(hint in (Activity, tuple[Activity, ...]) for hint in typing.get_type_hints(struct).values())


def _is_optional_text(hint: Any) -> bool:
    if not isinstance(hint, types.UnionType) and typing.get_origin(hint) is not typing.Union:
        return False
    members = set(typing.get_args(hint))
    return type(None) in members and all(
        isinstance(member, type) and issubclass(member, str) and not issubclass(member, Enum)
        for member in members - {type(None)}
    )
