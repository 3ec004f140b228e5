"""Calldata decoded by an ABI: names and arguments for policies, at a bounded cost."""

from __future__ import annotations

import json
import random
import re
import tracemalloc
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import eth_abi.abi
import pytest
from eth_abi import grammar
from eth_abi.abi import encode
from eth_abi.exceptions import DecodingError
from eth_abi.tools._strategies import get_abi_strategy
from eth_hash.auto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.chains.bounds import ABI_NESTING_MAX
from keystead.chains.ethereum.interfaces import ContractAbi
from tests.chains.ethereum.test_ethereum import mutated
from tests.chains.signing_vectors import REPORTED
from tests.support.examples import examples
from tests.support.facts import readable, reason
from tests.support.hanging import not_hanging

ALICE = "0x" + "a1" * 20


def call_facts(text: str, calldata: bytes) -> Mapping[str, Any] | None:
    """The facts of a call; None if all of them are unreadable."""
    return readable(ContractAbi.read(text).call(calldata)) or None


def parameter(kind: str, name: str = "x", *components: Any) -> dict[str, Any]:
    return {"type": kind, "name": name} | ({"components": list(components)} if components else {})


def function(name: str, *inputs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "inputs": list(inputs)}


def abi(*entries: dict[str, Any]) -> str:
    return json.dumps(entries)


def selector(signature: str) -> bytes:
    return bytes(keccak(signature.encode())[:4])


ERC20 = abi(
    function("transfer", parameter("address", "to"), parameter("uint256", "wad")),
    function("deposit"),
    {"type": "event", "name": "Transfer", "inputs": [parameter("address")]},
    {"type": "constructor", "inputs": [parameter("string")]},
)
TRANSFER = selector("transfer(address,uint256)") + encode(["address", "uint256"], [ALICE, 4])


def test_a_call() -> None:
    assert call_facts(ERC20, TRANSFER) == {
        "function_name": "transfer",
        "function_signature": "0xa9059cbb",
        "contract_call_args": {"to": ALICE, "wad": 4},
    }


def test_a_function_without_arguments() -> None:
    found = call_facts(ERC20, selector("deposit()"))
    assert found == {"function_name": "deposit", "function_signature": "0xd0e30db0", "contract_call_args": {}}


def test_what_the_interface_does_not_know_is_unreadable() -> None:
    assert call_facts(ERC20, selector("approve(address,uint256)") + TRANSFER[4:]) is None
    assert call_facts(ERC20, selector("Transfer(address)") + TRANSFER[4:]) is None
    assert reason(ContractAbi.read("[]").call(TRANSFER)["function_name"]) == (
        "the uploaded interface has no function 0xa9059cbb"
    )


def test_bytes_after_the_arguments_are_ignored() -> None:
    assert call_facts(ERC20, TRANSFER + b"referrer") == call_facts(ERC20, TRANSFER)


VALUES: list[tuple[str, list[dict[str, Any]], list[Any], dict[str, Any]]] = [
    ("bool", [parameter("bool")], [True], {"x": True}),
    ("int8", [parameter("int8")], [-128], {"x": -128}),
    ("uint", [parameter("uint")], [2**256 - 1], {"x": 2**256 - 1}),
    ("bytes", [parameter("bytes")], [b"\xab\xcd"], {"x": "0xabcd"}),
    ("bytes4", [parameter("bytes4")], [b"\xab\xcd\0\0"], {"x": "0xabcd0000"}),
    ("string", [parameter("string")], ["Zoë"], {"x": "Zoë"}),
    ("address", [parameter("address")], [ALICE.upper().replace("X", "x")], {"x": ALICE}),
    ("fixed", [parameter("fixed128x18")], [Decimal("-1.5")], {"x": "-1.5"}),
    ("list", [parameter("uint8[]")], [[1, 2, 3]], {"x": [1, 2, 3]}),
    ("lists in a list of two", [parameter("uint8[][2]")], [[[1], []]], {"x": [[1], []]}),
    (
        "tuples by position",
        [parameter("tuple[]", "calls", parameter("address"), parameter("uint256", "y"), parameter("bytes", "z"))],
        [[(ALICE, 0, b"\1"), (ALICE, 7, b"")]],
        {"calls": [[ALICE, 0, "0x01"], [ALICE, 7, "0x"]]},
    ),
    (
        "a tuple in a tuple",
        [parameter("tuple", "x", parameter("tuple", "y", parameter("string")))],
        [(("deep",),)],
        {"x": [["deep"]]},
    ),
    ("no name", [parameter("bool", ""), parameter("bool", "y")], [True, False], {"y": False}),
]


def type_text(one: Any) -> str:
    item, bracket, rest = one["type"].partition("[")
    if item == "tuple":
        item = f"({','.join(map(type_text, one['components']))})"
    return f"{'uint256' if item == 'uint' else item}{bracket}{rest}"


@pytest.mark.parametrize(("name", "inputs", "values", "seen"), VALUES, ids=[name for name, *_ in VALUES])
def test_values(name: str, inputs: list[Any], values: list[Any], seen: dict[str, Any]) -> None:
    types = [type_text(one) for one in inputs]
    calldata = selector(f"f({','.join(types)})") + encode(types, values)
    found = call_facts(abi(function("f", *inputs)), calldata)
    assert found is not None
    assert found["contract_call_args"] == seen


@pytest.mark.parametrize("call", REPORTED["calls"], ids=lambda call: call["id"])
def test_calldata_is_read_as_contracts_read_it(call: dict[str, Any]) -> None:
    found = call_facts(json.dumps(call["abi"]), bytes.fromhex(call["data"][2:]))
    assert found is not None
    assert (found["function_name"], found["contract_call_args"]) == ("run", call["arguments"])


def test_one_function_twice() -> None:
    move = function("move", parameter("address", "a"), parameter("address", "b"))
    found = call_facts(abi(move, move), selector("move(address,address)") + words(1, 2))
    assert found is not None
    assert set(found["contract_call_args"]) == {"a", "b"}


WORD = 32
BOMB = 3_000


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(WORD) for number in numbers)


MALFORMED = [
    ("cut short", "uint256", words(1)[:-1]),
    ("nothing", "uint256", b""),
    ("an address with dirty bytes", "address", b"\1" + bytes(31)),
    ("a truth value of two", "bool", words(2)),
    ("bytes4 with dirty bytes", "bytes4", words(1)),
    ("a pointer beyond the end", "bytes", words(2**255)),
    ("a pointer into the head", "bytes", words(0)),
    ("a length beyond the end", "bytes", words(32, 2**200)),
    ("a list longer than its bytes", "uint256[]", words(32, 2, 1)),
    ("a list without end", "uint256[]", words(32, 2**255)),
    ("text that is not UTF-8", "string", words(32, 1) + b"\xff" + bytes(31)),
    ("bytes that end too early", "bytes", words(32, 3) + b"\1\1"),
    ("bytes4 without padding", "bytes4", b"\1\1\1\1"),
    (
        "lists that share their items a million times",
        "uint256[][]",
        words(32, BOMB, *[BOMB * WORD] * BOMB, BOMB, *[7] * BOMB),
    ),
]


@pytest.mark.parametrize(("name", "kind", "arguments"), MALFORMED, ids=[name for name, *_ in MALFORMED])
def test_arguments_that_do_not_decode(name: str, kind: str, arguments: bytes) -> None:
    with not_hanging():
        assert call_facts(abi(function("f", parameter(kind))), selector(f"f({kind})") + arguments) is None


def test_tuples_in_tuples_cost_no_more_than_other_bytes() -> None:
    deep = parameter("uint256")
    for _ in range(ABI_NESTING_MAX):
        deep = parameter("tuple", "x", deep)
    signature = f"f({'(' * ABI_NESTING_MAX}uint256{')' * ABI_NESTING_MAX})"
    with not_hanging():
        found = call_facts(abi(function("f", deep)), selector(signature) + words(1))
    assert found is not None
    value = found["contract_call_args"]["x"]
    for _ in range(ABI_NESTING_MAX):
        (value,) = value
    assert value == 1


def test_pointers_that_share_one_value_are_charged_each_time() -> None:
    """The attack: 0.12 MB of calldata describe 0.1 GB."""
    count = 1_900
    arguments = words(32, count, *[count * WORD] * count, count, *[2**200] * count)
    tracemalloc.start()
    try:
        text, call = abi(function("f", parameter("uint256[][]"))), selector("f(uint256[][])") + arguments
        assert call_facts(text, call) is None
        assert tracemalloc.get_traced_memory()[1] < 40 * len(arguments)
    finally:
        tracemalloc.stop()


def test_a_few_shared_values_are_read() -> None:
    arguments = words(32, 3, 96, 96, 96, 0)
    found = call_facts(abi(function("f", parameter("bytes[]"))), selector("f(bytes[])") + arguments)
    assert found is not None
    assert found["contract_call_args"] == {"x": ["0x", "0x", "0x"]}


# Compared with eth-abi

elementary = st.one_of(
    st.sampled_from(["bool", "address", "bytes", "string", "function", "fixed128x18", "ufixed8x1"]),
    st.builds("{}int{}".format, st.sampled_from(["", "u"]), st.sampled_from([8, 16, 24, 128, 248, 256])),
    st.builds("bytes{}".format, st.integers(1, 32)),
)


def _tuple(members: list[str]) -> str:
    return f"({','.join(members)})"


kinds = st.recursive(
    elementary,
    lambda inner: st.one_of(
        st.builds("{}[]".format, inner),
        st.builds("{}[{}]".format, inner, st.integers(1, 3)),
        st.lists(inner, min_size=1, max_size=3).map(_tuple),
    ),
    max_leaves=6,
)


def as_parameter(kind: str) -> dict[str, Any]:
    """What an ABI has for a type as eth-abi writes it."""
    parsed = grammar.parse(kind)
    if not isinstance(parsed, grammar.TupleType):
        return parameter(kind)
    dimensions = "".join(f"[{size[0] if size else ''}]" for size in parsed.arrlist or ())
    return parameter("tuple" + dimensions, "x", *(as_parameter(one.to_type_str()) for one in parsed.components))


def plain(value: Any) -> Any:
    match value:
        case bytes():
            return "0x" + value.hex()
        case tuple() | list():
            return [plain(item) for item in value]
        case Decimal():
            return f"{value:f}"
        case _:
            return value


def theirs(kind: str, arguments: bytes) -> Any:
    """What eth-abi reads; None if it refuses."""
    try:
        return plain(eth_abi.abi.decode([kind], arguments)[0])
    except (DecodingError, OverflowError, UnicodeDecodeError):
        return None


def ours(kind: str, arguments: bytes) -> Any:
    found = call_facts(abi(function("f", as_parameter(kind))), selector(f"f({kind})") + arguments)
    return None if found is None else found["contract_call_args"]["x"]


@settings(max_examples=examples(100))
@given(kinds, st.data())
def test_every_type_as_eth_abi_encodes_it(kind: str, data: st.DataObject) -> None:
    arguments = encode([kind], [data.draw(get_abi_strategy(kind))])
    found = ours(kind, arguments)
    assert found is not None
    assert found == theirs(kind, arguments)


@settings(max_examples=examples(150))
@given(kinds, st.data())
def test_what_is_read_from_altered_bytes_eth_abi_reads_alike(kind: str, data: st.DataObject) -> None:
    arguments = bytearray(encode([kind], [data.draw(get_abi_strategy(kind))]))
    for _ in range(data.draw(st.integers(1, 3))):
        altered = data.draw(st.sampled_from([0, 1, 2, 31, 32, 64, 0x80, 0xFF]))
        arguments[data.draw(st.integers(0, len(arguments) - 1))] = altered
    found, read_by_eth_abi = ours(kind, bytes(arguments)), theirs(kind, bytes(arguments))
    # eth-abi demands the padding of texts and byte strings, which contracts do not read.
    unpadded = read_by_eth_abi is None and re.search(r"string|bytes(?![0-9])", kind)
    assert found is None or unpadded or found == read_by_eth_abi


def test_mutated_arguments_are_read_or_not() -> None:
    chance, read = random.Random(4), 0
    inputs = [
        parameter("tuple[]", "calls", parameter("address"), parameter("bytes", "z")),
        parameter("string", "s"),
    ]
    types = [type_text(one) for one in inputs]
    text = abi(function("f", *inputs))
    head, arguments = selector(f"f({','.join(types)})"), encode(types, [[(ALICE, b"abc")] * 3, "text"])
    for _ in range(500):
        read += call_facts(text, head + mutated(arguments, chance)) is not None
    assert 0 < read < 500
