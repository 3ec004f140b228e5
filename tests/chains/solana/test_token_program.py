"""Instructions of the token programs: batches are expanded, and transfers that policies cannot see are refused."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from keystead.api.errors import InvalidRequest
from keystead.chains.solana.token_program import _KNOWN_BY_HASH, NATIVE_MINTS
from keystead.chains.solana.transaction import parse_solana
from tests.chains.solana.test_solana import (
    SIGNER,
    TOKEN,
    TOKEN_2022,
    A,
    B,
    C,
    D,
    facts,
    legacy,
    of,
    read,
)

E, F = (Pubkey(bytes([number]) * 32) for number in (0xE0, 0xF0))


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def inner(accounts: int, data: bytes) -> bytes:
    return bytes([accounts, len(data)]) + data


def batch(*instructions: bytes) -> bytes:
    return b"\xff" + b"".join(instructions)


def moved(tx: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [(one["from"], one["to"], one["owner"], one["amount"]) for one in tx["spl_transfers"]]


def test_transfers_in_a_batch_are_transfers() -> None:
    data = batch(inner(3, b"\x03" + u64(5)), inner(0, b"\x11"), inner(4, b"\x0c" + u64(7) + b"\x06"))
    tx = facts(legacy(Instruction(TOKEN, data, read(A, B, C, D, E, F, A))))
    assert moved(tx) == [(str(A), str(B), str(C), 5), (str(D), str(F), str(A), 7)]
    assert tx["spl_transfers"][1]["token_mint"] == str(E)
    assert [one["instruction_data_hex"][:2] for one in tx["instructions"]] == ["03", "11", "0c"]
    assert [len(one["accounts"]) for one in tx["instructions"]] == [3, 0, 4]


def test_a_batch_after_a_small_valid_transfer() -> None:
    good = Instruction(TOKEN, b"\x03" + u64(1), read(A, B, C))
    bad = Instruction(TOKEN_2022, batch(inner(3, b"\x03" + u64(10**15))), read(A, D, C))
    assert [amount for *_, amount in moved(facts(legacy(good, bad)))] == [1, 10**15]


@pytest.mark.parametrize("program", [TOKEN, TOKEN_2022])
def test_unwrapping_a_stated_amount_is_a_transfer(program: Pubkey) -> None:
    tx = facts(legacy(Instruction(program, b"\x2d\x01" + u64(9), read(A, B, C, D))))
    assert tx["spl_transfers"] == [
        {
            "token_mint": NATIVE_MINTS[str(program)],
            "from": str(A),
            "to": str(B),
            "owner": str(C),
            "amount": 9,
            "signers": [str(D)],
        }
    ]


REFUSED: list[tuple[str, Pubkey, bytes, int, str]] = [
    ("an empty batch", TOKEN, batch(), 0, "cut short or empty"),
    ("half a header", TOKEN, batch(b"\0"), 0, "cut short or empty"),
    ("an inner instruction without data", TOKEN, batch(b"\0\0"), 0, "cut short or empty"),
    ("data cut short", TOKEN, batch(b"\0\x05\x03"), 0, "cut short or empty"),
    ("a second instruction cut short", TOKEN, batch(inner(0, b"\x11"), b"\0"), 0, "instruction 1 is cut short"),
    ("more accounts than there are", TOKEN, batch(inner(4, b"\x03" + u64(1))), 3, "instruction 0 lacks accounts"),
    ("accounts left over", TOKEN, batch(inner(3, b"\x03" + u64(1))), 4, "1 accounts that no instruction takes"),
    ("a batch in a batch", TOKEN, batch(inner(3, batch(inner(3, b"\x03" + u64(1))))), 3, "may not contain a batch"),
    ("a transfer cut short in a batch", TOKEN, batch(inner(3, b"\x03\x01")), 3, "9 bytes of data"),
    ("unwrapping everything", TOKEN, b"\x2d\0", 3, "UnwrapLamports without an amount"),
    ("unwrapping everything, in a batch", TOKEN_2022, batch(inner(3, b"\x2d\0")), 3, "without an amount"),
    ("unwrapping without a choice", TOKEN, b"\x2d", 3, "UnwrapLamports without an amount"),
    ("unwrapping an amount cut short", TOKEN, b"\x2d\x01\x01", 3, "10 bytes of data"),
    ("excess lamports", TOKEN, b"\x26", 3, "WithdrawExcessLamports"),
    ("excess lamports, in a batch", TOKEN_2022, batch(inner(3, b"\x26")), 3, "WithdrawExcessLamports"),
    ("a confidential transfer", TOKEN_2022, b"\x1b\x07" + bytes(40), 4, "confidential Transfer"),
    ("a confidential transfer with fee", TOKEN_2022, b"\x1b\x0d" + bytes(40), 4, "confidential TransferWithFee"),
    ("no data", TOKEN, b"", 3, "without data"),
    ("an instruction of Token-2022 alone", TOKEN, b"\x1a\x01" + bytes(17), 4, "has no instruction"),
    ("an instruction of no version yet", TOKEN_2022, b"\x2f" + bytes(8), 3, "has no instruction 2f"),
    ("a hash that names nothing", TOKEN_2022, b"\xd2" + bytes(8), 3, "has no instruction"),
]


@pytest.mark.parametrize(
    ("program", "data", "accounts", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(program: Pubkey, data: bytes, accounts: int, why: str) -> None:
    keys = read(*(Pubkey(bytes([number + 1]) * 32) for number in range(accounts)))
    with pytest.raises(InvalidRequest, match=why) as refused:
        parse_solana(legacy(Instruction(program, data, keys)), of(SIGNER))
    assert refused.value.machine_code == "INVALID_TRANSACTION"


def test_what_else_the_programs_have_is_signed() -> None:
    refused = {38, 255}
    both = [(TOKEN, number) for number in range(25)] + [(TOKEN_2022, number) for number in range(47)]
    for program, number in both:
        if number not in refused:
            data = bytes([number, 1]) + bytes(66)
            assert facts(legacy(Instruction(program, data, read(A, B, C, D))))["movements"] is not None


def test_metadata_and_groups_of_token_2022() -> None:
    metadata, group = "spl_token_metadata_interface", "spl_token_group_interface"
    names = [
        *(f"{metadata}:{name}" for name in ("initialize_account", "updating_field", "remove_key_ix")),
        *(f"{metadata}:{name}" for name in ("update_the_authority", "emitter")),
        *(f"{group}:{name}" for name in ("initialize_token_group", "update_group_max_size", "update_authority")),
        f"{group}:initialize_member",
    ]
    hashes = {hashlib.sha256(name.encode()).digest()[:8] for name in names}
    assert hashes == _KNOWN_BY_HASH
    for discriminator in hashes:
        tx = facts(legacy(Instruction(TOKEN_2022, discriminator + b"x", read(A))))
        assert tx["spl_transfers"] == []


def test_other_programs_may_begin_with_ff() -> None:
    tx = facts(legacy(Instruction(D, batch(inner(3, b"\x03" + u64(5))), read(A, B, C))))
    assert tx["spl_transfers"] == []
    assert len(tx["instructions"]) == 1
