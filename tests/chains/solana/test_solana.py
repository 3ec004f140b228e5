"""Solana transactions: vectors, what is refused, what policies see; built, signed and verified by solders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.keypair import Keypair
from solders.message import (
    Message,
    MessageAddressTableLookup,
    MessageHeader,
    MessageV0,
    MessageV1,
    TransactionConfig,
    to_bytes_versioned,
)
from solders.pubkey import Pubkey
from solders.signature import Signature as SoldersSignature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.message import LOOKED_UP, read_message
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.transaction import Party
from keystead.primitives.unreadable import Unreadable
from tests.chains.signing_vectors import SIGNING, account, party
from tests.support.examples import examples
from tests.support.facts import as_documented, readable

VECTORS = SIGNING["solanaTransactions"]
SIGNER, OTHER, TABLE = (Keypair.from_seed(bytes([number]) * 32) for number in (1, 2, 3))
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
PROGRAM = Pubkey(b"\x09" * 32)
A, B, C, D = (Pubkey(bytes([number]) * 32) for number in (0xA0, 0xB0, 0xC0, 0xD0))
EMPTY = SoldersSignature(bytes(64))


def of(keypair: Keypair) -> Party:
    return Party(curve=Curve.ED25519, compressed=bytes(keypair.pubkey()), uncompressed=None)


def signed_by(keypair: Keypair, messages: tuple[bytes, ...]) -> list[Signature]:
    made = [bytes(keypair.sign_message(message)) for message in messages]
    return [Signature(one[:32], one[32:], 0) for one in made]


AnyMessage = Message | MessageV0 | MessageV1


def wire(message: AnyMessage) -> bytes:
    slots = [EMPTY] * message.header.num_required_signatures
    return bytes(VersionedTransaction.populate(message, slots))


def legacy(*instructions: Instruction) -> bytes:
    return wire(Message.new_with_blockhash(instructions, SIGNER.pubkey(), Hash(b"\x07" * 32)))


def with_table(instruction: CompiledInstruction, writable: bytes = b"\x05\x06", readonly: bytes = b"\x07") -> bytes:
    lookup = MessageAddressTableLookup(TABLE.pubkey(), writable, readonly)
    keys = [SIGNER.pubkey(), A, PROGRAM]
    return wire(MessageV0(MessageHeader(1, 0, 1), keys, Hash(bytes(32)), [instruction], [lookup]))


def version_1(
    *instructions: CompiledInstruction,
    header: tuple[int, int, int] = (1, 0, 1),
    keys: int = 3,
    config: TransactionConfig | None = None,
) -> bytes:
    """Its keys are the signer, A, the program and as many others as asked for."""
    others = [Pubkey(bytes([1, number]) + bytes(30)) for number in range(keys - 3)]
    named = [SIGNER.pubkey(), A, PROGRAM, *others][:keys]
    return wire(
        MessageV1(MessageHeader(*header), config or TransactionConfig(), Hash(bytes(32)), named, instructions)
    )


def facts(unsigned: bytes, interfaces: dict[str, str] | None = None) -> dict[str, Any]:
    tx: dict[str, Any] = (
        parse_solana(unsigned, of(SIGNER))
        .describe({key: ProgramIdl.read(text) for key, text in (interfaces or {}).items()})
        .keywords["solana"]["tx"]
    )
    return tx


def read(*keys: Pubkey) -> list[AccountMeta]:
    return [AccountMeta(key, is_signer=False, is_writable=False) for key in keys]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector: dict[str, Any]) -> None:
    private_key, signer = account(vector["signWith"])
    parsed = parse_solana(bytes.fromhex(vector["unsignedTransaction"]), signer)
    assert parsed.scheme is SignatureScheme.ED25519
    assert [message.hex() for message in parsed.messages] == [vector["messageSigned"]]
    signatures = signed_by(Keypair.from_seed(private_key), parsed.messages)
    assert parsed.assemble(signatures).hex() == vector["signedTransaction"]


TRANSFER = legacy(transfer(TransferParams(from_pubkey=SIGNER.pubkey(), to_pubkey=A, lamports=5)))
ONE = CompiledInstruction(2, b"\x01", bytes([1]))


V1 = version_1(ONE, config=TransactionConfig(priority_fee=9))
MASK = 4
"""Where a message of version 1 has its config mask."""


def at(place: int, new: bytes, unsigned: bytes = V1) -> bytes:
    return unsigned[:place] + new + unsigned[place + len(new) :]


def header(signatures: int, readonly_signed: int, readonly: int) -> bytes:
    """The transfer with another header, and as many signature slots as it asks for."""
    message = TRANSFER[65:]
    return (
        bytes([signatures]) + bytes(64 * signatures) + bytes([signatures, readonly_signed, readonly]) + message[3:]
    )


REFUSED: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "not a Solana transaction"),
    ("garbage", bytes.fromhex("deadbeef"), "not a Solana transaction"),
    ("a message without slots", TRANSFER[65:], "a message without signature slots"),
    ("a message of version 0 without slots", with_table(ONE)[65:], "a message without signature slots"),
    ("a message of version 1 without slots", V1[:-64], "a message without signature slots"),
    ("a trailing byte", TRANSFER + b"\0", "trailing bytes"),
    ("a missing byte", TRANSFER[:-1], "not a Solana transaction"),
    ("a count not in its shortest form", b"\x82\0" + TRANSFER[1:], "before byte 2 is not in its shortest form"),
    ("a count beyond 16 bits", b"\x82\x80\x04" + TRANSFER[1:], "before byte 3 is above 65535"),
    ("a count of four bytes", b"\x80\x80\x80\0" + TRANSFER[1:], "before byte 4 is above 65535"),
    ("more bytes than a packet holds", legacy(Instruction(PROGRAM, bytes(1300), [])), "at most 1232"),
    ("two slots for one signer", b"\x02" + bytes(128) + TRANSFER[65:], "2 signature slots for 1"),
    ("no slot", b"\0" + TRANSFER[65:], "a message without signature slots"),
    ("no signers", header(0, 0, 1), "no writable signer"),
    ("only read-only signers", header(1, 1, 1), "no writable signer"),
    ("more accounts than keys", header(3, 0, 1), "more accounts than its 3 keys"),
    (
        "a version to come",
        TRANSFER[:65] + b"\x82" + TRANSFER[65:],
        "version 2; only legacy, version 0 and version 1",
    ),
    ("version 1 behind its signatures", b"\x01" + bytes(64) + V1[:-64], "the signatures of version 1 are behind"),
    ("a slot cut short", V1[:-1], "63 bytes behind its message"),
    ("a byte behind the slots", V1 + b"\0", "65 bytes behind its message"),
    ("a slot too many", V1 + bytes(64), "2 signature slots for 1"),
    ("version 1 cut short", V1[:60], "version 1: it ends at byte 60"),
    ("half of the priority fee", at(MASK, b"\x01"), "bits 0b11 of its config mask|bits 0b1 of its config mask"),
    ("a bit that means nothing", at(MASK, b"\x23"), "bits 0b100000 of its config mask"),
    ("the highest bit", at(MASK + 3, b"\x80"), "bits 0b1.* of its config mask"),
    ("too large for version 1", version_1(CompiledInstruction(2, bytes(4000), b"")), "at most 4096"),
    ("too many signers", version_1(ONE, header=(13, 0, 0), keys=13), "13 required signers; .* at most 12"),
    ("too many keys", version_1(ONE, keys=65), "65 account keys; .* at most 64"),
    ("too many instructions", version_1(*[ONE] * 65), "65 instructions; .* at most 64"),
    ("no signers in version 1", version_1(ONE, header=(0, 0, 1)), "no writable signer"),
    ("only read-only signers in version 1", version_1(ONE, header=(1, 1, 1)), "no writable signer"),
    ("more accounts than keys in version 1", version_1(ONE, header=(2, 0, 2)), "more accounts than its 3 keys"),
    ("a key twice in version 1", at(42 + 32, V1[42:74]), "occurs twice"),
    ("the payer called in version 1", version_1(CompiledInstruction(0, b"", b"")), "pays the fee"),
    ("an unknown program in version 1", version_1(CompiledInstruction(3, b"", b"")), "program is not among"),
    ("an index beyond the keys", version_1(CompiledInstruction(2, b"", b"\x03")), "beyond the 3 addresses"),
    *(
        (
            f"a heap of {size} bytes",
            version_1(ONE, config=TransactionConfig(heap_size=size)),
            f"a heap of {size} bytes",
        )
        for size in (0, 31 * 1024, 32 * 1024 + 1, 257 * 1024)
    ),
    (
        "a key twice",
        wire(Message.new_with_compiled_instructions(1, 0, 1, [SIGNER.pubkey(), A, A], Hash(bytes(32)), [ONE])),
        "occurs twice",
    ),
    ("a program of a lookup table", with_table(CompiledInstruction(3, b"", b"\x01")), "program is not among"),
    ("the payer called as a program", with_table(CompiledInstruction(0, b"", b"\x01")), "pays the fee"),
    ("an index beyond all addresses", with_table(CompiledInstruction(2, b"", b"\x06")), "beyond the 6 addresses"),
    ("a table of which nothing is taken", with_table(ONE, b"", b""), "nothing is looked up"),
    ("too many addresses", with_table(ONE, bytes(254)), "258 addresses"),
    ("a transfer cut short", legacy(Instruction(SYSTEM, b"\x02\0\0\0\x01", read(A, B))), "12 bytes of data"),
    ("a transfer to nobody", legacy(Instruction(SYSTEM, b"\x02\0\0\0" + bytes(8), read(A))), "2 accounts"),
    ("a token transfer cut short", legacy(Instruction(TOKEN, b"\x03\x01", read(A, B, C))), "9 bytes of data"),
    ("a token transfer by nobody", legacy(Instruction(TOKEN, b"\x0c" + bytes(9), read(A, B, C))), "4 accounts"),
]


@pytest.mark.parametrize(("unsigned", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(unsigned: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^failed to parse transaction: .*{why}") as refused:
        parse_solana(unsigned, of(SIGNER))
    assert refused.value.machine_code == "INVALID_TRANSACTION"


def test_signer_of_another_transaction_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="not among its required signers"):
        parse_solana(TRANSFER, of(OTHER))
    (vector,) = [row for row in SIGNING["transactionsInvalid"] if row["id"] == "solana-signer-not-in-tx"]
    with pytest.raises(InvalidRequest, match=vector["signWith"]):
        parse_solana(bytes.fromhex(vector["unsignedTransaction"]), account(vector["signWith"])[1])


def test_an_account_that_need_not_sign_is_not_a_signer() -> None:
    unsigned = legacy(Instruction(PROGRAM, b"", read(OTHER.pubkey())))
    with pytest.raises(InvalidRequest, match="not among its required signers"):
        parse_solana(unsigned, of(OTHER))


def test_key_of_another_curve_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="CURVE_ED25519"):
        parse_solana(TRANSFER, party("CURVE_SECP256K1", "01" * 32))


# Policy facts


def test_transfer_facts() -> None:
    instructions = [
        transfer(TransferParams(from_pubkey=SIGNER.pubkey(), to_pubkey=A, lamports=2**64 - 1)),
        Instruction(PROGRAM, b"\xab", [AccountMeta(C, False, False), AccountMeta(B, False, True)]),
        transfer(TransferParams(from_pubkey=OTHER.pubkey(), to_pubkey=B, lamports=0)),
    ]
    tx = facts(legacy(*instructions))
    payer, other = str(SIGNER.pubkey()), str(OTHER.pubkey())
    assert tx["transfers"] == [
        {"from": payer, "to": str(A), "amount": 2**64 - 1},
        {"from": other, "to": str(B), "amount": 0},
    ]
    assert set(tx["account_keys"]) == {payer, other, str(A), str(B), str(C), str(SYSTEM), str(PROGRAM)}
    assert tx["account_keys"][0] == payer
    assert sorted(tx["program_keys"]) == sorted([str(SYSTEM), str(PROGRAM)])
    assert tx["recent_blockhash"] == str(Hash(b"\x07" * 32))
    assert tx["address_table_lookups"] == tx["spl_transfers"] == []
    assert tx["instructions"][1] == {
        "program_key": str(PROGRAM),
        "accounts": [
            {"account_key": str(C), "signer": False, "writable": False},
            {"account_key": str(B), "signer": False, "writable": True},
        ],
        "instruction_data_hex": "ab",
        "address_table_lookups": [],
        "parsed_instruction_data": Unreadable(f"no interface of the program {PROGRAM} is uploaded"),
    }


NO_MINT = Unreadable("the instruction does not name the mint of its tokens")
SPL = [
    ("Transfer", TOKEN, b"\x03", b"", ["from", "to", "owner"]),
    ("TransferChecked", TOKEN, b"\x0c", b"\x06", ["from", "token_mint", "to", "owner"]),
    ("Token-2022", TOKEN_2022, b"\x0c", b"\x06", ["from", "token_mint", "to", "owner"]),
    ("TransferCheckedWithFee", TOKEN_2022, b"\x1a\x01", b"\x06" + bytes(8), ["from", "token_mint", "to", "owner"]),
]


@pytest.mark.parametrize("signers", [0, 2], ids=["owner", "multisig"])
@pytest.mark.parametrize(("program", "tag", "tail", "names"), [row[1:] for row in SPL], ids=[row[0] for row in SPL])
def test_spl_transfer_facts(program: Pubkey, tag: bytes, tail: bytes, names: list[str], signers: int) -> None:
    accounts = [Pubkey(bytes([number + 50]) * 32) for number in range(len(names) + signers)]
    tx = facts(legacy(Instruction(program, tag + (77).to_bytes(8, "little") + tail, read(*accounts))))
    assert tx["spl_transfers"] == [
        {
            "token_mint": NO_MINT,
            **{name: str(key) for name, key in zip(names, accounts, strict=False)},
            "amount": 77,
            "signers": [str(key) for key in accounts[len(names) :]],
        }
    ]


def test_lookup_table_facts() -> None:
    # Indexes: 0-2 keys, 3-4 looked up as writable, 5 as read-only.
    tx = facts(with_table(CompiledInstruction(2, b"\x01", bytes([4, 1, 5]))))
    table = str(TABLE.pubkey())
    assert tx["address_table_lookups"] == [
        {"address_table_key": table, "writable_indexes": [5, 6], "readonly_indexes": [7]}
    ]
    assert [as_documented(key) for key in tx["account_keys"][3:]] == ["ADDRESS_TABLE_LOOKUP"] * 3
    (instruction,) = tx["instructions"]
    assert [account["account_key"] for account in instruction["accounts"]] == [LOOKED_UP, str(A), LOOKED_UP]
    assert [account["writable"] for account in instruction["accounts"]] == [True, True, False]
    assert instruction["address_table_lookups"] == [
        {"address_table_key": table, "writable_indexes": [6], "readonly_indexes": [7]}
    ]


CONFIGS: list[tuple[str, bytes, dict[str, Any]]] = [
    ("legacy", TRANSFER, {"version": "LEGACY"}),
    ("version 0", with_table(ONE), {"version": "V0"}),
    ("version 1 without values", version_1(ONE), {"version": "V1", "priority_fee_lamports": 0}),
    (
        "version 1 with all",
        version_1(ONE, config=TransactionConfig(2**64 - 1, 1_400_000, 2**26, 256 * 1024)),
        {
            "version": "V1",
            "priority_fee_lamports": 2**64 - 1,
            "compute_unit_limit": 1_400_000,
            "loaded_accounts_data_size_limit": 2**26,
            "heap_size": 256 * 1024,
        },
    ),
    (
        "version 1 with some",
        version_1(ONE, config=TransactionConfig(None, 0, None, 32 * 1024)),
        {"version": "V1", "priority_fee_lamports": 0, "compute_unit_limit": 0, "heap_size": 32 * 1024},
    ),
]
CONFIG_FIELDS = {
    "version",
    "priority_fee_lamports",
    "compute_unit_limit",
    "loaded_accounts_data_size_limit",
    "heap_size",
}


@pytest.mark.parametrize(("unsigned", "expected"), [row[1:] for row in CONFIGS], ids=[row[0] for row in CONFIGS])
def test_version_and_config_facts(unsigned: bytes, expected: dict[str, Any]) -> None:
    tx = facts(unsigned)
    assert readable({name: tx[name] for name in CONFIG_FIELDS}) == expected


def test_the_most_that_version_1_holds() -> None:
    unsigned = version_1(ONE, *[CompiledInstruction(2, b"", b"\x01" * 3)] * 63, header=(12, 0, 1), keys=64)
    assert len(facts(unsigned)["account_keys"]) == len(facts(unsigned)["instructions"]) == 64
    longest = version_1(CompiledInstruction(2, bytes(4096 - len(version_1(CompiledInstruction(2, b"", b"")))), b""))
    assert len(longest) == 4096
    assert facts(longest)["instructions"][0]["instruction_data_hex"].strip("0") == ""


# Built and verified by solders

KEYPAIRS = [Keypair.from_seed(bytes([number]) * 32) for number in range(10, 16)]
metas = st.builds(
    AccountMeta,
    st.sampled_from([pair.pubkey() for pair in KEYPAIRS]),
    is_signer=st.booleans(),
    is_writable=st.booleans(),
)
instructions = st.builds(
    Instruction, st.sampled_from([PROGRAM, A, B]), st.binary(max_size=40), st.lists(metas, max_size=5)
)
configs = st.builds(
    TransactionConfig,
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.integers(0, 2**32 - 1),
    st.none() | st.integers(0, 2**32 - 1),
    st.none() | st.integers(32, 256).map(lambda kib: kib * 1024),
)
builders: list[Callable[[list[Instruction]], AnyMessage]] = [
    lambda made: Message.new_with_blockhash(made, KEYPAIRS[0].pubkey(), Hash(b"\x05" * 32)),
    lambda made: MessageV0.try_compile(KEYPAIRS[0].pubkey(), made, [], Hash(b"\x05" * 32)),
    lambda made: MessageV1.try_compile(KEYPAIRS[0].pubkey(), made, Hash(b"\x05" * 32)),
]


@settings(max_examples=examples(60))
@given(st.lists(instructions, min_size=1, max_size=4), configs)
def test_the_config_is_read_as_solders_writes_it(made: list[Instruction], config: TransactionConfig) -> None:
    message = MessageV1.try_compile(KEYPAIRS[0].pubkey(), made, Hash(b"\x05" * 32), config)
    read = read_message(wire(message)).config
    assert read is not None
    limits = (read.compute_unit_limit, read.loaded_accounts_data_size_limit, read.heap_size)
    assert TransactionConfig(config.priority_fee and read.priority_fee_lamports, *limits) == config
    assert read.priority_fee_lamports == (config.priority_fee or 0)


@settings(max_examples=60)
@given(st.lists(instructions, min_size=1, max_size=4), st.sampled_from(builders))
def test_every_signer_in_turn_completes_the_transaction(
    made: list[Instruction], build: Callable[[list[Instruction]], AnyMessage]
) -> None:
    message = build(made)
    unsigned = wire(message)
    for index in range(message.header.num_required_signatures):
        keypair = next(pair for pair in KEYPAIRS if pair.pubkey() == message.account_keys[index])
        parsed = parse_solana(unsigned, of(keypair))
        assert parsed.messages == (to_bytes_versioned(message),)
        tx = parsed.describe({}).keywords["solana"]["tx"]
        assert [one["program_key"] for one in tx["instructions"]] == [str(one.program_id) for one in made]
        unsigned = parsed.assemble(signed_by(keypair, parsed.messages))
    assert (
        VersionedTransaction.from_bytes(unsigned).verify_with_results()
        == [True] * message.header.num_required_signatures
    )


@settings(max_examples=examples(100))
@given(st.sampled_from(VECTORS), st.data())
def test_altered_bytes_are_refused_or_signed_as_they_are(vector: dict[str, Any], data: st.DataObject) -> None:
    altered = bytearray.fromhex(vector["unsignedTransaction"])
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([0, 0, 0, 1, 20]))
    unsigned = bytes(altered[: len(altered) - cut])
    private_key, signer = account(vector["signWith"])
    try:
        parsed = parse_solana(unsigned, signer)
        parsed.describe({})
    except InvalidRequest as refused:
        assert refused.machine_code == "INVALID_TRANSACTION"
        return
    assert parsed.messages[0] in unsigned
    assembled = parsed.assemble(signed_by(Keypair.from_seed(private_key), parsed.messages))
    assert len(assembled) == len(unsigned)
    assert parsed.messages[0] in assembled


def _read_by_solders(unsigned: bytes) -> AnyMessage | None:
    """What solders reads, where writing it again gives the same bytes."""
    try:
        transaction = VersionedTransaction.from_bytes(unsigned)
    except ValueError:
        return None
    message = transaction.message
    if bytes(transaction) != unsigned or not isinstance(message, AnyMessage):
        return None
    return message if len(transaction.signatures) == message.header.num_required_signatures else None


WIRE_FORMS = [
    *(bytes.fromhex(vector["unsignedTransaction"]) for vector in VECTORS),
    with_table(ONE),
    V1,
    CONFIGS[3][1],
]


@settings(max_examples=examples(150))
@given(st.sampled_from(WIRE_FORMS), st.data())
def test_the_wire_form_is_read_as_solders_reads_it(unsigned: bytes, data: st.DataObject) -> None:
    altered = bytearray(unsigned)
    for _ in range(data.draw(st.integers(0, 3))):
        # The header, the counts and the ends are where readers differ.
        place = data.draw(st.one_of(st.integers(0, len(altered) - 1), st.integers(64, min(72, len(altered) - 1))))
        altered[place] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, *altered[:4]]))
    wire_bytes = bytes(altered) + data.draw(st.sampled_from([b"", b"", b"\0", b"\x80\0"]))
    theirs = _read_by_solders(wire_bytes)
    try:
        ours = read_message(wire_bytes)
    except InvalidRequest as refused:
        assert theirs is None or "not a Solana transaction" not in refused.message
        return
    assert theirs is not None
    if isinstance(theirs, MessageV1):
        assert ours.config is not None
        assert (
            ours.config.priority_fee_lamports,
            ours.config.compute_unit_limit,
            ours.config.loaded_accounts_data_size_limit,
            ours.config.heap_size,
        ) == (
            theirs.config.priority_fee,
            theirs.config.compute_unit_limit,
            theirs.config.loaded_accounts_data_size_limit,
            theirs.config.heap_size,
        )
    assert ours.signed == to_bytes_versioned(theirs)
    assert ours.keys == tuple(bytes(key) for key in theirs.account_keys)
    assert ours.recent_blockhash == str(theirs.recent_blockhash)
    assert [(each.program, each.data) for each in ours.instructions] == [
        (str(theirs.account_keys[each.program_id_index]), bytes(each.data)) for each in theirs.instructions
    ]
    assert [(table.key, table.writable, table.readonly) for table in ours.tables] == [
        (str(table.account_key), bytes(table.writable_indexes), bytes(table.readonly_indexes))
        for table in getattr(theirs, "address_table_lookups", ())
    ]
