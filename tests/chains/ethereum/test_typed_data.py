"""EIP-712: the digests of an independent library, values for policies, and no text that can be read in two ways."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest
from eth_hash.auto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import TYPED_DATA_BYTES_MAX
from keystead.chains.ethereum.typed_data import TypedData, parse_typed_data
from keystead.chains.ethereum.typed_movements import typed_data_movements
from keystead.primitives.unreadable import Unreadable
from tests.chains.signing_vectors import REPORTED, SIGNING
from tests.support import independent_ethereum
from tests.support.examples import examples
from tests.support.hanging import not_hanging

CAPTURED = {
    call["id"]: call
    for call in SIGNING["clientCalls"]
    if call["parameters"].get("encoding") == "PAYLOAD_ENCODING_EIP712"
}


def parsed(document: Any) -> TypedData:
    return parse_typed_data(document if isinstance(document, str) else json.dumps(document), "parameters.payload")


def independent_digest(document: Any) -> bytes:
    signable = independent_ethereum.encode_typed_data(full_message=document | {"types": _reachable(document)})
    return bytes(keccak(b"\x19" + signable.version + signable.header + signable.body))


def _reachable(document: Any) -> Any:
    """The library takes no types that nothing refers to."""
    found, seen = [document["primaryType"]], {"EIP712Domain"} & set(document["types"])
    while found:
        name = found.pop()
        seen.add(name)
        kinds = {member["type"].partition("[")[0] for member in document["types"][name]}
        found += sorted((kinds & set(document["types"])) - seen)
    return {name: document["types"][name] for name in seen}


@pytest.mark.parametrize("name", CAPTURED)
def test_what_clients_sent(name: str) -> None:
    payload = CAPTURED[name]["parameters"]["payload"]
    assert parsed(payload).digest.hex() == CAPTURED[name]["digest"].removeprefix("0x")
    assert parsed(payload).digest == independent_digest(json.loads(payload))


@pytest.mark.parametrize("reported", REPORTED["typedData"], ids=lambda reported: reported["id"])
def test_what_public_reports_have(reported: dict[str, Any]) -> None:
    assert "0x" + parsed(reported["data"]).digest.hex() == reported["digest"]


def test_a_domain_alone_shows_no_message() -> None:
    (alone,) = [reported for reported in REPORTED["typedData"] if reported["id"] == "domain only ignores message"]
    data = parsed(alone["data"])
    assert (data.primary_type, data.domain, data.message) == ("EIP712Domain", {"name": "App"}, {})


TOKEN = "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"
PERMIT: dict[str, Any] = {
    "types": {
        "Permit": [{"name": "owner", "type": "address"}, {"name": "value", "type": "uint256"}],
        "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
    },
    "primaryType": "Permit",
    "domain": {"name": "USD Coin", "chainId": 1},
    "message": {"owner": TOKEN, "value": "1000"},
}


BATCH: dict[str, Any] = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
        "Order": [{"name": "a", "type": "uint32"}, {"name": "b", "type": "bool"}, {"name": "s", "type": "string"}],
        "Batch": [{"name": "orders", "type": "Order[]"}],
    },
    "primaryType": "Batch",
    "domain": {"name": "Exchange", "chainId": 1337},
    "message": {"orders": [{"a": 3, "b": True, "s": "0.1"}, {"a": 4, "b": False, "s": "0.2"}]},
}


def with_message(kind: str, value: Any, **types: Any) -> dict[str, Any]:
    declared = {"Permit": [{"name": "x", "type": kind}]} | types
    return PERMIT | {"types": PERMIT["types"] | declared, "message": {"x": value}}


def test_values_for_policies() -> None:
    data = parsed(PERMIT)
    assert (data.primary_type, data.domain) == ("Permit", {"name": "USD Coin", "chainId": 1})
    assert data.message == {"owner": TOKEN.lower(), "value": 1000}


def test_undeclared_members_are_not_shown_to_policies() -> None:
    """The types say what is hashed. A policy that looked at more would judge what is not signed."""
    decoy = PERMIT | {
        "domain": PERMIT["domain"] | {"verifyingContract": TOKEN},
        "message": PERMIT["message"] | {"spender": TOKEN},
    }
    assert parsed(decoy) == parsed(PERMIT)


def test_an_undeclared_domain_has_the_type_of_its_members() -> None:
    undeclared = PERMIT | {"types": {"Permit": PERMIT["types"]["Permit"]}}
    assert parsed(undeclared) == parsed(PERMIT)
    every = {"salt": "0x" + "ab" * 32, "verifyingContract": TOKEN, "chainId": "0x1", "version": "2", "name": "n"}
    order = ["name", "version", "chainId", "verifyingContract", "salt"]
    kinds = ["string", "string", "uint256", "address", "bytes32"]
    declared = [{"name": name, "type": kind} for name, kind in zip(order, kinds, strict=True)]
    assert (
        parsed(undeclared | {"domain": every}).digest
        == parsed(PERMIT | {"types": PERMIT["types"] | {"EIP712Domain": declared}, "domain": every}).digest
    )


PERSON = [{"name": "name", "type": "string"}, {"name": "children", "type": "Person[]"}]
VALUES: list[tuple[str, str, Any, Any]] = [
    ("a number", "uint256", 7, 7),
    ("a number as digits", "uint256", "7", 7),
    ("a number as hex", "uint256", "0x07", 7),
    ("a negative number", "int8", -128, -128),
    ("a negative number as digits", "int256", "-5", -5),
    ("the largest number", "uint256", str(2**256 - 1), 2**256 - 1),
    ("an integer type without its size", "uint", 7, 7),
    ("bytes", "bytes", "0xABcd", "0xabcd"),
    ("no bytes", "bytes", "0x", "0x"),
    ("bytes4", "bytes4", "0xDEADBEEF", "0xdeadbeef"),
    ("a truth value", "bool", False, False),
    ("text", "string", "Zoë 漢字 🔑", "Zoë 漢字 🔑"),
    ("hexadecimal text", "string", "0xAB", "0xAB"),
    ("a list", "uint8[]", [1, "2", "0x3"], [1, 2, 3]),
    ("an empty list", "uint8[]", [], []),
    ("lists in a list", "uint8[2][]", [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    ("a struct", "Person", {"name": "A", "children": []}, {"name": "A", "children": []}),
    (
        "a struct in itself",
        "Person",
        {"name": "A", "children": [{"name": "B", "children": []}]},
        {"name": "A", "children": [{"name": "B", "children": []}]},
    ),
]


@pytest.mark.parametrize(("name", "kind", "value", "seen"), VALUES, ids=[name for name, *_ in VALUES])
def test_value(name: str, kind: str, value: Any, seen: Any) -> None:
    document = with_message(kind, value, Person=PERSON)
    data = parsed(document)
    assert data.message == {"x": seen}
    theirs = document
    if kind == "uint":  # the library takes the full name only; the name is part of what is hashed
        return
    assert data.digest == independent_digest(theirs)


UNUSUAL_DOMAINS = [
    ("verifyingContract", "uint256", 5),
    ("verifyingContract", "string", TOKEN),
    ("chainId", "string", "1"),
    ("chainId", "int256", 1),
    ("name", "bytes", "0x"),
    ("version", "uint8", 1),
    ("salt", "string", ""),
]


@pytest.mark.parametrize(
    ("name", "kind", "value"), UNUSUAL_DOMAINS, ids=[" ".join(row[:2]) for row in UNUSUAL_DOMAINS]
)
def test_what_a_domain_declares_otherwise_is_signed_and_unreadable(name: str, kind: str, value: object) -> None:
    """A policy that looks for an address would not recognize one that is declared as a number."""
    data = parsed(with_domain(name, kind, value))
    assert data.domain == {name: Unreadable(f"the domain declares it as {kind}, not as EIP-712 does")}
    assert data.digest != parsed(with_domain("name", "string", "USD Coin")).digest
    (moved,) = typed_data_movements(data)
    assert isinstance(moved.to, Unreadable)
    assert moved.contract == ""


COLONS = "HyperliquidTransaction:ApproveAgent"
HYPERLIQUID = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        COLONS: [
            {"name": "hyperliquidChain", "type": "string"},
            {"name": "agentAddress", "type": "address"},
            {"name": "agentName", "type": "string"},
            {"name": "nonce", "type": "uint64"},
        ],
    },
    "primaryType": COLONS,
    "domain": {
        "name": "HyperliquidSignTransaction",
        "version": "1",
        "chainId": 42161,
        "verifyingContract": "0x" + "00" * 20,
    },
    "message": {
        "hyperliquidChain": "Mainnet",
        "agentAddress": "0x" + "ab" * 20,
        "agentName": "bot",
        "nonce": 1763762400000,
    },
}


@pytest.mark.parametrize("name", [COLONS, "Lib.Order", "order-line", "A:B:C", "@context"])
def test_names_that_solidity_does_not_have_and_clients_sign(name: str) -> None:
    document = json.loads(json.dumps(HYPERLIQUID).replace(COLONS, name))
    data = parsed(document)
    assert data.primary_type == name
    assert data.digest == independent_digest(document)


def without(document: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != member}


def with_domain(name: str, kind: str, value: object) -> dict[str, Any]:
    """A permit whose domain has this one member, declared as this type."""
    types = PERMIT["types"] | {"EIP712Domain": [{"name": name, "type": kind}]}
    return PERMIT | {"types": types, "domain": {name: value}}


TWICE = json.dumps(PERMIT).replace('"value": "1000"', '"value": "1", "value": "1000"')
LONG = "N" * 80
ALL_TO_ALL = {f"{LONG}{n}": [{"name": f"m{m}", "type": f"{LONG}{m}[]"} for m in range(n + 1)] for n in range(40)}
UNCLE = {"name": "A", "children": [{"name": "B", "children": []}, {"name": 1, "children": []}]}
REFUSED: list[tuple[str, Any, str]] = [
    ("not JSON", "{", "JSON"),
    ("a list", "[]", "object"),
    ("JSON and more", json.dumps(PERMIT) + "1", "JSON"),
    ("a member twice", TWICE, "twice"),
    ("no types", without(PERMIT, "types"), "types"),
    ("no message", without(PERMIT, "message"), "message"),
    ("no primary type", without(PERMIT, "primaryType"), "primaryType"),
    ("a primary type that is not declared", PERMIT | {"primaryType": "Mail"}, "'Mail' is not declared"),
    ("no message", without(PERMIT, "message"), "`message` is missing"),
    (
        "a custom member of a domain that is not declared",
        PERMIT | {"types": without(PERMIT["types"], "EIP712Domain"), "domain": {"name": "A", "tier": 3}},
        "`domain.tier`: `types` declares no EIP712Domain",
    ),
    ("a member missing", PERMIT | {"message": {"owner": TOKEN}}, "message.value"),
    ("a domain member missing", PERMIT | {"domain": {"name": "n"}}, "domain.chainId"),
    ("null for a member", with_message("string", None), "message.x"),
    ("a fraction", with_message("uint256", 1.5), "1.5 is not an integer in full"),
    ("an exponent", json.dumps(with_message("uint256", 1)).replace('"x": 1}', '"x": 1e3}'), "integer"),
    ("not a number", json.dumps(with_message("uint256", float("nan"))), "integer"),
    ("a number of a thousand digits", with_message("uint256", 10**999), "digits"),
    ("a truth value for a number", with_message("uint256", True), "message.x"),
    ("a number for a truth value", with_message("bool", 1), "message.x"),
    ("a number beyond its type", with_message("uint8", 256), "uint8"),
    ("a negative number for an unsigned type", with_message("uint8", -1), "uint8"),
    ("a number below its type", with_message("int8", -129), "int8"),
    ("a number with spaces", with_message("uint8", " 1"), "message.x"),
    ("a number with an underscore", with_message("uint256", "1_0"), "message.x"),
    ("digits of another script", with_message("uint256", "١"), "message.x"),
    ("bytes without 0x", with_message("bytes", "ab"), "message.x"),
    ("half a byte", with_message("bytes", "0xa"), "message.x"),
    ("bytes that are too short", with_message("bytes4", "0xabcdef"), "4 bytes"),
    ("an address that is too short", with_message("address", "0x0"), "message.x"),
    ("an address of 32 bytes", with_message("address", "0x" + "00" * 32), "20 bytes"),
    ("text for a list", with_message("uint8[]", "1"), "list"),
    ("a list of another length", with_message("uint8[2]", [1]), "2 items"),
    ("a list for a struct", with_message("Person", [], Person=PERSON), "object"),
    ("a number for text", with_message("string", 1), "string"),
    ("half a surrogate pair", json.dumps(with_message("string", "\ud83d")), "surrogate"),
    ("a type of no size", with_message("uint7", 1), "uint7"),
    ("a type beyond 256 bits", with_message("uint264", 1), "uint264"),
    ("bytes33", with_message("bytes33", "0x"), "bytes33"),
    ("a type that is not declared", with_message("Other[]", []), "Other"),
    ("a type with the name of another", with_message("string", "x", uint256=PERSON), "types.uint256"),
    (
        "a member's name with a comma",
        PERMIT | {"types": {"Permit": [{"name": "a,b", "type": "bool"}]}},
        "identifier",
    ),
    ("a type's name with a bracket", with_message("string", "x", **{"A(": []}), "identifier"),
    (
        "two members of one name",
        PERMIT | {"types": {"Permit": [{"name": "a", "type": "bool"}, {"name": "a", "type": "bool"}]}},
        "same name",
    ),
    (
        "a domain member of no standard",
        PERMIT | {"types": {"Permit": PERMIT["types"]["Permit"]}, "domain": {"nonce": 1}},
        "domain.nonce",
    ),
    ("a list in lists without end", with_message("uint8" + "[]" * 40, []), "deep"),
    ("types that refer to all others", with_message(f"{LONG}39[]", [], **ALL_TO_ALL), "characters to hash"),
    (
        "a member three levels down",
        with_message("Person", UNCLE, Person=PERSON),
        "`message.x.children[1].name`: expe",
    ),
    ("types without end", with_message("string", "x", **{f"T{n}": [] for n in range(100)}), "100"),
    (
        "empty structures",
        {
            "types": {"A": [{"name": "v", "type": "B[]"}], "B": []},
            "primaryType": "A",
            "domain": {},
            "message": {"v": [{}] * 20_000},
        },
        "32768 commas and opening brackets",
    ),
    ("text without end", json.dumps(with_message("string", "x" * TYPED_DATA_BYTES_MAX)), "131072"),
]


@pytest.mark.parametrize(("name", "document", "says"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_refused(name: str, document: Any, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parsed(document)
    assert refused.value.message.startswith("invalid request body: field `parameters.payload`: not EIP-712")
    assert says in refused.value.message


def test_decoding_is_linear_in_the_length() -> None:
    deep: Any = {"name": "", "children": []}
    for _ in range(300):
        deep = {"name": "", "children": [deep]}
    chain = {f"T{n}": [{"name": "x", "type": f"T{n + 1}[]"}] * 1 for n in range(90)} | {"T90": []}
    long_names = {
        f"{'N' * 150}{n}": [{"name": f"m{m}", "type": f"{'N' * 150}{(n * m) % 80}[]"} for m in range(8)]
        for n in range(80)
    }
    documents = [
        json.dumps(with_message("Person", deep, Person=PERSON)),
        "[" * 100_000,
        '{"a":' * 20_000,
        json.dumps(with_message("T0[]", [{"x": []}] * 5_000, **chain)),
        json.dumps(with_message(f"{'N' * 150}0[]", [], **long_names)),
    ]
    for document in documents:
        with not_hanging(), contextlib.suppress(InvalidRequest):
            parsed(document)


ELEMENTARY: list[tuple[str, st.SearchStrategy[Any]]] = [
    ("uint8", st.integers(0, 255)),
    ("uint256", st.integers(0, 2**256 - 1)),
    ("int64", st.integers(-(2**63), 2**63 - 1)),
    ("bool", st.booleans()),
    ("string", st.text(max_size=40)),
    ("address", st.binary(min_size=20, max_size=20).map(lambda data: "0x" + data.hex())),
    ("bytes", st.binary(max_size=70).map(lambda data: "0x" + data.hex())),
    ("bytes5", st.binary(min_size=5, max_size=5).map(lambda data: "0x" + data.hex())),
]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Structs B in A in lists of a few dimensions, members of any elementary type."""

    def struct(names: int, *others: tuple[str, st.SearchStrategy[Any]]) -> tuple[list[Any], dict[str, Any]]:
        members, value = [], {}
        for number in range(names):
            kind, values = draw(st.sampled_from([*ELEMENTARY, *others]))
            for _ in range(draw(st.integers(0, 2))):
                kind, values = kind + "[]", st.lists(values, max_size=2)
            members.append({"name": f"m{number}", "type": kind})
            value[f"m{number}"] = draw(values)
        return members, value

    inner, inner_value = struct(draw(st.integers(1, 3)))
    outer, outer_value = struct(draw(st.integers(1, 4)), ("B", st.just(inner_value)))
    return PERMIT | {
        "types": {"EIP712Domain": PERMIT["types"]["EIP712Domain"], "A": outer, "B": inner},
        "primaryType": "A",
        "message": outer_value,
    }


@settings(max_examples=examples(75))
@given(documents())
def test_any_digest_is_that_of_the_independent_library(document: dict[str, Any]) -> None:
    data = parsed(document)
    assert data.digest == independent_digest(document)
    assert data.message == document["message"]


def test_mutated_text_is_refused_or_read() -> None:
    chance = random.Random(712)
    text = CAPTURED["viem-signTypedData-arrays-salt"]["parameters"]["payload"]
    outcomes = {True: 0, False: 0}
    for _ in range(500):
        at = chance.randrange(len(text))
        changed = text[:at] + chance.choice('0"{}[],:a-x\u0000') + text[at + chance.randrange(3) :]
        try:
            parsed(changed)
            outcomes[True] += 1
        except InvalidRequest:
            outcomes[False] += 1
    assert all(outcomes.values())
