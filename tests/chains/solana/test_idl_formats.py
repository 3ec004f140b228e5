"""Solana IDLs: shapes of every dialect are accepted, any other is refused by the name of the member."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import IDL_INSTRUCTIONS_MAX, IDL_NESTING_MAX, INTERFACE_NAME_CHARACTERS_MAX
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.organizations.memory_size import measured_bytes
from tests.chains.solana.idls import (
    BOX,
    BYTE,
    ORDER,
    OTHER_DIALECTS,
    SIDE,
    TWO,
    enum,
    generic,
    idl,
    instruction,
    program,
    struct,
    using,
)

ACCOUNT = {"name": "payer", "isMut": True, "isSigner": True}
GOOD_IDLS: list[tuple[str, dict[str, Any]]] = [
    ("empty", program()),
    (
        "every plain type",
        idl("bool", "u8", "i8", "u16", "i32", "u64", "u128", "i256", "f32", "f64", "string", "bytes"),
    ),
    ("both names of a public key", idl("publicKey", "pubkey")),
    (
        "lists, options and arrays",
        idl({"vec": "u8"}, {"option": {"vec": "string"}}, {"coption": "u64"}, {"array": ["u8", 32]}),
    ),
    ("a defined type, before Anchor 0.30", using(ORDER)),
    ("a defined type, since Anchor 0.30", idl({"defined": {"name": "Order"}}, defined=(ORDER,))),
    ("an enum of either kind of variant", using(SIDE)),
    ("a generic type", idl(generic("Box", BYTE, TWO), defined=(BOX,))),
    (
        "a generic type in another",
        idl(generic("Box", {"kind": "type", "type": generic("Box", BYTE, TWO)}, TWO), defined=(BOX,)),
    ),
    (
        "types that name each other",
        using(struct("Book", {"name": "o", "type": {"vec": {"defined": "Order"}}}), ORDER),
    ),
    ("unnamed fields", using(struct("Pair", "u8", {"option": "u8"}))),
    ("a layout in memory", using({**ORDER, "serialization": "borsh", "repr": {"kind": "c", "packed": True}})),
    # Types that no instruction needs describe accounts and events, and change nothing.
    ("a type that is not defined", idl(defined=(struct("B", {"name": "o", "type": {"defined": "Order"}}),))),
    ("a type that cannot be read", idl(defined=({**ORDER, "serialization": "bytemuck"},))),
    ("a type that is defined twice", idl(defined=(ORDER, ORDER))),
    ("parameters by name alone", idl(defined=({**ORDER, "generics": ["T"]},))),
    *(
        (f"a type of another dialect: {next(iter(kind))}", idl(defined=(struct("B", kind),)))
        for kind in OTHER_DIALECTS
    ),
    # Dialects
    (
        "Anchor before 0.30",
        program(
            instruction(
                "u64",
                accounts=[
                    ACCOUNT,
                    {"name": "pool", "accounts": [{**ACCOUNT, "docs": ["x"], "pda": {"seeds": []}}]},
                ],
                docs=["Go."],
                returns={"defined": "Undefined"},
            ),
            version="0.1.0",
            name="program",
            docs=["x"],
            constants=[{"name": "MAX", "type": "u8", "value": "1"}],
            accounts=[struct("Account", {"name": "x", "type": {"defined": "Undefined"}})],
            events=[{"name": "Event", "fields": [{"name": "x", "type": "u8", "index": False}]}],
            errors=[{"code": 6000, "name": "Bad", "msg": "bad"}],
            metadata={"address": "x", "origin": "anchor", "binaryVersion": "0.29.0", "libVersion": "0.29.0"},
        ),
    ),
    (
        "Anchor since 0.30",
        program(
            instruction(
                "u64",
                discriminator=[1, 2, 3, 4, 5, 6, 7, 8],
                accounts=[
                    {"name": "payer", "writable": True, "signer": True, "relations": ["pool"]},
                    {"name": "venue", "optional": True, "address": "x"},
                ],
            ),
            address="x",
            metadata={
                "name": "program",
                "version": "0.1.0",
                "spec": "0.1.0",
                "description": "x",
                "repository": "x",
                "dependencies": [],
                "contact": "x",
                "deployments": {},
            },
        ),
    ),
    (
        "Shank",
        program(
            instruction(
                "u8",
                discriminant={"type": "u8", "value": 7},
                accounts=[
                    {**ACCOUNT, "isOptional": True, "isOptionalSigner": True, "desc": "x"},
                    {"name": "other", "isMut": False, "isSigner": False},
                ],
                legacyOptionalAccountsStrategy=True,
            ),
            version="0.1.0",
            name="program",
            accounts=[],
            metadata={"origin": "shank", "address": "x"},
            types=[struct("T", {"name": "x", "type": "u8", "attrs": ["padding"]}, podSentinel=[0])],
        ),
    ),
    ("absent members that are null", idl("u8", state=None, metadata=None)),
    ("a discriminator", program(instruction(discriminator=[0, 255]))),
    ("a discriminator of no bytes", program(instruction(discriminator=[]))),
    *(
        (f"discriminant {kind}", program(instruction(discriminant={"type": kind, "value": value})))
        for kind, value in (("u8", 255), ("u16", 65_535), ("u32", 2**32 - 1), ("u64", 2**64 - 1))
    ),
    ("a number in a name", program(instruction(name="swap2"), instruction(name="token2022Transfer"))),
    (
        "groups of accounts",
        program(instruction(accounts=[{"name": "a", "accounts": [ACCOUNT]}, {"name": "b", "accounts": [ACCOUNT]}])),
    ),
    (
        "as many instructions as may be",
        program(*(instruction(discriminator=divmod(number, 256)) for number in range(IDL_INSTRUCTIONS_MAX))),
    ),
    (
        "as many accounts as may be",
        program(instruction(accounts=[{"name": f"a{number}"} for number in range(255)])),
    ),
    (
        "names as long as they may be",
        idl(
            accounts=1.5, instructions=[instruction("u8", accounts=[{"name": "x" * INTERFACE_NAME_CHARACTERS_MAX}])]
        ),
    ),
    ("an empty group of accounts", program(instruction(accounts=[{"name": "a", "accounts": []}, ACCOUNT]))),
]


@pytest.mark.parametrize(("name", "document"), GOOD_IDLS, ids=[name for name, _ in GOOD_IDLS])
def test_idl(name: str, document: dict[str, Any]) -> None:
    assert measured_bytes(ProgramIdl.read(json.dumps(document)))


def grouped(depth: int) -> Any:
    written: Any = ACCOUNT
    for _ in range(depth):
        written = {"name": "group", "accounts": [written]}
    return written


UNKNOWN: list[tuple[str, dict[str, Any]]] = [
    ("$", idl(layout=1)),
    ("$.metadata", idl(metadata={"layout": 1})),
    ("$.instructions[0]", program(instruction(layout=1))),
    ("$.instructions[0].args[0]", program(instruction(args=[{"name": "x", "type": "u8", "layout": 1}]))),
    ("$.instructions[0].args[0].type", idl({"vec": "u8", "layout": 1})),
    ("$.instructions[0].args[0].type.vec", idl({"vec": {"option": "u8", "layout": 1}})),
    ("$.instructions[0].args[0].type.defined", idl({"defined": {"name": "Order", "layout": 1}}, defined=(ORDER,))),
    (
        "$.instructions[0].args[0].type.defined.generics[0]",
        idl(generic("Box", {**BYTE, "layout": 1}, TWO), defined=(BOX,)),
    ),
    ("$.instructions[0].args[0].type.array[1]", idl({"array": ["u8", {"generic": "N", "layout": 1}]})),
    ("$.instructions[0].accounts[0]", program(instruction(accounts=[{**ACCOUNT, "layout": 1}]))),
    (
        "$.instructions[0].accounts[0].accounts[0]",
        program(instruction(accounts=[{"name": "a", "accounts": [{**ACCOUNT, "layout": 1}]}])),
    ),
    ("$.instructions[0].discriminant", program(instruction(discriminant={"type": "u8", "value": 1, "layout": 1}))),
    ("$.types[0]", using({**ORDER, "layout": 1})),
    ("$.types[0].type", using({"name": "Order", "type": {**ORDER["type"], "layout": 1}})),
    ("$.types[0].type.fields[0]", using(struct("Order", {"name": "x", "type": "u8", "layout": 1}))),
    ("$.types[0].type.variants[0]", using(enum({"name": "A", "layout": 1}))),
    ("$.types[0].generics[0]", using({**ORDER, "generics": [{"kind": "type", "name": "T", "layout": 1}]})),
]
"""A member that nobody knows, in each object of an IDL that describes an instruction."""

LAYOUT_CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("size", using(enum({"name": "A"}, size="u32"))),
    ("size", idl({"vec": "u8", "size": "u8"})),
    ("prefix", idl({"option": "u8", "prefix": "u32"})),
    ("fixed", idl({"coption": "u8", "fixed": True})),
    ("value", using(enum({"name": "A", "value": 7}))),
    ("remainingAccounts", program(instruction(remainingAccounts=[]))),
    ("optionalAccountStrategy", program(instruction(optionalAccountStrategy="omitted"))),
    ("endian", using(struct("Order", {"name": "x", "type": "u32", "endian": "be"}))),
]
"""Members of extended dialects that change how data or accounts are laid out."""

BAD_IDLS: list[tuple[str, Any, str]] = [
    ("a list", [], "Expected `object`, got `array`"),
    ("no types", {"instructions": []}, "`types`"),
    ("no instructions", {"types": []}, "`instructions`"),
    ("an instruction without a name", program({"accounts": [], "args": []}), "`name`"),
    ("an instruction without arguments", program({"name": "go", "accounts": []}), "`args`"),
    *(
        (f"unknown: {place}", document, "unknown field `layout`" + (f" - at `{place}`" if place != "$" else ""))
        for place, document in UNKNOWN
    ),
    *((f"layout: {member}", document, f"unknown field `{member}`") for member, document in LAYOUT_CHANGES),
    (
        "a root node of Codama",
        {"kind": "rootNode", "standard": "codama", "version": "1.0.0", "program": {"kind": "programNode"}},
        "a root node of Codama is not read",
    ),
    ("state", idl(state={"struct": ORDER, "methods": []}), "$.state"),
    ("another specification", idl(metadata={"spec": "0.2.0"}), "$.metadata.spec"),
    ("another origin", idl(metadata={"origin": "native"}), "$.metadata.origin"),
    (
        "two arguments of one name",
        program(instruction(args=[{"name": "x", "type": "u8"}] * 2)),
        "two arguments are named 'x'",
    ),
    (
        "two accounts of one name",
        program(instruction(accounts=[ACCOUNT, ACCOUNT])),
        "two accounts are named 'payer'",
    ),
    (
        "two accounts of one name in groups",
        program(instruction(accounts=[{"name": "a", "accounts": [ACCOUNT]}, {"name": "a.payer"}])),
        "two accounts are named 'a.payer'",
    ),
    (
        "an optional group",
        program(instruction(accounts=[{"name": "a", "accounts": [ACCOUNT], "optional": True}])),
        "account 'a': a group of accounts is not optional",
    ),
    ("a discriminator beyond a byte", program(instruction(discriminator=[256])), "<= 255"),
    ("a long discriminator", program(instruction(discriminator=[1] * 65)), "length <= 64"),
    (
        "both kinds of discriminator",
        program(instruction(discriminator=[1], discriminant={"type": "u8", "value": 1})),
        "not given together",
    ),
    (
        "a discriminant beyond its type",
        program(instruction(discriminant={"type": "u8", "value": 256})),
        "256 does not fit u8",
    ),
    (
        "a discriminant of another type",
        program(instruction(discriminant={"type": "i8", "value": 1})),
        "$.instructions",
    ),
    ("Shank without a discriminant", idl(metadata={"origin": "shank"}), "`discriminant` is missing"),
    (
        "two instructions of one discriminator",
        program(*(instruction(name=name, discriminator=[1]) for name in "ab")),
        "instructions 'a' and 'b': some data could be of either",
    ),
    (
        "a discriminator in front of another",
        program(*(instruction(name=name, discriminator=[1] * size) for size, name in enumerate("abc", 1))),
        "instructions 'a' and 'b': some data could be of either",
    ),
    (
        "a discriminator of no bytes beside another",
        program(instruction(discriminator=[]), instruction(name="other")),
        "some data could be of either",
    ),
    (
        "a discriminant in front of a discriminator",
        program(instruction(discriminant={"type": "u8", "value": 1}), instruction(name="b", discriminator=[1, 0])),
        "some data could be of either",
    ),
    (
        "two spellings of one name",
        program(instruction(name="swap2"), instruction(name="swap_2")),
        "instructions 'swap2' and 'swap_2': some data could be of either: give each its `discriminator`",
    ),
    *(
        (f"name {name!r}", program(instruction(name=name)), "give its `discriminator`")
        for name in ("swap_V2", "", "2swap", "swap-tokens", "a1b2c3d4e5", "v12345", "öffnen")
    ),
    (
        "accounts nested too deep",
        program(instruction(accounts=[grouped(40)])),
        f"nested more than {IDL_NESTING_MAX} deep",
    ),
    (
        "too many instructions",
        program(*(instruction(discriminator=divmod(number, 256)) for number in range(IDL_INSTRUCTIONS_MAX + 1))),
        "1001 instructions; at most 1000 are allowed",
    ),
    (
        "too many accounts",
        program(instruction(accounts=[{"name": f"a{number}"} for number in range(256)])),
        "instruction 'go': 256 accounts; the network allows at most 255",
    ),
    (
        "a name that is too long",
        idl(instructions=[instruction(name="x" * (INTERFACE_NAME_CHARACTERS_MAX + 1))]),
        f"Expected `str` of length <= {INTERFACE_NAME_CHARACTERS_MAX} - at `$.instructions[0].name`",
    ),
    (
        "a name that is too long with its group",
        program(instruction(accounts=[{"name": "g" * 200, "accounts": [{"name": "a" * 56}]}])),
        f"with its groups, its name has 257 characters; at most {INTERFACE_NAME_CHARACTERS_MAX} are allowed",
    ),
    (
        "groups in groups whose names are long",
        program(instruction(accounts=[{"name": "g" * 250, "accounts": [{"name": "h" * 250, "accounts": []}]}])),
        "its name has 501 characters",
    ),
]


@pytest.mark.parametrize(("name", "document", "message"), BAD_IDLS, ids=[name for name, *_ in BAD_IDLS])
def test_bad_idl(name: str, document: Any, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ProgramIdl.read(json.dumps(document))
    assert "field `parameters.smartContractInterface`: not a Solana IDL" in refused.value.message
    assert message in refused.value.message


def test_a_member_twice() -> None:
    text = json.dumps(idl("u8")).replace('"type": "u8"', '"type": "u8", "type": "u64"')
    with pytest.raises(InvalidRequest, match="not a Solana IDL: field `type` appears twice"):
        ProgramIdl.read(text)


@pytest.mark.parametrize("depth", [500, 900, 990, 1000, 5000])
def test_accounts_nested_however_deep(depth: int) -> None:
    group = '{"name":"g","accounts":['
    text = json.dumps(program(instruction(accounts=["@"]))).replace('"@"', group * depth + "]}" * depth)
    with pytest.raises(InvalidRequest):
        ProgramIdl.read(text)
