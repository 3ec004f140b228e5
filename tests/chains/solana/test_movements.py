"""What Solana's instructions move: the whole table, the rule for other programs, fees; and what that makes of the
lists of transfers."""

from __future__ import annotations

from typing import Any

import pytest
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey

from keystead.api.errors import InvalidRequest
from keystead.chains.movements import Movement, MovementKind
from keystead.chains.solana import movements as table
from keystead.chains.solana.transaction import parse_solana
from keystead.primitives.unreadable import Unreadable
from tests.chains.solana.movers import (
    ACCOUNT_MOVERS,
    ANY,
    ED25519,
    HARMLESS,
    LOADER_MOVERS,
    ME,
    MINE,
    MINT,
    MOVERS,
    STAKE_MOVERS,
    STRANGE,
    SYSTEM_MOVERS,
    TABLE_MOVERS,
    THIEF,
    TOKEN_MOVERS,
    VOTE_MOVERS,
    Mover,
    call,
    coins,
    moved,
    read_only,
    shown,
    token,
    u64,
)
from tests.chains.solana.test_solana import SIGNER, TOKEN_2022, facts, legacy, of, wire, with_table


def movements(*instructions: Instruction) -> list[Movement]:
    parsed = parse_solana(legacy(*instructions), of(SIGNER))
    return [movement for movement in parsed.movements if movement.kind is not MovementKind.FEE]


@pytest.mark.parametrize("name", MOVERS)
def test_what_an_instruction_moves(name: str) -> None:
    mover = MOVERS[name]
    found = movements(mover.instruction)
    assert [shown(movement) for movement in found] == mover.moves
    assert {movement.contract for movement in found} == {str(mover.instruction.program_id)}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_moves_nothing(name: str) -> None:
    assert movements(HARMLESS[name]) == []


@pytest.mark.parametrize(
    ("instructions", "movers"),
    [
        (table._SYSTEM_INSTRUCTIONS, SYSTEM_MOVERS),
        (table._TOKEN_INSTRUCTIONS, TOKEN_MOVERS),
        (table._STAKE_INSTRUCTIONS, STAKE_MOVERS),
        (table._VOTE_INSTRUCTIONS, VOTE_MOVERS),
        (table._LOADER_INSTRUCTIONS, LOADER_MOVERS),
        (table._LOOKUP_TABLE_INSTRUCTIONS, TABLE_MOVERS),
    ],
    ids=["System", "Token", "Stake", "Vote", "Loader", "Lookup tables"],
)
def test_every_instruction_of_the_table_has_an_example(instructions: Any, movers: dict[str, Mover]) -> None:
    assert {name for name, moves in instructions.values() if moves is not table._nothing} <= set(movers)


def test_every_instruction_for_associated_accounts_has_an_example() -> None:
    assert {name for name, _ in table._ASSOCIATED_TOKEN_INSTRUCTIONS.values()} == set(ACCOUNT_MOVERS)


@pytest.mark.parametrize("name", MOVERS)
def test_the_lists_of_transfers_are_complete_or_unreadable(name: str) -> None:
    """Each movement is in one of the lists, or both are unreadable."""
    tx = facts(legacy(MOVERS[name].instruction))
    transfers, spl_transfers = tx["transfers"], tx["spl_transfers"]
    if isinstance(transfers, Unreadable):
        assert transfers is spl_transfers
        assert str(MOVERS[name].instruction.program_id) in transfers.reason
        return
    listed = [(each["from"], each["to"], each["amount"]) for each in (*transfers, *spl_transfers)]
    assert listed == [(each["from"], each["to"], each["amount"]) for each in tx["movements"]]


IN_THE_LISTS = {
    *(f"System: {name}" for name in ("Transfer", "TransferWithSeed", "WithdrawNonceAccount")),
    *(f"Token: {name}" for name in ("Transfer", "TransferChecked", "TransferCheckedWithFee", "UnwrapLamports")),
    *(f"Token: {name}" for name in ("CloseAccount", "Reallocate")),
    *(f"Associated accounts: {name}" for name in ("Create", "CreateIdempotent")),
    *(f"Stake: {name}" for name in ("Split", "Withdraw", "Merge", "MoveStake", "MoveLamports")),
    "Vote: Withdraw",
    "Loader: Close",
    "Lookup tables: CloseLookupTable",
}


def test_which_instructions_are_transfers() -> None:
    readable = {
        name
        for name, mover in MOVERS.items()
        if not isinstance(facts(legacy(mover.instruction))["transfers"], Unreadable)
    }
    assert readable == IN_THE_LISTS


def test_one_unlisted_movement_is_enough() -> None:
    good = MOVERS["System: Transfer"].instruction
    tx = facts(legacy(good, token(b"\x04" + u64(5), MINE, THIEF, ME)))
    assert "Approve of the program" in tx["transfers"].reason
    tx = facts(legacy(good, call(STRANGE, b"\x01", ME)))
    assert f"the program {STRANGE} may move more than the transaction says" in tx["spl_transfers"].reason
    assert [each["kind"] for each in tx["movements"]] == ["TRANSFER", "UNKNOWN"]


def test_movements_in_a_batch() -> None:
    approve = bytes([3, 9]) + b"\x04" + u64(7)
    found = movements(token(b"\xff" + approve, MINE, THIEF, ME))
    assert [shown(each) for each in found] == [moved("ALLOWANCE", ANY, MINE, THIEF, 7)]


def test_accounts_of_a_lookup_table() -> None:
    """Indexes 3 and 4 are looked up: who gets the coins is not known."""
    unsigned = with_table(CompiledInstruction(2, b"\x01", bytes([0, 3])))
    # The called program is the System Program.
    data = unsigned.replace(b"\x09" * 32, bytes(32)).replace(
        b"\x02\x02\x00\x03\x01\x01", b"\x02\x02\x00\x03\x0c\x02\0\0\0" + u64(5)
    )
    (transfer,) = facts(data)["transfers"]
    assert transfer["to"] == Unreadable(
        "an address lookup table, which is on the chain, has the key of this account", "ADDRESS_TABLE_LOOKUP"
    )
    assert (transfer["from"], transfer["amount"]) == (str(SIGNER.pubkey()), 5)


CUT_SHORT = [
    *(Instruction(m.instruction.program_id, m.instruction.data[:-1], m.instruction.accounts) for m in (
        SYSTEM_MOVERS["CreateAccount"],
        SYSTEM_MOVERS["CreateAccountWithSeed"],
        SYSTEM_MOVERS["AssignWithSeed"],
        SYSTEM_MOVERS["WithdrawNonceAccount"],
        TOKEN_MOVERS["SetAuthority"],
        TOKEN_MOVERS["Approve"],
        TOKEN_MOVERS["Burn"],
        TOKEN_MOVERS["InitializeAccount3"],
        STAKE_MOVERS["Withdraw"],
        VOTE_MOVERS["Withdraw"],
    )),
    *(Instruction(m.instruction.program_id, m.instruction.data, m.instruction.accounts[:1]) for m in (
        SYSTEM_MOVERS["CreateAccount"],
        SYSTEM_MOVERS["TransferWithSeed"],
        TOKEN_MOVERS["CloseAccount"],
        TOKEN_MOVERS["MintTo"],
        ACCOUNT_MOVERS["Create"],
        STAKE_MOVERS["DelegateStake"],
        LOADER_MOVERS["Close"],
        TABLE_MOVERS["CloseLookupTable"],
    )),
]  # fmt: skip


@pytest.mark.parametrize("instruction", CUT_SHORT)
def test_an_instruction_that_is_cut_short_is_refused(instruction: Instruction) -> None:
    with pytest.raises(InvalidRequest, match="needs at least"):
        movements(instruction)


def test_a_length_of_a_seed_that_reaches_too_far_is_refused() -> None:
    made = SYSTEM_MOVERS["CreateAccountWithSeed"].instruction
    data = made.data[:36] + u64(2**63) + made.data[44:]
    with pytest.raises(InvalidRequest, match="needs at least"):
        movements(Instruction(made.program_id, data, made.accounts))


def test_an_account_that_the_system_program_keeps_is_its_keys() -> None:
    made = SYSTEM_MOVERS["CreateAccount"].instruction
    data = made.data[:20] + bytes(32)
    assert [shown(each) for each in movements(Instruction(made.program_id, data, made.accounts))] == coins(
        ME, THIEF
    )


OTHER_ACCOUNT = Pubkey(b"\x55" * 32)
HOOKS = [
    ("no further accounts", [], False),
    ("further accounts without a signer", [read_only(STRANGE), AccountMeta(THIEF, False, True)], False),
    ("a signer that can write nothing", [AccountMeta(STRANGE, True, False)], False),
    ("a signer that can be written", [AccountMeta(STRANGE, True, True)], True),
    ("a signer beside an account that can be written", [AccountMeta(STRANGE, True, False), OTHER_ACCOUNT], True),
    ("the owner again, which the hook gets without its rights", [ME, MINE], False),
]


@pytest.mark.parametrize(("further", "may"), [row[1:] for row in HOOKS], ids=[row[0] for row in HOOKS])
@pytest.mark.parametrize("program", [token(b"").program_id, TOKEN_2022], ids=["SPL", "Token-2022"])
def test_a_transfer_hook(program: Any, further: list[Any], may: bool) -> None:
    data = b"\x0c" + u64(5) + b"\x06"
    found = movements(token(data, MINE, MINT, THIEF, read_only(ME), *further, program=program))
    assert [movement.kind.value for movement in found] == (
        ["TRANSFER", "UNKNOWN"] if may and program == TOKEN_2022 else ["TRANSFER"]
    )


TRANSFER = MOVERS["System: Transfer"].instruction
FEES = [
    ("one signature", [TRANSFER], 5_000),
    ("a price without a limit", [set_compute_unit_price(10), TRANSFER], 5_000 + 2),
    ("a price and a limit", [set_compute_unit_price(10**6), set_compute_unit_limit(1_000), TRANSFER], 6_000),
    ("a limit without a price", [set_compute_unit_limit(1_400_000), TRANSFER], 5_000),
    ("a limit beyond the largest", [set_compute_unit_price(10**6), set_compute_unit_limit(2**32 - 1)], 1_405_000),
    ("the dearest", [set_compute_unit_price(2**64 - 1), TRANSFER], 5_000 + -(-(2**64 - 1) * 200_000 // 10**6)),
    ("two signatures that a program verifies", [call(ED25519, b"\x02")], 15_000),
    ("two signers", [TRANSFER, call(STRANGE, b"", AccountMeta(THIEF, True, False))], 10_000),
]  # fmt: skip


@pytest.mark.parametrize(("instructions", "fee"), [row[1:] for row in FEES], ids=[row[0] for row in FEES])
def test_fees(instructions: list[Instruction], fee: int) -> None:
    unsigned = legacy(*instructions)
    assert facts(unsigned)["fee"] == fee
    (charged,) = [each for each in parse_solana(unsigned, of(SIGNER)).movements if each.kind is MovementKind.FEE]
    assert (charged.from_, charged.to, charged.amount) == (str(ME), "", fee)


FEES_OF_VERSION_1 = [
    ("no config", [TRANSFER], None, 5_000),
    ("a priority fee, for the whole transaction", [TRANSFER, TRANSFER], TransactionConfig(7), 5_007),
    ("the highest", [TRANSFER], TransactionConfig(2**64 - 1, 1), 5_000 + 2**64 - 1),
    ("Compute Budget has no say", [set_compute_unit_price(10**6), TRANSFER], TransactionConfig(7), 5_007),
    ("two signatures that a program verifies", [call(ED25519, b"\x02")], TransactionConfig(7), 15_007),
]


@pytest.mark.parametrize(
    ("instructions", "config", "fee"),
    [row[1:] for row in FEES_OF_VERSION_1],
    ids=[row[0] for row in FEES_OF_VERSION_1],
)
def test_fees_of_version_1(instructions: list[Instruction], config: TransactionConfig | None, fee: int) -> None:
    message = MessageV1.try_compile(SIGNER.pubkey(), instructions, Hash(b"\x07" * 32), config)
    assert facts(wire(message))["fee"] == fee
