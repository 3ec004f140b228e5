"""Tables of the members of a request or a record, from the types that the server decodes and encodes with.

Not here: the pages around the tables (`pages`), and examples (`examples`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

import msgspec
from msgspec import inspect

from keystead.api.decoding import NOTHING, PUBLIC_KEY_CREDENTIAL
from keystead.api.identifiers import UUID_PATTERN

RECORDS = "records.md"
"""The page that lists records and enumerations."""

_DEPTH = 5
"""Nested objects below this are named and not listed: none of today's requests is deeper."""


def request_table(struct: type[msgspec.Struct], *, without: frozenset[str] = frozenset()) -> list[str]:
    """Every member that a caller may send, members of members included."""
    rows = [
        f"| `{path}` | {words} | {'yes' if required else 'no'} |"
        for path, words, required in _members(struct, "", _DEPTH)
        if path not in without
    ]
    return ["| member | type | required |", "|---|---|---|", *rows] if rows else ["No parameters."]


def record_table(struct: type[msgspec.Struct]) -> list[str]:
    """The members of a record or an answer; records among them are links."""
    rows = [
        f"| `{field.encode_name}` | {_words(field.type)} | {'yes' if field.required else 'no'} |"
        for field in _fields(struct)
    ]
    return ["| member | type | always there |", "|---|---|---|", *rows] if rows else ["No members."]


def notes(struct: type[msgspec.Struct]) -> str:
    """The docstring of a struct, with its members' names as on the wire; "" if it has none of its own."""
    text = " ".join((struct.__dict__.get("__doc__") or "").split())
    names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
    return re.sub(r"`([a-z_0-9]+)`", lambda match: f"`{names.get(match[1], match[1])}`", text)


def named_types(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct] | type[Enum]]:
    """The records and enumerations that the members of a struct are made of, each before what it contains."""
    for field in _fields(struct):
        yield from _named_in(field.type)


def record_link(kind: type) -> str:
    return f"[{kind.__name__}]({RECORDS}#{kind.__name__.lower()})"


def _fields(struct: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _named_in(kind: inspect.Type) -> Iterator[type[msgspec.Struct] | type[Enum]]:
    match _bare(kind):
        case inspect.StructType(cls=struct):
            yield struct
            yield from named_types(struct)
        case inspect.EnumType(cls=enumeration):
            yield enumeration
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            yield from _named_in(item)
        case inspect.DictType(value_type=value):
            yield from _named_in(value)


def _members(struct: type[msgspec.Struct], prefix: str, depth: int) -> Iterator[tuple[str, str, bool]]:
    """Path, type and whether it is required, for each member and then for the members of that member."""
    for field in _fields(struct):
        path = f"{prefix}{field.encode_name}"
        kind = _bare(field.type)
        nested, suffix = kind, ""
        if isinstance(kind, inspect.VarTupleType):
            nested, suffix = _bare(kind.item_type), "[]"
        if isinstance(nested, inspect.StructType) and depth > 0:
            yield path, "list of objects" + _size(kind) if suffix else "object", field.required
            yield from _members(nested.cls, f"{path}{suffix}.", depth - 1)
        else:
            yield path, _words(field.type), field.required


def _bare(kind: inspect.Type) -> inspect.Type:
    """Without metadata, and without the null that every optional member accepts."""
    if isinstance(kind, inspect.Metadata):
        return _bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        if len(others) == 1:
            return _bare(others[0])
    return kind


def _words(kind: inspect.Type) -> str:
    bare = _bare(kind)
    match bare:
        case inspect.StrType():
            return _text(bare)
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType():
            return "integer"
        case inspect.EnumType(cls=enumeration):
            return record_link(enumeration)
        case inspect.StructType(cls=struct):
            return record_link(struct)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return f"list of {_words(item)}{_size(bare)}"
        case inspect.DictType(value_type=value):
            return f"object of {_words(value)} by name"
        case inspect.UnionType(types=types):
            return " or ".join(_words(each) for each in types)
        case inspect.RawType() | inspect.AnyType():
            return "any JSON"
    raise TypeError(f"no words for the type {bare!r}: add them to tools/reference/fields.py")


def _text(kind: inspect.StrType) -> str:
    if kind.pattern == UUID_PATTERN:
        return "UUID"
    if kind.pattern == NOTHING:
        return "not supported: leave it out"
    if kind.pattern == PUBLIC_KEY_CREDENTIAL:
        return "`public-key`"
    return f"text{_limits(kind.min_length, kind.max_length, 'characters')}"


def _size(kind: inspect.Type) -> str:
    assert isinstance(kind, inspect.VarTupleType | inspect.ListType)
    return _limits(kind.min_length, kind.max_length, "items")


def _limits(least: int | None, most: int | None, unit: str) -> str:
    match least or 0, most:
        case 0, None:
            return ""
        case 0, int() as limit:
            return f", at most {limit:,} {unit}"
        case low, None:
            return f", at least {low:,} {unit}"
        case low, high:
            return f", {low:,} to {high:,} {unit}"
    raise AssertionError


def members_of(struct: type[msgspec.Struct]) -> list[str]:
    """The names on the wire, of the first level."""
    return [field.encode_name for field in _fields(struct)]
