"""Reads the answers of a newer server: skips unknown members, keeps unknown words of an enumeration.

Strict decoding is tried first. This slower conversion is for the answers that it refuses.
Not here: bytes (`answers`).
"""

from __future__ import annotations

import types
from enum import StrEnum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

WordT = TypeVar("WordT", bound=StrEnum)


def convert_leniently(value: Any, kind: Any) -> Any:
    """Decoded JSON as a value of `kind`. Unknown words of enumerations are kept. Raises msgspec.ValidationError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _build(value, kind)


def _build(value: Any, kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        members = [member for member in get_args(kind) if member is not types.NoneType]
        if value is not None and len(members) == 1:
            return _build(value, members[0])
    elif get_origin(kind) is tuple and isinstance(value, list):
        item_kind = get_args(kind)[0]
        return tuple(_build(item, item_kind) for item in value)
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
            field.name: _build(value[field.encode_name], hints[field.name])
            for field in fields
            if field.encode_name in value
        }
    )


def _word(value: str, kind: type[WordT]) -> WordT:
    """The member with this value. For a word that this client does not know: a new member, which the enumeration
    does not list."""
    try:
        return kind(value)
    except ValueError:
        word = str.__new__(kind, value)
        word._name_ = word._value_ = value
        return word
