"""Ethereum ABIs and Solana IDLs: published ones are accepted, any other is refused with the place of the error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.chains.ethereum.interfaces import check_abi
from keystead.chains.solana.idl import NESTING_MAX, check_idl


def function(*inputs: Any, **members: Any) -> dict[str, Any]:
    return {"type": "function", "name": "f", "inputs": list(inputs), "outputs": []} | members


def typed(written: str, **members: Any) -> dict[str, Any]:
    return {"name": "x", "type": written} | members


def deep(depth: int) -> dict[str, Any]:
    inner = typed("bool")
    for _ in range(depth):
        inner = typed("tuple", components=[inner])
    return inner


GOOD_ABIS: list[tuple[str, list[Any]]] = [
    ("empty", []),
    ("a function", [function(typed("address"), typed("uint256"))]),
    (
        "every kind of entry",
        [{"type": kind} for kind in ("constructor", "fallback", "receive")]
        + [{"type": "event", "name": "e"}, {"type": "error", "name": "e"}],
    ),
    ("from before Solidity 0.4.2, without type", [{"name": "f", "inputs": [], "constant": True}]),
    ("members that nobody reads", [function(stateMutability="view", payable=False, gas=21000)]),
    ("a parameter without a name", [function({"type": "uint256"})]),
    (
        "an event with indexed parameters",
        [{"type": "event", "name": "e", "anonymous": False, "inputs": [typed("address", indexed=True)]}],
    ),
    ("internal types", [function(typed("uint8", internalType="enum Side"))]),
    (
        "integers of every width",
        [function(*(typed(f"{sign}int{width}") for sign in ("", "u") for width in range(8, 257, 8)))],
    ),
    ("bytes of every length", [function(*(typed(f"bytes{length}") for length in range(1, 33)), typed("bytes"))]),
    ("fixed-point numbers", [function(typed("fixed128x18"), typed("ufixed8x1"))]),
    (
        "texts, functions and addresses",
        [function(typed("string"), typed("function"), typed("address"), typed("bool"))],
    ),
    ("arrays", [function(typed("uint256[]"), typed("bytes32[4]"), typed("address[3][]"), typed("bool[][2][]"))]),
    ("a tuple", [function(typed("tuple", components=[typed("address"), typed("uint256[]")]))]),
    ("an array of tuples", [function(typed("tuple[2][]", components=[typed("bool")]))]),
    ("tuples in tuples", [function(deep(NESTING_MAX))]),
    ("a tuple of nothing", [function(typed("tuple"))]),
]


@pytest.mark.parametrize(("name", "abi"), GOOD_ABIS, ids=[name for name, _ in GOOD_ABIS])
def test_abi(name: str, abi: list[Any]) -> None:
    check_abi(json.dumps(abi))


BAD_ABIS: list[tuple[str, str, str]] = [
    ("nothing", "", "not valid JSON"),
    ("no JSON", "function f()", "not valid JSON"),
    ("more behind it", "[] []", "not valid JSON"),
    ("an object", "{}", "Expected `array`, got `object`"),
    ("null", "null", "Expected `array`, got `null`"),
    ("a compiler's output around it", '{"abi":[]}', "Expected `array`, got `object`"),
    ("an entry that is not an object", "[1]", "$[0]"),
    ("an unknown kind of entry", '[{"type":"method","name":"f"}]', "$[0].type"),
    (
        "a function without a name",
        json.dumps([function(), function(name="")]),
        "entry 1: a function needs a `name`",
    ),
    ("an event without a name", '[{"type":"event"}]', "entry 0: a event needs a `name`"),
    ("inputs that are not a list", '[{"name":"f","inputs":{}}]', "$[0].inputs"),
    ("a parameter without a type", '[{"name":"f","inputs":[{"name":"x"}]}]', "$[0].inputs[0]"),
    ("a type that is a number", '[{"name":"f","inputs":[{"type":256}]}]', "$[0].inputs[0].type"),
    *(
        (f"type {written!r}", json.dumps([function(), function(typed(written))]), "entry 1 (f): unknown type")
        for written in (
            "",
            "uint7",
            "uint264",
            "uint0",
            "uint08",
            "Uint256",
            "bytes0",
            "bytes33",
            "money",
            "uint256[",
            "uint256]",
            "uint256[-1]",
            "uint256[0]",
            "uint256[]x",
            " uint256",
            "uint256 ",
            "(uint256)",
            "tuples",
            "address payable",
            "mapping(address=>bool)",
            "fixed8x81",
            "uint256" + "[]" * (NESTING_MAX + 1),
            "x" * 100_000,
        )
    ),
    ("an unknown type in outputs", json.dumps([function(outputs=[typed("x")])]), "entry 0 (f): unknown type 'x'"),
    (
        "an unknown type in a tuple",
        json.dumps([function(typed("tuple", components=[typed("x")]))]),
        "unknown type 'x'",
    ),
    *(
        (f"values of absurd size: {written[:40]}", json.dumps([function(typed(written, components=members))]), why)
        for written, members, why in (
            ("uint8[" + "9" * 5_000 + "]", [], "unknown type"),
            ("uint8[9999999]", [], "at most 1048576 are allowed"),
            ("uint8[1000][1000]", [], "at most 1048576 are allowed"),
            ("string[1000000]", [], "at most 1048576 are allowed"),
            ("tuple[1000]", [typed("uint8[1000]")], "at most 1048576 are allowed"),
            ("tuple", [typed("uint8[30000]"), typed("uint8[30000]")], "at most 1048576 are allowed"),
        )
    ),
    ("too many entries", json.dumps([function()] * 5_001), "5001 entries; at most 5000 are allowed"),
    ("tuples too deep", json.dumps([function(deep(NESTING_MAX + 1))]), f"nested more than {NESTING_MAX} deep"),
    ("nested without end", "[" * 100_000, "Expected `object`, got `array`"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD_ABIS, ids=[name[:40] for name, *_ in BAD_ABIS])
def test_bad_abi(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_abi(text)
    assert "field `parameters.smartContractInterface`" in refused.value.message
    assert message in refused.value.message
    assert len(refused.value.message) < 400


def idl(*types: Any, defined: tuple[Any, ...] = ()) -> dict[str, Any]:
    """An IDL with one instruction that has an argument of each of these types."""
    arguments = [{"name": f"a{number}", "type": written} for number, written in enumerate(types)]
    return {"instructions": [{"name": "go", "accounts": [], "args": arguments}], "types": list(defined)}


ORDER = {"name": "Order", "type": {"kind": "struct", "fields": [{"name": "price", "type": "u64"}]}}
SIDE = {"name": "Side", "type": {"kind": "enum", "variants": [{"name": "Buy"}, {"name": "Sell", "fields": ["u8"]}]}}

BYTE = {"kind": "type", "type": "u8"}
BOX = {
    "name": "Box",
    "generics": [{"kind": "type", "name": "T"}, {"kind": "const", "name": "N", "type": "usize"}],
    "type": {
        "kind": "struct",
        "fields": [{"name": "items", "type": {"array": [{"option": {"generic": "T"}}, {"generic": "N"}]}}],
    },
}


def generic(name: str, *arguments: Any) -> dict[str, Any]:
    return {"defined": {"name": name, "generics": list(arguments)}}


GOOD_IDLS: list[tuple[str, dict[str, Any]]] = [
    ("empty", {"instructions": [], "types": []}),
    (
        "every plain type",
        idl("bool", "u8", "i8", "u16", "i32", "u64", "u128", "i256", "f32", "f64", "string", "bytes"),
    ),
    ("both names of a public key", idl("publicKey", "pubkey")),
    (
        "lists, options and arrays",
        idl({"vec": "u8"}, {"option": {"vec": "string"}}, {"coption": "u64"}, {"array": ["u8", 32]}),
    ),
    ("a defined type, before Anchor 0.30", idl({"defined": "Order"}, defined=(ORDER,))),
    ("a defined type, since Anchor 0.30", idl({"defined": {"name": "Order"}}, defined=(ORDER,))),
    ("an enum of either kind of variant", idl({"defined": "Side"}, defined=(SIDE,))),
    ("a generic type", idl(generic("Box", BYTE, {"kind": "const", "value": "32"}), defined=(BOX,))),
    ("a generic type in another", idl(generic("Box", {"kind": "type", "type": generic("Box")}), defined=(BOX,))),
    ("parameters by name alone", idl(defined=({**ORDER, "generics": ["T"]},))),
    (
        "types that name each other",
        idl(
            defined=(
                ORDER,
                {
                    "name": "Book",
                    "type": {"kind": "struct", "fields": [{"name": "o", "type": {"vec": {"defined": "Order"}}}]},
                },
            )
        ),
    ),
    (
        "unnamed fields",
        idl(defined=({"name": "Pair", "type": {"kind": "struct", "fields": ["u8", {"option": "u8"}]}},)),
    ),
    (
        "members that nobody reads",
        {**idl("u8"), "version": "0.1.0", "name": "program", "events": [], "errors": [], "metadata": {}},
    ),
    (
        "a group of accounts",
        {
            "types": [],
            "instructions": [
                {
                    "name": "go",
                    "args": [],
                    "accounts": [{"name": "group", "accounts": [{"name": "payer", "isMut": True}]}],
                }
            ],
        },
    ),
    (
        "a discriminator",
        {"types": [], "instructions": [{"name": "go", "args": [], "accounts": [], "discriminator": [0, 255]}]},
    ),
]


@pytest.mark.parametrize(("name", "document"), GOOD_IDLS, ids=[name for name, _ in GOOD_IDLS])
def test_idl(name: str, document: dict[str, Any]) -> None:
    check_idl(json.dumps(document))


def nested(depth: int) -> Any:
    written: Any = "u8"
    for _ in range(depth):
        written = {"vec": written}
    return written


def boxed(depth: int) -> Any:
    written: Any = "u8"
    for _ in range(depth):
        written = generic("Box", {"kind": "type", "type": written})
    return written


BAD_IDLS: list[tuple[str, Any, str]] = [
    ("a list", [], "Expected `object`, got `array`"),
    ("no types", {"instructions": []}, "`types`"),
    ("no instructions", {"types": []}, "`instructions`"),
    ("an instruction without a name", {"types": [], "instructions": [{"accounts": [], "args": []}]}, "`name`"),
    ("an instruction without arguments", {"types": [], "instructions": [{"name": "go", "accounts": []}]}, "`args`"),
    ("an unknown type", idl("u8", "u7"), "instruction 'go', argument 'a1': unknown type u7"),
    ("an unknown kind of type", idl({"map": "u8"}), "unknown type {'map': 'u8'}"),
    ("a type that is null", idl(None), "unknown type None"),
    ("a type that is not defined", idl({"defined": "Order"}), "type 'Order' is not defined in `types`"),
    (
        "a field whose type is not defined",
        idl(
            defined=(
                {"name": "B", "type": {"kind": "struct", "fields": [{"name": "o", "type": {"defined": "Order"}}]}},
            )
        ),
        "type 'B': type 'Order' is not defined",
    ),
    (
        "a variant whose type is unknown",
        idl(defined=({"name": "E", "type": {"kind": "enum", "variants": [{"name": "V", "fields": ["u7"]}]}},)),
        "type 'E': unknown type u7",
    ),
    ("an unknown kind of definition", idl(defined=({"name": "B", "type": {"kind": "union"}},)), "kind"),
    ("an array without a length", idl({"array": ["u8"]}), "unknown type"),
    ("an array of negative length", idl({"array": ["u8", -1]}), "unknown type"),
    (
        "a discriminator beyond a byte",
        {"types": [], "instructions": [{"name": "go", "args": [], "accounts": [], "discriminator": [256]}]},
        "a discriminator is a list of bytes",
    ),
    ("types nested too deep", idl(nested(NESTING_MAX + 1)), f"nested more than {NESTING_MAX} deep"),
    (
        "generic arguments nested too deep",
        idl(boxed(NESTING_MAX + 1), defined=(BOX,)),
        f"nested more than {NESTING_MAX} deep",
    ),
    ("a parameter where there are none", idl({"generic": "T"}), "argument 'a0': unknown type {'generic': 'T'}"),
    (
        "a parameter of another definition",
        idl(defined=(BOX, {"name": "B", "type": {"kind": "struct", "fields": [{"generic": "T"}]}})),
        "type 'B': unknown type {'generic': 'T'}",
    ),
    ("a length of no parameter", idl({"array": ["u8", {"generic": "N"}]}), "unknown type"),
    (
        "an argument whose type is unknown",
        idl(generic("Box", {"kind": "type", "type": "u7"}), defined=(BOX,)),
        "unknown type u7",
    ),
    ("an argument that is not an object", idl(generic("Box", 1), defined=(BOX,)), "unknown generic argument 1"),
    (
        "arguments that are not a list",
        idl({"defined": {"name": "Box", "generics": "T"}}, defined=(BOX,)),
        "argument T",
    ),
    (
        "a constant that is not a text",
        idl(generic("Box", {"kind": "const", "value": 1}), defined=(BOX,)),
        "unknown generic argument",
    ),
]


@pytest.mark.parametrize(("name", "document", "message"), BAD_IDLS, ids=[name for name, *_ in BAD_IDLS])
def test_bad_idl(name: str, document: Any, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_idl(json.dumps(document))
    assert "field `parameters.smartContractInterface`: not a Solana IDL" in refused.value.message
    assert message in refused.value.message


@pytest.mark.parametrize("depth", [NESTING_MAX, NESTING_MAX + 1, 500, 900, 990, 1000, 5000])
def test_unknown_types_nested_however_deep(depth: int) -> None:
    text = json.dumps(idl("@")).replace('"@"', '{"x":' * depth + '"u8"' + "}" * depth)
    with pytest.raises(InvalidRequest):
        check_idl(text)
