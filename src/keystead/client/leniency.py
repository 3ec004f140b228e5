"""Reading the answers of a newer server: unknown members are skipped, unknown words of an enumeration are kept.

Strict decoding is tried first; this slower conversion is for what it refuses.
Not here: bytes (`answers`).
"""

from __future__ import annotations

import types
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

WordT = TypeVar("WordT", bound=StrEnum)


def converted(value: Any, kind: Any) -> Any:
    """Decoded JSON as a value of `kind`. Unknown words of enumerations are kept. Raises msgspec.ValidationError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _built(value, kind)


def _built(value: Any, kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        members = [member for member in get_args(kind) if member is not types.NoneType]
        if value is not None and len(members) == 1:
            return _built(value, members[0])
    elif get_origin(kind) is tuple and isinstance(value, list):
        item = get_args(kind)[0]
        return tuple(_built(each, item) for each in value)
    elif isinstance(kind, type) and issubclass(kind, StrEnum) and isinstance(value, str):
        return _word(value, kind)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict):
        return _struct(value, kind)
    return msgspec.convert(value, kind)


def _struct(value: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    for field in fields:
        if field.required and field.encode_name not in value:
            raise msgspec.ValidationError(f"Object missing required field `{field.encode_name}`")
    return kind(
        **{
            field.name: _built(value[field.encode_name], hints[field.name])
            for field in fields
            if field.encode_name in value
        }
    )


def _word(value: str, kind: type[WordT]) -> WordT:
    """The member of this value; or, for a word newer than this client, one that equals it and is on no list."""
    try:
        return kind(value)
    except ValueError:
        word = str.__new__(kind, value)
        word._name_ = word._value_ = value
        return word
