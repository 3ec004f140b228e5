"""IDLs for tests, from their parts."""

from __future__ import annotations

from typing import Any


def idl(*types: Any, defined: tuple[Any, ...] = (), **members: Any) -> dict[str, Any]:
    """An IDL with one instruction that has an argument of each of these types."""
    return {"instructions": [instruction(*types)], "types": list(defined)} | members


def instruction(*types: Any, **members: Any) -> dict[str, Any]:
    arguments = [{"name": f"a{number}", "type": written} for number, written in enumerate(types)]
    return {"name": "go", "accounts": [], "args": arguments} | members


def program(*instructions: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"instructions": list(instructions), "types": []} | members


def struct(name: str, *fields: Any, **members: Any) -> dict[str, Any]:
    return {"name": name, "type": {"kind": "struct", "fields": list(fields)}} | members


def enum(*variants: Any, **members: Any) -> dict[str, Any]:
    return {"name": "E", "type": {"kind": "enum", "variants": list(variants)} | members}


def using(definition: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    """An IDL with an instruction that needs this definition."""
    return idl({"defined": definition["name"]}, defined=(definition, *others))


ORDER = struct("Order", {"name": "price", "type": "u64"})
SIDE = enum({"name": "Buy"}, {"name": "Sell", "fields": ["u8"]})

BYTE = {"kind": "type", "type": "u8"}
BOX = struct(
    "Box",
    {"name": "items", "type": {"array": [{"option": {"generic": "T"}}, {"generic": "N"}]}},
    generics=[{"kind": "type", "name": "T"}, {"kind": "const", "name": "N", "type": "usize"}],
)
TWO = {"kind": "const", "value": "2"}


def generic(name: str, *arguments: Any) -> dict[str, Any]:
    return {"defined": {"name": name, "generics": list(arguments)}}


OTHER_DIALECTS: list[Any] = [
    {"hashMap": ["string", "u64"]},
    {"bTreeMap": ["string", "u64"]},
    {"hashSet": "u8"},
    {"bTreeSet": "u8"},
    {"tuple": ["u8", "u8"]},
    {"fixedSizeOption": {"inner": "u64", "sentinel": [255] * 8}},
    {"genericLenArray": ["u8", "N"]},
    {"definedWithTypeArgs": {"name": "Box", "args": [{"type": "u8"}]}},
]
"""Types of Shank, and of Anchor before 0.30, that are not read."""
