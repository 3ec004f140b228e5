"""Every way to break one request: derived from the struct it is decoded into, so that a new field is tried too.

Here: missing and unknown members, wrong types, malformed identifiers, words and names outside of their bounds.
Not here: what is wrong for reasons that only the operation knows.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec

from keystead.api.decoding import NO_CONTROLS
from keystead.api.identifiers import UUID_PATTERN


class Mutation(NamedTuple):
    """`name`: what is malformed. `field`: the path of the malformed field."""

    name: str
    value: Any
    field: str


def mutations(struct: type[msgspec.Struct], valid: dict[str, Any], place: str = "") -> Iterator[Mutation]:
    """Every broken form of `valid`, a value that `struct` accepts; `place` is the path to it."""
    hints = typing.get_type_hints(struct, include_extras=True)
    unknown = f"{place}.surprise" if place else "surprise"
    yield Mutation(f"{unknown}: unknown", valid | {"surprise": 1}, unknown)
    for field in msgspec.structs.fields(struct):
        name, hint = field.encode_name, hints[field.name]
        path = f"{place}.{name}" if place else name
        if field.required:
            without = {other: value for other, value in valid.items() if other != name}
            yield Mutation(f"{path}: missing", without, path)
            yield Mutation(f"{path}: null", valid | {name: None}, path)
        if name in valid:
            for why, wrong in _wrong_values(hint, valid[name]):
                yield Mutation(f"{path}: {why}", valid | {name: wrong}, path)
            for inner in _inside(hint, valid[name], path):
                yield inner._replace(value=valid | {name: inner.value})


def _wrong_values(hint: Any, valid: Any) -> Iterator[tuple[str, Any]]:
    yield "wrong type", {} if isinstance(valid, list) else [] if isinstance(valid, (str, dict)) else "1"
    yield "another wrong type", 1.5
    kinds, metas = _parts(hint)
    patterns = {meta.pattern for meta in metas}
    lengths = [meta.max_length for meta in metas if meta.max_length is not None]
    if isinstance(valid, str):
        if UUID_PATTERN in patterns:
            yield "no UUID", "not-a-uuid"
            yield "UUID in upper case", "0197B0A6-2B8B-7A52-8E2F-8A4B6E1F2C3D"
        if NO_CONTROLS in patterns:
            yield "with a control character", "a\nb"
        if any(issubclass(kind, Enum) for kind in kinds):
            yield "no word of its list", "SOMETHING_ELSE"
        if lengths and max(lengths) < 100_000:
            yield "over-long", "a" * (max(lengths) + 1)
        if any(meta.min_length for meta in metas):
            yield "empty", ""
    elif isinstance(valid, list):
        if lengths and valid:
            yield "too many", valid * (max(lengths) + 1)
        if any(meta.min_length for meta in metas):
            yield "none", []


def _inside(hint: Any, valid: Any, path: str) -> Iterator[Mutation]:
    """The mutations inside an object, or inside the first item of a list."""
    struct = struct_in(hint)
    if isinstance(valid, dict) and struct is not None:
        yield from mutations(struct, valid, path)
    elif isinstance(valid, list) and valid:
        if struct is not None:
            for inner in mutations(struct, valid[0], f"{path}[0]"):
                yield inner._replace(value=[inner.value, *valid[1:]])
        else:
            for why, wrong in _wrong_values(_item(hint), valid[0]):
                yield Mutation(f"{path}[0]: {why}", [wrong, *valid[1:]], f"{path}[0]")


def _parts(hint: Any) -> tuple[list[type], list[msgspec.Meta]]:
    """The types and the constraints of a member itself, without those of a list's items."""
    if get_origin(hint) is Annotated:
        kinds, metas = _parts(get_args(hint)[0])
        return kinds, metas + [meta for meta in get_args(hint)[1:] if isinstance(meta, msgspec.Meta)]
    if get_origin(hint) is tuple:
        return [tuple], []
    if get_args(hint):
        parts = [_parts(member) for member in get_args(hint)]
        return [kind for kinds, _ in parts for kind in kinds], [meta for _, metas in parts for meta in metas]
    return [hint] if isinstance(hint, type) else [], []


def _item(hint: Any) -> Any:
    """The type of a list's items."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0]
    return next((item for member in get_args(hint) if (item := _item(member)) is not None), None)


def struct_in(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that values of this type are, or hold as items."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next((struct for member in get_args(hint) if (struct := struct_in(member)) is not None), None)
