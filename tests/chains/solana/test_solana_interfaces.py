"""Instructions read by their IDLs: old and new specification, every type, and data that fits no single reading."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from keystead.chains.bounds import SOLANA_VALUES_MAX
from keystead.chains.solana.borsh import ABSENT, ValueMeter
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.primitives.unreadable import known
from tests.chains.signing_vectors import PROGRAM_INTERFACES
from tests.support.facts import readable
from tests.support.hanging import not_hanging

KEY = Pubkey(b"\x05" * 32)
ROUTE = bytes.fromhex("e517cb977ae3ad2a")
"""Anchor's discriminator of `route`: sha256("global:route")[:8]."""

TYPES: list[dict[str, Any]] = [
    {
        "name": "Pair",
        "type": {"kind": "struct", "fields": [{"name": "a", "type": "u8"}, {"name": "b", "type": "i8"}]},
    },
    {"name": "Tuple", "type": {"kind": "struct", "fields": ["u8", "bool"]}},
    {"name": "Nothing", "type": {"kind": "struct"}},
    {
        "name": "Side",
        "type": {
            "kind": "enum",
            "variants": [
                {"name": "Bid"},
                {"name": "Ask", "fields": [{"name": "price", "type": "u16"}]},
                {"name": "Swap", "fields": ["u8", {"defined": "Pair"}]},
            ],
        },
    },
    {"name": "OldAlias", "type": {"kind": "alias", "value": {"vec": "u8"}}},
    {"name": "NewAlias", "type": {"kind": "type", "alias": {"defined": {"name": "Pair"}}}},
    {"name": "Endless", "type": {"kind": "struct", "fields": [{"name": "next", "type": {"defined": "Endless"}}]}},
    {
        "name": "List",
        "type": {"kind": "struct", "fields": [{"name": "next", "type": {"option": {"defined": "List"}}}]},
    },
    {  # struct Box<T, const N: usize> { items: [T; N], last: Option<T> }
        "name": "Box",
        "generics": [{"kind": "type", "name": "T"}, {"kind": "const", "name": "N", "type": "usize"}],
        "type": {
            "kind": "struct",
            "fields": [
                {"name": "items", "type": {"array": [{"generic": "T"}, {"generic": "N"}]}},
                {"name": "last", "type": {"option": {"generic": "T"}}},
            ],
        },
    },
    {  # enum Either<T, U> { Left(T), Right { value: U } }
        "name": "Either",
        "generics": [{"kind": "type", "name": "T"}, {"kind": "type", "name": "U"}],
        "type": {
            "kind": "enum",
            "variants": [
                {"name": "Left", "fields": [{"generic": "T"}]},
                {"name": "Right", "fields": [{"name": "value", "type": {"generic": "U"}}]},
            ],
        },
    },
    {  # type Swapped<T, U> = Either<U, T>: the names mean another thing inside than outside
        "name": "Swapped",
        "generics": [{"kind": "type", "name": "T"}, {"kind": "type", "name": "U"}],
        "type": {
            "kind": "type",
            "alias": {
                "defined": {
                    "name": "Either",
                    "generics": [
                        {"kind": "type", "type": {"generic": "U"}},
                        {"kind": "type", "type": {"generic": "T"}},
                    ],
                }
            },
        },
    },
    *(
        {  # struct Bytes<const M: usize>(Box<u8, M>), the constant handed on as Anchor writes it, and as one would
            "name": name,
            "generics": [{"kind": "const", "name": "M", "type": "usize"}],
            "type": {
                "kind": "struct",
                "fields": [{"defined": {"name": "Box", "generics": [{"kind": "type", "type": "u8"}, handed_on]}}],
            },
        }
        for name, handed_on in (
            ("Bytes", {"kind": "type", "type": {"generic": "M"}}),
            ("MoreBytes", {"kind": "const", "value": "M"}),
        )
    ),
    {  # struct Deeper<T> { next: Option<Deeper<Option<T>>> }, of which every level is another type
        "name": "Deeper",
        "generics": [{"kind": "type", "name": "T"}],
        "type": {
            "kind": "struct",
            "fields": [
                {
                    "name": "next",
                    "type": {
                        "option": {
                            "defined": {
                                "name": "Deeper",
                                "generics": [{"kind": "type", "type": {"option": {"generic": "T"}}}],
                            }
                        }
                    },
                }
            ],
        },
    },
]


def generic(name: str, *arguments: Any) -> dict[str, Any]:
    """The type that this definition makes of these types and constants. The constants are numbers here."""
    written = [
        {"kind": "const", "value": str(each)} if isinstance(each, int) else {"kind": "type", "type": each}
        for each in arguments
    ]
    return {"defined": {"name": name, "generics": written}}


def idl(*arguments: Any, name: str = "route", accounts: tuple[Any, ...] = (), **more: Any) -> str:
    """An IDL of one instruction whose arguments are of these types, named x0, x1, …"""
    args = [{"name": f"x{at}", "type": kind} for at, kind in enumerate(arguments)]
    return json.dumps(
        {"instructions": [{"name": name, "accounts": accounts, "args": args, **more}], "types": TYPES}
    )


def read(text: str, data: bytes, accounts: Sequence[str] = ()) -> Any:
    """What is read of an instruction; None if it is unreadable."""
    return known(ProgramIdl.read(text).parse_instruction(data, accounts, ValueMeter()))


READ: list[tuple[Any, bytes, Any]] = [
    ("bool", b"\0", False),
    ("bool", b"\x01", True),
    *((f"u{bits}", b"\xff" * (bits // 8), 2**bits - 1) for bits in (8, 16, 32, 64, 128)),
    *((f"i{bits}", b"\xfe" + b"\xff" * (bits // 8 - 1), -2) for bits in (8, 16, 32, 64, 128)),
    ("u32", b"\x01\0\0\0", 1),
    ("f32", struct.pack("<f", 0.5), "0.5"),
    ("f64", struct.pack("<d", -1e300), "-1e+300"),
    ("publicKey", bytes(KEY), str(KEY)),
    ("pubkey", bytes(KEY), str(KEY)),
    ("bytes", b"\x03\0\0\0\xab\xcd\xef", "abcdef"),
    ("string", b"\x03\0\0\0\xe2\x82\xac", "€"),
    ({"vec": "u16"}, b"\x02\0\0\0\x01\0\x02\0", [1, 2]),
    ({"array": ["u8", 3]}, b"\x01\x02\x03", [1, 2, 3]),
    ({"option": "u8"}, b"\0", ABSENT),
    ({"option": "u8"}, b"\x01\x07", 7),
    ({"defined": "Pair"}, b"\x01\xff", {"a": 1, "b": -1}),
    ({"defined": {"name": "Pair"}}, b"\x01\xff", {"a": 1, "b": -1}),
    ({"defined": "Tuple"}, b"\x01\x01", [1, True]),
    ({"defined": "Nothing"}, b"", {}),
    ({"defined": "Side"}, b"\0", {"Bid": {}}),
    ({"defined": "Side"}, b"\x01\x09\0", {"Ask": {"price": 9}}),
    ({"defined": "Side"}, b"\x02\x09\x01\x02", {"Swap": [9, {"a": 1, "b": 2}]}),
    ({"defined": "OldAlias"}, b"\x01\0\0\0\x05", [5]),
    ({"defined": "NewAlias"}, b"\x01\xff", {"a": 1, "b": -1}),
    ({"vec": {"vec": {"option": "u8"}}}, b"\x02\0\0\0\x01\0\0\0\x01\x05\0\0\0\0", [[5], []]),
    ({"defined": "List"}, b"\x01\x01\0", {"next": {"next": {"next": ABSENT}}}),
    # Borsh of a generic type is that of the type with its parameters put in.
    (generic("Box", "u16", 2), b"\x01\0\x02\0" + b"\0", {"items": [1, 2], "last": ABSENT}),
    (generic("Box", "u8", 0), b"\x01\x07", {"items": [], "last": 7}),
    (
        generic("Box", generic("Box", "u8", 1), 1),
        b"\x05\0" + b"\x01" + b"\x06\x01\x07",
        {"items": [{"items": [5], "last": ABSENT}], "last": {"items": [6], "last": 7}},
    ),
    (generic("Either", "u8", {"vec": "u8"}), b"\x01" + b"\x01\0\0\0\x09", {"Right": {"value": [9]}}),
    (generic("Either", {"defined": "Pair"}, "u8"), b"\0\x01\xff", {"Left": [{"a": 1, "b": -1}]}),
    (generic("Swapped", "u16", "u8"), b"\0\x09", {"Left": [9]}),
    (generic("Swapped", "u16", "u8"), b"\x01\x09\0", {"Right": {"value": 9}}),
    (generic("Bytes", 3), b"\x01\x02\x03" + b"\0", [{"items": [1, 2, 3], "last": ABSENT}]),
    (generic("MoreBytes", 1), b"\x01" + b"\x01\x02", [{"items": [1], "last": 2}]),
    (generic("Deeper", "u8"), b"\x01\x01\0", {"next": {"next": {"next": ABSENT}}}),
]


@pytest.mark.parametrize(("kind", "data", "value"), READ, ids=[f"{row[0]} {row[1].hex()}" for row in READ])
def test_types(kind: Any, data: bytes, value: Any) -> None:
    parsed = read(idl(kind, "u8"), ROUTE + data + b"\x63")
    assert parsed is not None
    assert parsed["program_call_args"] == {"x0": value, "x1": 99}


NOT_READ: list[tuple[str, Any, bytes]] = [
    ("no data", "u8", b""),
    ("data cut short", "u64", bytes(7)),
    ("more data", "u8", bytes(2)),
    ("a bool of 2", "bool", b"\x02"),
    ("an option of 2", {"option": "u8"}, b"\x02\x01"),
    ("a variant too many", {"defined": "Side"}, b"\x03"),
    ("a string that is not UTF-8", "string", b"\x01\0\0\0\xff"),
    ("a string beyond the data", "string", b"\xff\xff\xff\xff"),
    ("a list beyond the data", {"vec": "u8"}, b"\xff\xff\xff\xff"),
    ("a list of four thousand millions of nothing", {"vec": {"defined": "Nothing"}}, b"\xff\xff\xff\xff"),
    ("an array of as many", {"array": [{"defined": "Nothing"}, 2**62]}, b""),
    ("a type that never ends", {"defined": "Endless"}, bytes(9)),
    ("a type nested too deeply", {"defined": "List"}, b"\x01" * 100 + b"\0"),
    ("an array of millions of nothing", generic("Box", {"defined": "Nothing"}, 999_999_999), b"\0"),
    ("a generic type nested too deeply", generic("Deeper", "u8"), b"\x01" * 100 + b"\0"),
]


@pytest.mark.parametrize(("kind", "data"), [row[1:] for row in NOT_READ], ids=[row[0] for row in NOT_READ])
def test_data_without_an_exact_reading(kind: Any, data: bytes) -> None:
    with not_hanging():
        assert read(idl(kind), ROUTE + data) is None


AMOUNT = (258).to_bytes(8, "little")
COPTIONS: list[tuple[str, tuple[Any, ...], bytes, list[Any] | None]] = [
    # spl_token::instruction, pack_pubkey_option: one byte, and the key only if it is 1. Borsh writes enums so, too.
    ("SPL Token, none", ({"coption": "pubkey"},), b"\0", [ABSENT]),
    ("SPL Token, some", ({"coption": "pubkey"},), b"\x01" + bytes(KEY), [str(KEY)]),
    ("one in the middle", ({"coption": "u64"}, "u8"), b"\x01" + AMOUNT + b"\x07", [258, 7]),
    ("none in the middle", ({"coption": "u64"}, "u8"), b"\0\x07", [ABSENT, 7]),
    ("two", ({"coption": "u64"}, {"coption": "u8"}), b"\0\x01\x07", [ABSENT, 7]),
    ("in an option", ({"option": {"coption": "u8"}},), b"\x01\x01\x07", [7]),
    # Anchor's coder of SPL Token's instructions: one byte, and always the room of a key.
    ("with padding, none", ({"coption": "pubkey"},), bytes(33), [ABSENT]),
    # Without the padding, the u8 is its first zero.
    ("with padding, in the middle", ({"coption": "u64"}, "u8"), bytes(9) + b"\x07", None),
    # spl_token::state, pack_coption_key: four bytes, and always the room of a key.
    ("as in accounts, none", ({"coption": "pubkey"},), bytes(36), [ABSENT]),
    # Read as by SPL Token, it is another key, three zeros first, with three bytes behind that a program may ignore.
    ("as in accounts, some", ({"coption": "pubkey"},), b"\x01\0\0\0" + bytes(KEY), None),
    ("an amount that could be another", ({"coption": "u64"},), b"\x01\0\0\0" + AMOUNT, None),
    ("more data", ({"coption": "u64"},), b"\x01" + AMOUNT + b"\0", None),
    ("data cut short", ({"coption": "u64"},), b"\x01" + AMOUNT[:-1], None),
    ("no such tag", ({"coption": "u64"},), b"\x02" + AMOUNT, None),
    ("padding that is not zero", ({"coption": "u64"},), b"\0" + AMOUNT, None),
]
"""Options as C lays them out: types, data, and the arguments if all readings agree."""


@pytest.mark.parametrize(
    ("kinds", "data", "values"), [row[1:] for row in COPTIONS], ids=[row[0] for row in COPTIONS]
)
def test_options_whose_layout_the_idl_does_not_tell(
    kinds: tuple[Any, ...], data: bytes, values: list[Any] | None
) -> None:
    parsed = read(idl(*kinds), ROUTE + data)
    assert (None if parsed is None else list(parsed["program_call_args"].values())) == values


DISCRIMINATORS = [
    ("initialize", 1, ["afaf6d1f0d989bed"]),
    ("transfer", 1, ["a334c8e78c0345ba"]),
    ("route", 1, [ROUTE.hex()]),
    ("shared_accounts_route", 1, ["c1209b3341d69c81"]),
    ("sharedAccountsRoute", 1, ["c1209b3341d69c81"]),
    # swap_v2 or swap_v_2; swap2 or swap_2; v12, v_12, v1_2 or v_1_2
    ("swapV2", 2, ["2b04ed0b1ac91e62", "e0cc1e08e916dec2"]),
    ("swap2", 2, ["414b3f4ceb5b5b88", "df7e2d55564d1fc2"]),
    ("v12", 4, ["51d22d199ce321da", "10e3d93d6ac10f75", "f3aa26424cc04114", "1a12b1759e3c1b69"]),
    # among them token2022_transfer, token_2022_transfer and token20_22_transfer
    ("token2022Transfer", 16, ["b4a0474c6466479b", "2da0e121b7c81f34", "2685784c1582051f"]),
]
"""Names of instructions, how many discriminators each has, and some of them. Before Anchor 0.30, an IDL has a name
in camel case, which Anchor makes from the name of the function: then an underscore in front of a digit is lost."""


@pytest.mark.parametrize(("name", "count", "discriminators"), DISCRIMINATORS)
def test_discriminators_of_anchor(name: str, count: int, discriminators: list[str]) -> None:
    assert len(ProgramIdl.read(idl(name=name)).instructions) == count
    for discriminator in discriminators:
        parsed = read(idl(name=name), bytes.fromhex(discriminator))
        assert parsed is not None
        assert (parsed["instruction_name"], parsed["discriminator"]) == (name, discriminator)


def test_discriminators_that_are_written_out() -> None:
    parsed = read(idl("u8", discriminator=[7]), b"\x07\x01")
    assert parsed is not None
    assert (parsed["discriminator"], parsed["program_call_args"]) == ("07", {"x0": 1})
    assert read(idl("u8", discriminator=[7]), ROUTE + b"\x01") is None


def test_accounts_are_named_in_order() -> None:
    accounts = (
        {"name": "payer", "isMut": True, "isSigner": True},
        {"name": "pool", "accounts": [{"name": "vault", "writable": True}, {"name": "mint"}]},
    )
    parsed = read(idl(accounts=accounts), ROUTE, ["A", "B", "C", "D"])
    assert parsed is not None
    assert (
        parsed["named_accounts"] == parsed["named_account"] == {"payer": "A", "pool.vault": "B", "pool.mint": "C"}
    )
    assert read(idl(accounts=accounts), ROUTE, ["A", "B"]) is None


A, B, C = ({"name": name, "isMut": False, "isSigner": False} for name in "abc")
MAYBE = B | {"isOptional": True}
SHANK: dict[str, Any] = {"discriminant": {"type": "u8", "value": 7}}
ACCOUNTS: list[tuple[str, dict[str, Any], list[Any], str, dict[str, str] | None]] = [
    ("Anchor: all", {}, [A, MAYBE, C], "123", {"a": "1", "b": "2", "c": "3"}),
    ("Anchor: remaining ones", {}, [A, MAYBE, C], "1234", {"a": "1", "b": "2", "c": "3"}),
    ("Anchor: too few", {}, [A, MAYBE, C], "12", None),
    ("Anchor: absent ones are not left out", {}, [A, {"name": "b", "optional": True}], "1", None),
    ("Shank: all", SHANK, [A, B, C], "123", {"a": "1", "b": "2", "c": "3"}),
    ("Shank: remaining ones", SHANK, [A, B, C], "1234", {"a": "1", "b": "2", "c": "3"}),
    ("Shank: too few", SHANK, [A, B, C], "12", None),
    # The second account is b or c: the program knows, the IDL does not.
    ("Shank: one is left out", SHANK, [A, MAYBE, C], "12", {"a": "1"}),
    ("Shank: none is left out", SHANK, [A, MAYBE, C], "123", {"a": "1", "b": "2", "c": "3"}),
    ("Shank: one is left out, and others follow", SHANK, [A, MAYBE, C], "1234", {"a": "1"}),
    ("Shank: too few of those that must be there", SHANK, [A, MAYBE, C], "1", None),
    ("Shank: the first may be absent", SHANK, [MAYBE, A, C], "12", {}),
    ("left out", SHANK | {"legacyOptionalAccountsStrategy": True}, [A, MAYBE, C], "12", {"a": "1"}),
    ("not left out", SHANK | {"defaultOptionalAccounts": True}, [A, MAYBE, C], "12", None),
    (
        "not left out, and others",
        SHANK | {"defaultOptionalAccounts": True},
        [A, MAYBE],
        "123",
        {"a": "1", "b": "2"},
    ),
    ("Anchor's, left out", {"legacyOptionalAccountsStrategy": True}, [A, MAYBE, C], "12", {"a": "1"}),
    ("an empty group", {}, [{"name": "g", "accounts": []}, A], "1", {"a": "1"}),
    ("a group", {}, [{"name": "g", "accounts": [A, MAYBE]}, A], "123", {"g.a": "1", "g.b": "2", "a": "3"}),
]
"""The members of an instruction, its accounts, the keys that are given, the names of those that are readable."""


@pytest.mark.parametrize(
    ("members", "accounts", "keys", "named"), [row[1:] for row in ACCOUNTS], ids=[row[0] for row in ACCOUNTS]
)
def test_names_of_accounts(
    members: dict[str, Any], accounts: list[Any], keys: str, named: dict[str, str] | None
) -> None:
    data = b"\x07" if "discriminant" in members else ROUTE
    parsed = read(idl(accounts=tuple(accounts), **members), data, list(keys))
    assert (parsed and readable(parsed["named_accounts"])) == named


@pytest.mark.parametrize("vector", PROGRAM_INTERFACES["instructions"], ids=lambda vector: vector["id"])
def test_what_other_software_encodes(vector: dict[str, Any]) -> None:
    parsed = read(json.dumps(PROGRAM_INTERFACES["idls"][vector["idl"]]), bytes.fromhex(vector["data"]), ["A", "B"])
    assert parsed is not None
    arguments = with_absent_options(vector["arguments"])
    assert (parsed["instruction_name"], parsed["program_call_args"]) == (vector["name"], arguments)


def with_absent_options(value: Any) -> Any:
    """A value of a vector. JSON writes an absent option as null."""
    match value:
        case None:
            return ABSENT
        case list():
            return [with_absent_options(item) for item in value]
        case dict():
            return {name: with_absent_options(item) for name, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("vector", PROGRAM_INTERFACES["instructions"], ids=lambda vector: vector["id"])
def test_no_byte_of_it_can_be_left_out_or_added(vector: dict[str, Any]) -> None:
    text, data = json.dumps(PROGRAM_INTERFACES["idls"][vector["idl"]]), bytes.fromhex(vector["data"])
    for altered in (data[:-1], data + b"\0"):
        assert not read(text, altered, ["A", "B"])


KINDS = [kind for kind, *_ in READ] + [kind for _, kind, _ in NOT_READ] + [{"coption": "u8"}, {"coption": "u64"}]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(KINDS), max_size=4), st.binary(max_size=60))
def test_any_data_is_read_or_not(kinds: list[Any], data: bytes) -> None:
    parsed = read(idl(*kinds), ROUTE + data)
    assert parsed is None or len(parsed["program_call_args"]) == len(kinds)


# What reading may cost

EMPTY = {"name": "Empty", "type": {"kind": "struct", "fields": []}}
MANY = 5_000
WIDE = {
    "name": "Wide",
    "generics": [{"kind": "type", "name": f"T{number}"} for number in range(MANY)],
    "type": {"kind": "struct", "fields": []},
}
ARGUMENTS = [{"kind": "type", "type": "u8"}] * MANY
COSTLY: list[tuple[str, Any, dict[str, Any], int]] = [
    ("values that take no bytes", {"vec": {"defined": "Empty"}}, EMPTY, SOLANA_VALUES_MAX),
    ("an array of them", {"array": [{"defined": "Empty"}, 10**30]}, EMPTY, 0),
    ("generic arguments", {"vec": {"defined": {"name": "Wide", "generics": ARGUMENTS}}}, WIDE, 4),
]


@pytest.mark.parametrize(("kind", "defined", "count"), [row[1:] for row in COSTLY], ids=[row[0] for row in COSTLY])
def test_values_are_counted(kind: Any, defined: dict[str, Any], count: int) -> None:
    instruction = {"name": "route", "accounts": [], "args": [{"name": "x", "type": kind}]}
    text = json.dumps({"instructions": [instruction], "types": [defined]})
    with not_hanging():
        assert read(text, ROUTE + count.to_bytes(4, "little")) is None


def test_instructions_of_one_transaction_are_counted_together() -> None:
    program, meter = ProgramIdl.read(idl({"vec": "u8"})), ValueMeter()
    data = ROUTE + (1_000).to_bytes(4, "little") + bytes(1_000)
    read_ones = [known(program.parse_instruction(data, [], meter)) is not None for _ in range(20)]
    assert read_ones == [True] * (SOLANA_VALUES_MAX // 1_001) + [False] * (20 - SOLANA_VALUES_MAX // 1_001)


def test_members_of_a_structure_are_counted_before_they_are_read() -> None:
    """350 instructions that name a structure of 9,000 members took a second, although no member could be read."""
    wide = {
        "name": "Wide",
        "type": {
            "kind": "struct",
            "fields": [{"name": str(number), "type": "u8"} for number in range(SOLANA_VALUES_MAX)],
        },
    }
    instructions = [
        {
            "name": "wide",
            "accounts": [],
            "args": [{"name": "x", "type": {"defined": "Wide"}}],
            "discriminator": [1],
        },
        {"name": "narrow", "accounts": [], "args": [{"name": "x", "type": "u8"}], "discriminator": [2]},
    ]
    text = json.dumps({"instructions": instructions, "types": [wide]})
    program, meter = ProgramIdl.read(text), ValueMeter()
    assert known(program.parse_instruction(b"\x02\x09", [], meter)) is not None
    assert known(program.parse_instruction(b"\x01", [], meter)) is None
    assert known(program.parse_instruction(b"\x02\x09", [], meter)) is None


def test_a_discriminator_longer_than_the_data_does_not_match() -> None:
    two = {"name": "two", "accounts": [], "args": [], "discriminator": [1, 2]}
    text = json.dumps({"instructions": [two], "types": []})
    assert read(text, b"\x01") is None
    found = read(text, b"\x01\x02")
    assert found is not None
    assert found["instruction_name"] == "two"
