"""IDLs whose instructions need a type that cannot be read, or that says two things: refused by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import IDL_NESTING_MAX
from keystead.chains.solana.interfaces import ProgramIdl
from tests.chains.solana.idls import BOX, BYTE, ORDER, OTHER_DIALECTS, TWO, enum, generic, idl, struct, using


def nested(depth: int) -> Any:
    written: Any = "u8"
    for _ in range(depth):
        written = {"vec": written}
    return written


def boxed(depth: int) -> Any:
    written: Any = "u8"
    for _ in range(depth):
        written = generic("Box", {"kind": "type", "type": written}, TWO)
    return written


BAD_TYPES: list[tuple[str, Any, str]] = [
    ("an unknown type", idl("u8", "u7"), "instruction 'go', argument 'a1': unknown type 'u7'"),
    *(
        (
            f"type of another dialect: {next(iter(kind))}",
            idl(kind),
            f"unknown type {json.dumps(kind, separators=(',', ':'))}"[:60],
        )
        for kind in OTHER_DIALECTS
    ),
    (
        "a type of another dialect in a definition",
        using(struct("B", {"name": "m", "type": OTHER_DIALECTS[0]})),
        "member 'm'",
    ),
    ("a type of nothing", idl({}), "argument 'a0': a type has one member, not none"),
    ("a type of two", idl({"vec": "u8", "option": "u8"}), "argument 'a0': a type has one member, not vec, option"),
    ("an unknown kind of type", idl({"map": "u8"}), "unknown field `map`"),
    ("a type that is null", idl(None), "got `null`"),
    ("a type that is not defined", idl({"defined": "Order"}), "type 'Order' is not defined in `types`"),
    (
        "a type that is defined among accounts",
        idl({"defined": "Order"}, accounts=[ORDER]),
        "type 'Order' is not defined in `types`",
    ),
    (
        "a field whose type is not defined",
        using(struct("B", {"name": "o", "type": {"defined": "Order"}})),
        "type 'B', member 'o': type 'Order' is not defined",
    ),
    (
        "a variant whose type is unknown",
        using(enum({"name": "V", "fields": ["u7"]})),
        "type 'E': unknown type 'u7'",
    ),
    ("an unknown kind of definition", idl(defined=({"name": "B", "type": {"kind": "union"}},)), "kind"),
    ("a definition that an instruction needs, twice", using(ORDER, ORDER), "type 'Order' is defined twice"),
    (
        "another serialization",
        using({**ORDER, "serialization": "bytemuck"}),
        "`serialization` 'bytemuck' is not read",
    ),
    (
        "a serialization of its own",
        using({**ORDER, "serialization": {"custom": "x"}}),
        "type 'Order': `serialization` \"{'custom': 'x'}\" is not read",
    ),
    (
        "a struct with variants",
        using({"name": "B", "type": {"kind": "struct", "variants": []}}),
        "has fields alone",
    ),
    ("an enum with fields", using(enum(fields=["u8"])), "has variants alone"),
    ("an enum of nothing", using({"name": "B", "type": {"kind": "enum"}}), "has variants alone"),
    ("an alias of nothing", using({"name": "B", "type": {"kind": "alias"}}), "has value alone"),
    (
        "an alias of the other spelling",
        using({"name": "B", "type": {"kind": "alias", "alias": "u8"}}),
        "has value alone",
    ),
    (
        "two members of one name",
        using(struct("B", *[{"name": "x", "type": "u8"}] * 2)),
        "two members are named 'x'",
    ),
    ("two variants of one name", using(enum({"name": "A"}, {"name": "A"})), "two variants are named 'A'"),
    ("members with and without a name", using(struct("B", "u8", {"name": "x", "type": "u8"})), "some have none"),
    ("a member without a type", using(struct("B", {"name": "x"})), "member 'x' needs `type`"),
    (
        "a member with two types",
        using(struct("B", {"name": "x", "type": "u8", "vec": "u8"})),
        "member 'x' needs `type`",
    ),
    ("a type without a name", using(struct("B", {"type": "u8"})), "a member with `type` needs `name`"),
    ("an array without a length", idl({"array": ["u8"]}), "length 2"),
    ("an array of negative length", idl({"array": ["u8", -1]}), "unknown type: an array of length -1"),
    ("types nested too deep", idl(nested(IDL_NESTING_MAX + 1)), f"nested more than {IDL_NESTING_MAX} deep"),
    (
        "generic arguments nested too deep",
        idl(boxed(IDL_NESTING_MAX + 1), defined=(BOX,)),
        f"nested more than {IDL_NESTING_MAX} deep",
    ),
    ("a parameter where there are none", idl({"generic": "T"}), 'argument \'a0\': unknown type {"generic":"T"}'),
    (
        "a parameter of another definition",
        idl(generic("Box", BYTE, TWO), {"defined": "B"}, defined=(BOX, struct("B", {"generic": "T"}))),
        'type \'B\': unknown type {"generic":"T"}',
    ),
    ("a length of no parameter", idl({"array": ["u8", {"generic": "N"}]}), "unknown type"),
    (
        "a length that is a type",
        using({**struct("B", {"array": ["u8", {"generic": "T"}]}), "generics": []}),
        "an array whose length is 'T'",
    ),
    (
        "an argument whose type is unknown",
        idl(generic("Box", {"kind": "type", "type": "u7"}, TWO), defined=(BOX,)),
        "unknown type 'u7'",
    ),
    ("an argument that is not an object", idl(generic("Box", 1), defined=(BOX,)), "Expected `object`, got `int`"),
    (
        "arguments that are not a list",
        idl({"defined": {"name": "Box", "generics": "T"}}, defined=(BOX,)),
        "Expected `array`, got `str`",
    ),
    ("too few arguments", idl(generic("Box", BYTE), defined=(BOX,)), "type 'Box' has 2 parameters, not 1"),
    ("too many arguments", idl(generic("Box", BYTE, TWO, TWO), defined=(BOX,)), "has 2 parameters, not 3"),
    ("no arguments", idl({"defined": "Box"}, defined=(BOX,)), "has 2 parameters, not 0"),
    ("arguments for no parameters", idl(generic("Order", BYTE), defined=(ORDER,)), "has 0 parameters, not 1"),
    ("a constant for a type", idl(generic("Box", TWO, TWO), defined=(BOX,)), "unknown generic argument"),
    ("a type for a constant", idl(generic("Box", BYTE, BYTE), defined=(BOX,)), "unknown generic argument"),
    ("a type and a constant", idl(generic("Box", {**BYTE, "value": "1"}, TWO), defined=(BOX,)), "unknown generic"),
    *(
        (
            f"constant {value!r}",
            idl(generic("Box", BYTE, {"kind": "const", "value": value}), defined=(BOX,)),
            "unknown generic argument",
        )
        for value in ("x", "", "-1", "1" * 10, "\u0661", "true")
    ),
    (
        "parameters of an older specification",
        idl({"defined": {"name": "B", "generics": [BYTE]}}, defined=({**struct("B", "u8"), "generics": ["T"]},)),
        "unknown generic argument",
    ),
    (
        "two parameters of one name",
        idl(
            generic("B", BYTE, BYTE),
            defined=({**struct("B", "u8"), "generics": [{"kind": "type", "name": "T"}] * 2},),
        ),
        "two parameters of `generics` have one name",
    ),
]


@pytest.mark.parametrize(("name", "document", "message"), BAD_TYPES, ids=[name for name, *_ in BAD_TYPES])
def test_bad_type(name: str, document: Any, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ProgramIdl.read(json.dumps(document))
    assert "field `parameters.smartContractInterface`: not a Solana IDL" in refused.value.message
    assert message in refused.value.message


@pytest.mark.parametrize("depth", [IDL_NESTING_MAX, IDL_NESTING_MAX + 1, 500, 900, 990, 1000, 5000])
@pytest.mark.parametrize(
    ("opened", "inner", "closed"),
    [('{"x":', '"u8"', "}"), ('{"vec":', '"u7"', "}"), ('{"tuple":[', '"u8"', "]}")],
    ids=["unknown", "lists", "of another dialect"],
)
def test_types_nested_however_deep(depth: int, opened: str, inner: str, closed: str) -> None:
    text = json.dumps(idl("@")).replace('"@"', opened * depth + inner + closed * depth)
    with pytest.raises(InvalidRequest):
        ProgramIdl.read(text)
