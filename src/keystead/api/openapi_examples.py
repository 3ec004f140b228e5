"""Examples of requests for the OpenAPI document, made from the structs of the requests.

They have the right form, so they can be sent; the records that they name do not exist.
"""

from __future__ import annotations

import re
import types
import typing
from enum import Enum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from keystead.api.decoding import PUBLIC_KEY_CREDENTIAL
from keystead.api.identifiers import UUID_PATTERN
from keystead.api.parameters import OneOf

_TEXTS = ("text", "1")
_ID = "01998877-6655-7443-8221-100aabbccdde"


def example_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """A request of this form with the members that it must have."""
    hints, fields = typing.get_type_hints(struct, include_extras=True), msgspec.structs.fields(struct)
    given = fields[:1] if issubclass(struct, OneOf) else [field for field in fields if field.required]
    return {field.encode_name: _example(hints[field.name]) for field in given}


def example_submission(activity_type: str, intent: type[msgspec.Struct]) -> dict[str, Any]:
    """A submission of this type."""
    return {
        "type": activity_type,
        "timestampMs": "1764000000000",
        "organizationId": _ID,
        "parameters": example_of(intent),
    }


def _example(kind: Any, *constraints: Meta) -> Any:
    if typing.get_origin(kind) is Annotated:
        bare, *extras = typing.get_args(kind)
        return _example(bare, *(extra for extra in extras if isinstance(extra, Meta)))
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return _example(next(member for member in typing.get_args(kind) if member is not type(None)), *constraints)
    if typing.get_origin(kind) is tuple:
        at_least = max((constraint.min_length or 0 for constraint in constraints), default=0)
        return [_example(typing.get_args(kind)[0])] * at_least
    if typing.get_origin(kind) is dict:
        return {}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind)).value
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return example_of(kind)
    if kind is str:
        return _text([constraint.pattern for constraint in constraints])
    if kind is bool:
        return False
    if kind is int:
        return 1
    raise TypeError(f"no example of {kind!r}")


def _text(patterns: list[str | None]) -> str:
    if UUID_PATTERN in patterns:
        return _ID
    if PUBLIC_KEY_CREDENTIAL in patterns:
        return "public-key"
    return next(
        (text for text in _TEXTS if all(re.search(pattern, text) for pattern in patterns if pattern)), "text"
    )
