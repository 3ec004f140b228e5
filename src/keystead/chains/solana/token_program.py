"""Instructions of the token programs, SPL Token and Token-2022: which there are, and their batches.

Not here: what each moves (`movements`).

Source: `TokenInstruction` in the programs' public sources (solana-program/token and token-2022) of August 2026.
"""

from __future__ import annotations

from typing import Final

from keystead.chains.solana.message import Instruction
from keystead.chains.transaction import unparsable

SPL: Final = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
SPL_2022: Final = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
NATIVE_MINTS: Final = {
    SPL: "So11111111111111111111111111111111111111112",
    SPL_2022: "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP",
}
"""The mint of wrapped lamports, by program."""

_CONFIDENTIAL_TRANSFER_EXTENSION, _WITHDRAW_EXCESS_LAMPORTS, _UNWRAP_LAMPORTS, _BATCH = 27, 38, 45, 255

_KNOWN: Final = {
    SPL: frozenset({*range(25), _WITHDRAW_EXCESS_LAMPORTS, _UNWRAP_LAMPORTS, _BATCH}),
    SPL_2022: frozenset({*range(47), _BATCH}),
}
"""The first byte of each known instruction, by program. A later version of a program may have further instructions
that move value, so unknown ones are refused."""

_KNOWN_BY_HASH: Final = frozenset(
    bytes.fromhex(discriminator)
    for discriminator in (
        "d2e11ea258b84d8d",  # token metadata: initialize
        "dde9312db5cadcc8",  # token metadata: update a field
        "ea122038598d25b5",  # token metadata: remove a key
        "d7e4a6e45464567b",  # token metadata: update the authority
        "faa6b4fa0d0cb846",  # token metadata: emit
        "79716c2736330004",  # token group: initialize a group
        "6c25ab8ff81e126e",  # token group: update the group's maximum size
        "a1695801edddd8cb",  # token group: update the authority
        "9820deb0dfed7486",  # token group: initialize a member
    )
)
"""Token-2022 also has these instructions, which begin with eight bytes of the SHA-256 of their names. They move no
value."""

_HIDDEN_AMOUNTS: Final = {7: "Transfer", 13: "TransferWithFee"}
"""The instructions of confidential transfers that move tokens to another account, by their second byte."""


def expand_batch(instruction: Instruction) -> tuple[Instruction, ...]:
    """The instruction itself, or the inner instructions of a batch of a token program.

    A batch is 0xff, then for each inner instruction: how many accounts it takes (one byte), the size of its data
    (one byte), its data. Each takes the accounts that follow those of the one before. Raises InvalidRequest for a
    batch that the program would refuse, for a batch in a batch, and for accounts that no inner instruction takes.
    """
    if instruction.program not in _KNOWN or instruction.data[:1] != bytes([_BATCH]):
        return (instruction,)
    data, accounts, at, used = instruction.data, instruction.accounts, 1, 0
    inner: list[Instruction] = []
    while at < len(data) or not inner:
        if at + 2 > len(data) or at + 2 + data[at + 1] > len(data) or not data[at + 1]:
            raise unparsable(f"a batch of the token program: inner instruction {len(inner)} is cut short or empty")
        count, begin, end = data[at], at + 2, at + 2 + data[at + 1]
        if used + count > len(accounts):
            raise unparsable(f"a batch of the token program: inner instruction {len(inner)} lacks accounts")
        if data[begin] == _BATCH:
            raise unparsable("a batch of the token program: a batch may not contain a batch")
        inner.append(Instruction(instruction.program, accounts[used : used + count], data[begin:end]))
        at, used = end, used + count
    if used != len(accounts):
        raise unparsable(f"a batch of the token program: {len(accounts) - used} accounts that no instruction takes")
    return tuple(inner)


def is_known_by_hash(data: bytes) -> bool:
    """Whether an instruction of Token-2022 is one of those that move no value and begin with a hash."""
    return data[:8] in _KNOWN_BY_HASH


def check_token_instruction(instruction: Instruction) -> None:
    """Raise InvalidRequest for an instruction that the token program does not have, and for one that moves an
    amount which its data does not say: WithdrawExcessLamports, UnwrapLamports of everything, confidential
    transfers."""
    known = _KNOWN.get(instruction.program)
    if known is None:
        return
    data = instruction.data
    if not (data and data[0] in known) and not (instruction.program == SPL_2022 and is_known_by_hash(data)):
        raise unparsable(
            f"the token program {instruction.program} has no instruction {data[:8].hex() or 'without data'}"
        )
    first, second = data[0], data[1:2]
    if first == _UNWRAP_LAMPORTS and second != b"\x01":
        raise unparsable(
            "UnwrapLamports without an amount: policies cannot see how much it moves; state the amount"
        )
    if first == _WITHDRAW_EXCESS_LAMPORTS:
        raise unparsable("WithdrawExcessLamports is not signed: policies cannot see how much it moves")
    if first == _CONFIDENTIAL_TRANSFER_EXTENSION and second and second[0] in _HIDDEN_AMOUNTS:
        name = _HIDDEN_AMOUNTS[second[0]]
        raise unparsable(f"a confidential {name} is not signed: policies cannot see how much it moves")
