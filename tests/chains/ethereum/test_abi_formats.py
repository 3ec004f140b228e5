"""Ethereum ABIs: published ones are accepted, any other is refused with the place of the error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import ABI_NESTING_MAX, INTERFACE_NAME_CHARACTERS_MAX
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.organizations.memory_size import measured_bytes


def function(*inputs: Any, **members: Any) -> dict[str, Any]:
    return {"type": "function", "name": "f", "inputs": list(inputs), "outputs": []} | members


def typed(written: str, name: str = "x", **members: Any) -> dict[str, Any]:
    return {"name": name, "type": written} | members


def each(*written: str) -> list[dict[str, Any]]:
    return [typed(kind, f"x{number}") for number, kind in enumerate(written)]


def deep(depth: int) -> dict[str, Any]:
    inner = typed("bool")
    for _ in range(depth):
        inner = typed("tuple", components=[inner])
    return inner


GOOD_ABIS: list[tuple[str, list[Any]]] = [
    ("empty", []),
    ("a function", [function(*each("address", "uint256"))]),
    (
        "every kind of entry",
        [{"type": kind} for kind in ("constructor", "fallback", "receive")]
        + [{"type": "event", "name": "e"}, {"type": "error", "name": "e"}],
    ),
    ("from before Solidity 0.4.2, without type", [{"name": "f", "inputs": [], "constant": True}]),
    ("of Solidity", [function(stateMutability="view", payable=False, constant=True)]),
    ("of Vyper", [function(typed("uint256", unit="wei"), gas=21000)]),
    ("of web3.js", [function(signature="0x26121FF0"), {"type": "event", "name": "e", "signature": "0x00"}]),
    ("a parameter without a name", [function({"type": "uint256"}, {"type": "bool", "name": ""})]),
    (
        "an event with indexed parameters",
        [{"type": "event", "name": "e", "anonymous": False, "inputs": [typed("address", indexed=True)]}],
    ),
    ("internal types", [function(typed("uint8", internalType="enum Side"))]),
    (
        "integers of every width",
        [function(*each(*(f"{sign}int{width}" for sign in ("", "u") for width in range(8, 257, 8))))],
    ),
    ("bytes of every length", [function(*each(*(f"bytes{length}" for length in range(1, 33)), "bytes"))]),
    ("fixed-point numbers", [function(*each("fixed128x18", "ufixed8x1"))]),
    ("texts, functions and addresses", [function(*each("string", "function", "address", "bool"))]),
    ("arrays", [function(*each("uint256[]", "bytes32[4]", "address[3][]", "bool[][2][]"))]),
    ("a tuple", [function(typed("tuple", components=each("address", "uint256[]")))]),
    ("an array of tuples", [function(typed("tuple[2][]", components=[typed("bool")]))]),
    ("tuples in tuples", [function(deep(ABI_NESTING_MAX))]),
    ("members of a tuple with one name", [function(typed("tuple", components=[typed("bool"), typed("bool")]))]),
    ("names as long as they may be", [function(typed("bool", "x" * INTERFACE_NAME_CHARACTERS_MAX))]),
    ("members with any value", [function(typed("bool", internalType=1.5), gas=1.5, payable={"x": [1.5, None]})]),
    ("the same function twice", [function(typed("bool")), function(typed("bool"), stateMutability="view")]),
    ("two functions of one name", [function(typed("bool")), function(typed("uint8"))]),
]


@pytest.mark.parametrize(("name", "abi"), GOOD_ABIS, ids=[name for name, _ in GOOD_ABIS])
def test_abi(name: str, abi: list[Any]) -> None:
    assert measured_bytes(ContractAbi.read(json.dumps(abi)))


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
            "uint256" + "[]" * (ABI_NESTING_MAX + 1),
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
    *(
        (
            f"a member that nobody knows: {where}",
            json.dumps([entry]),
            f"unknown field `{member}` - at `$[0]{where}`",
        )
        for member, where, entry in (
            ("layout", "", function(layout="packed")),
            ("payableIf", ".inputs[0]", function(typed("bool", payableIf=True))),
            ("packed", ".inputs[0].components[0]", function(typed("tuple", components=[typed("bool", packed=1)]))),
            ("packed", ".outputs[0]", function(outputs=[typed("bool", packed=1)])),
            ("order", "", {"type": "event", "name": "e", "order": 1}),
        )
    ),
    ("a member twice", '[{"type":"function","name":"f","name":"g","inputs":[]}]', "`name` appears twice"),
    ("a tuple without members", json.dumps([function(typed("tuple"))]), "a tuple has `components`"),
    ("an array of them", json.dumps([function(typed("tuple[]", components=[]))]), "a tuple has `components`"),
    (
        "members of another type",
        json.dumps([function(typed("uint8", components=each("bool")))]),
        "no other type has",
    ),
    (
        "members of a type that was met",
        json.dumps([function(typed("uint8"), typed("uint8", "y", components=each("bool")))]),
        "no other type has",
    ),
    ("two inputs of one name", json.dumps([function(typed("bool"), typed("uint8"))]), "two inputs are named 'x'"),
    (
        "one function twice, with other names",
        json.dumps([function(typed("bool")), function(typed("bool", "y"))]),
        "entry 1 (f): it is there twice, with other names of its inputs",
    ),
    (
        "two functions of one selector",
        json.dumps(
            [
                function(*each("address", "address", "uint256"), name="transferFrom"),
                function(typed("int128"), name="gasprice_bit_ether"),
            ]
        ),
        "entry 1 (gasprice_bit_ether): its selector 0x23b872dd is that of 'transferFrom'",
    ),
    *(
        (f"the name {name!r}", json.dumps([function(name=name)]), f"entry 0 ({name}): `name` is not an identifier")
        for name in ("transfer(address,uint256)", "f,", " f", "f\n", "1f", "f.g", "é")
    ),
    ("a wrong selector", json.dumps([function(signature="0x00000000")]), "`signature` is '0x00000000', but"),
    ("too many entries", json.dumps([function()] * 5_001), "5001 entries; at most 5000 are allowed"),
    (
        "a name that is too long",
        json.dumps([function(typed("bool", "x" * (INTERFACE_NAME_CHARACTERS_MAX + 1)))]),
        f"Expected `str` of length <= {INTERFACE_NAME_CHARACTERS_MAX} - at `$[0].inputs[0].name`",
    ),
    (
        "tuples too deep",
        json.dumps([function(deep(ABI_NESTING_MAX + 1))]),
        f"nested more than {ABI_NESTING_MAX} deep",
    ),
    ("nested without end", "[" * 100_000, "Expected `object`, got `array`"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD_ABIS, ids=[name[:40] for name, *_ in BAD_ABIS])
def test_bad_abi(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ContractAbi.read(text)
    assert "field `parameters.smartContractInterface`" in refused.value.message
    assert message in refused.value.message
    assert len(refused.value.message) < 400
