"""What Solana's instructions move, and whom they give power over value.

Here: the table of the programs that come with the network and of the token programs, the rule for every other
program, the fee. Not here: batches of the token programs, and instructions that they lack (`token_program`).

Sources: the interfaces of the programs (anza-xyz/solana-sdk, solana-program/stake, token-2022,
associated-token-account, transfer-hook) of August 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from keystead.chains.addresses.text import base58
from keystead.chains.movements import NATIVE, NOBODY, UNLIMITED, Movement, MovementKind
from keystead.chains.solana.message import Account, Instruction, SolanaMessage
from keystead.chains.solana.token_program import NATIVE_MINTS, SPL, SPL_2022, is_known_by_hash
from keystead.chains.solana.wire import KEY_BYTES
from keystead.chains.transaction import unparsable
from keystead.primitives.unreadable import Unreadable

SYSTEM: Final = "11111111111111111111111111111111"
ASSOCIATED_ACCOUNTS: Final = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
COMPUTE_BUDGET: Final = "ComputeBudget111111111111111111111111111111"
STAKE: Final = "Stake11111111111111111111111111111111111111"
VOTE: Final = "Vote111111111111111111111111111111111111111"
LOADER: Final = "BPFLoaderUpgradeab1e11111111111111111111111"
LOOKUP_TABLES: Final = "AddressLookupTab1e1111111111111111111111111"
MEMOS: Final = frozenset(
    {"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"}
)
_VERIFIERS: Final = frozenset(
    {
        "Ed25519SigVerify111111111111111111111111111",
        "KeccakSecp256k11111111111111111111111111111",
        "Secp256r1SigVerify1111111111111111111111111",
    }
)
"""Programs that verify signatures, of which the first byte of their data is the number."""

_LAMPORTS_PER_SIGNATURE, _UNITS_MAX, _UNITS_PER_INSTRUCTION = 5_000, 1_400_000, 200_000
_MICROLAMPORTS: Final = 1_000_000

_RENT_PER_BYTE, _ACCOUNT_OVERHEAD = 6_960, 128
_TOKEN_ACCOUNT_BYTES: Final = {SPL: 165, SPL_2022: 195}
"""The most bytes of a new token account: 165, and for Token-2022 each extension that a mint requires."""

OWNER_AT: Final = {"Transfer": 2, "TransferChecked": 3, "TransferCheckedWithFee": 3, "UnwrapLamports": 2}
"""The transfers of the token programs, and where each names the owner. The signers follow it, if the owner is a
multisig account."""

_NO_MINT: Final = Unreadable("the instruction does not name the mint of its tokens")
_WHOLE: Final = Unreadable("the whole balance, which only the chain knows")
_RENT: Final = Unreadable("the rent, which depends on what the chain stores")


class _NamedInstruction(msgspec.Struct, frozen=True):
    """An instruction and its name. Its methods raise InvalidRequest for an instruction that is cut short."""

    instruction: Instruction
    name: str

    def account(self, position: int) -> str | Unreadable:
        if position >= len(self.instruction.accounts):
            raise unparsable(
                f"{self.name} of the program {self.instruction.program} needs at least {position + 1} accounts"
            )
        return self.instruction.accounts[position].key

    def optional_account(self, position: int) -> str | Unreadable:
        return self.account(position) if position < len(self.instruction.accounts) else NOBODY

    def data(self, at: int, size: int) -> bytes:
        taken = self.instruction.data[at : at + size]
        if len(taken) < size:
            raise unparsable(
                f"{self.name} of the program {self.instruction.program} needs at least {at + size} bytes of data"
            )
        return taken

    def integer(self, at: int) -> int:
        """An integer of 8 bytes, little-endian."""
        return int.from_bytes(self.data(at, 8), "little")

    def key(self, at: int) -> str:
        return base58(self.data(at, KEY_BYTES))

    def optional_key(self, at: int) -> str:
        """A key behind a byte that says whether there is one."""
        return self.key(at + 1) if self.data(at, 1) != b"\0" else NOBODY

    def after_text(self, at: int) -> int:
        """The position behind a text at `at`, which begins with its length in 8 bytes."""
        return at + 8 + self.integer(at)

    def movement(
        self,
        kind: MovementKind,
        from_: str | Unreadable,
        to: str | Unreadable,
        amount: int | Unreadable,
        asset: str | Unreadable = NATIVE,
    ) -> Movement:
        return Movement(
            kind=kind,
            name=self.name,
            contract=self.instruction.program,
            asset=asset,
            from_=from_,
            to=to,
            amount=amount,
        )

    def transfer(
        self, from_: int, to: int, amount: int | Unreadable, asset: str | Unreadable = NATIVE
    ) -> Sequence[Movement]:
        return (self.movement(MovementKind.TRANSFER, self.account(from_), self.account(to), amount, asset),)

    def allowance(self, to: str | Unreadable, amount: int, asset: str | Unreadable) -> Sequence[Movement]:
        return (self.movement(MovementKind.ALLOWANCE, self.account(0), to, amount, asset),)

    def authority(self, *to: str | Unreadable, asset: str | Unreadable = NATIVE) -> Sequence[Movement]:
        """The power over the first account goes to these."""
        return [
            self.movement(MovementKind.AUTHORITY, self.account(0), each, UNLIMITED, asset)
            for each in dict.fromkeys(to)
        ]

    def staked(self, to: int) -> Sequence[Movement]:
        return (self.movement(MovementKind.STAKE, self.account(0), self.account(to), _WHOLE),)

    def unknown(self, why: str) -> Movement:
        decided = Unreadable(why)
        return self.movement(MovementKind.UNKNOWN, decided, decided, decided, decided)


_InstructionMovements = Callable[[_NamedInstruction], Sequence[Movement]]


def _nothing(_: _NamedInstruction) -> Sequence[Movement]:
    return ()


def _created(call: _NamedInstruction, funding: int, account: int, lamports: int, owner: str) -> Sequence[Movement]:
    """A new account is its owner's, which is a program. The System Program leaves it to the account's key."""
    created = call.account(account)
    moved = [call.movement(MovementKind.TRANSFER, call.account(funding), created, lamports)] if lamports else []
    if owner != SYSTEM:
        moved.append(call.movement(MovementKind.AUTHORITY, created, owner, UNLIMITED))
    return moved


def _created_with_seed(call: _NamedInstruction) -> Sequence[Movement]:
    at = call.after_text(4 + KEY_BYTES)
    return _created(call, 0, 1, call.integer(at), call.key(at + 16))


def _mint_initialized(call: _NamedInstruction) -> Sequence[Movement]:
    return call.authority(call.key(2), *filter(None, [call.optional_key(34)]))


def _multisig_initialized(first: int) -> _InstructionMovements:
    return lambda call: call.authority(
        *(call.account(position) for position in range(first, len(call.instruction.accounts)))
    )


def _token_transfer(amount_at: int, to: int, mint: int | None = None) -> _InstructionMovements:
    """`to`, `mint`: positions of accounts. A transfer that names the mint of Token-2022 may run its hook."""

    def movements(call: _NamedInstruction) -> Sequence[Movement]:
        call.account(OWNER_AT[call.name])
        asset = _NO_MINT if mint is None else call.account(mint)
        moved = call.transfer(0, to, call.integer(amount_at), asset)
        if mint is not None and call.instruction.program == SPL_2022 and _hook_may_move(call.instruction):
            return (*moved, call.unknown("the mint may have a transfer hook, a program that acts for a signer"))
        return moved

    return movements


_TRANSFER_ACCOUNTS: Final = 4


def _hook_may_move(instruction: Instruction) -> bool:
    """Whether a transfer hook might act for a signer: it gets the accounts behind those of the transfer with their
    rights, and those of the transfer without."""
    own = {account.key for account in instruction.accounts[:_TRANSFER_ACCOUNTS]}
    return _may_move([account for account in instruction.accounts[_TRANSFER_ACCOUNTS:] if account.key not in own])


def _unwrapped(call: _NamedInstruction) -> Sequence[Movement]:
    call.account(OWNER_AT[call.name])
    return call.transfer(0, 1, call.integer(2), NATIVE_MINTS[call.instruction.program])


def _associated_created(call: _NamedInstruction) -> Sequence[Movement]:
    """The rent goes to the new account, and is its wallet's: the wallet can close the account and take it."""
    program = call.account(5)
    if program not in _TOKEN_ACCOUNT_BYTES:
        return (call.unknown(f"the program {program} in the place of the token program decides"),)
    rent = (_ACCOUNT_OVERHEAD + _TOKEN_ACCOUNT_BYTES[str(program)]) * _RENT_PER_BYTE
    return call.transfer(0, 2, rent)


def _nested_recovered(call: _NamedInstruction) -> Sequence[Movement]:
    return (*call.transfer(0, 2, _WHOLE, call.account(1)), *call.transfer(0, 5, _WHOLE))


_Instructions = Mapping[int, tuple[str, _InstructionMovements]]

_SYSTEM_INSTRUCTIONS: Final[_Instructions] = {
    0: ("CreateAccount", lambda call: _created(call, 0, 1, call.integer(4), call.key(20))),
    1: ("Assign", lambda call: call.authority(call.key(4))),
    2: ("Transfer", lambda call: call.transfer(0, 1, call.integer(4))),
    3: ("CreateAccountWithSeed", _created_with_seed),
    4: ("AdvanceNonceAccount", _nothing),
    5: ("WithdrawNonceAccount", lambda call: call.transfer(0, 1, call.integer(4))),
    6: ("InitializeNonceAccount", lambda call: call.authority(call.key(4))),
    7: ("AuthorizeNonceAccount", lambda call: call.authority(call.key(4))),
    # An account with data cannot send: what a wallet has is lost.
    8: ("Allocate", lambda call: call.authority(NOBODY)),
    9: ("AllocateWithSeed", lambda call: call.authority(call.key(call.after_text(4 + KEY_BYTES) + 8))),
    10: ("AssignWithSeed", lambda call: call.authority(call.key(call.after_text(4 + KEY_BYTES)))),
    11: ("TransferWithSeed", lambda call: call.transfer(0, 2, call.integer(4))),
    12: ("UpgradeNonceAccount", _nothing),
    13: (
        "CreateAccountAllowPrefund",
        lambda call: _created(call, 1 if call.integer(4) else 0, 0, call.integer(4), call.key(20)),
    ),
}

_TOKEN_INSTRUCTIONS: Final[_Instructions] = {
    0: ("InitializeMint", _mint_initialized),
    1: ("InitializeAccount", lambda call: call.authority(call.account(2), asset=call.account(1))),
    2: ("InitializeMultisig", _multisig_initialized(2)),
    3: ("Transfer", _token_transfer(1, 1)),
    4: ("Approve", lambda call: call.allowance(call.account(1), call.integer(1), _NO_MINT)),
    5: ("Revoke", lambda call: call.allowance(NOBODY, 0, _NO_MINT)),
    6: ("SetAuthority", lambda call: call.authority(call.optional_key(2), asset=_NO_MINT)),
    7: ("MintTo", lambda call: _minted(call)),
    8: ("Burn", lambda call: _burned(call)),
    9: ("CloseAccount", lambda call: call.transfer(0, 1, _WHOLE)),
    10: ("FreezeAccount", lambda call: call.authority(NOBODY, asset=call.account(1))),
    11: ("ThawAccount", lambda call: call.authority(Unreadable("the owner"), asset=call.account(1))),
    12: ("TransferChecked", _token_transfer(1, 2, mint=1)),
    13: ("ApproveChecked", lambda call: call.allowance(call.account(2), call.integer(1), call.account(1))),
    14: ("MintToChecked", lambda call: _minted(call)),
    15: ("BurnChecked", lambda call: _burned(call)),
    16: ("InitializeAccount2", lambda call: call.authority(call.key(1), asset=call.account(1))),
    17: ("SyncNative", _nothing),
    18: ("InitializeAccount3", lambda call: call.authority(call.key(1), asset=call.account(1))),
    19: ("InitializeMultisig2", _multisig_initialized(1)),
    20: ("InitializeMint2", _mint_initialized),
    21: ("GetAccountDataSize", _nothing),
    22: ("InitializeImmutableOwner", _nothing),
    23: ("AmountToUiAmount", _nothing),
    24: ("UiAmountToAmount", _nothing),
    29: ("Reallocate", lambda call: call.transfer(1, 0, _RENT)),
    30: ("MemoTransferExtension", _nothing),
    34: ("CpiGuardExtension", _nothing),
    45: ("UnwrapLamports", _unwrapped),
}
"""The extensions of Token-2022 that are not here follow the rule for unknown programs."""

_TRANSFER_CHECKED_WITH_FEE: Final = ("TransferCheckedWithFee", _token_transfer(2, 2, mint=1))

_ASSOCIATED_TOKEN_INSTRUCTIONS: Final[Mapping[bytes, tuple[str, _InstructionMovements]]] = {
    b"": ("Create", _associated_created),
    b"\0": ("Create", _associated_created),
    b"\1": ("CreateIdempotent", _associated_created),
    b"\2": ("RecoverNested", _nested_recovered),
}

_STAKE_INSTRUCTIONS: Final[_Instructions] = {
    0: ("Initialize", lambda call: call.authority(call.key(4), call.key(4 + KEY_BYTES))),
    1: ("Authorize", lambda call: call.authority(call.key(4))),
    2: ("DelegateStake", lambda call: call.staked(1)),
    3: ("Split", lambda call: call.transfer(0, 1, call.integer(4))),
    4: ("Withdraw", lambda call: call.transfer(0, 1, call.integer(4))),
    5: ("Deactivate", lambda call: call.staked(0)),
    7: ("Merge", lambda call: call.transfer(1, 0, _WHOLE)),
    8: ("AuthorizeWithSeed", lambda call: call.authority(call.key(4))),
    9: ("InitializeChecked", lambda call: call.authority(call.account(2), call.account(3))),
    10: ("AuthorizeChecked", lambda call: call.authority(call.account(3))),
    11: ("AuthorizeCheckedWithSeed", lambda call: call.authority(call.account(3))),
    13: ("GetMinimumDelegation", _nothing),
    14: ("DeactivateDelinquent", lambda call: call.staked(0)),
    16: ("MoveStake", lambda call: call.transfer(0, 1, call.integer(4))),
    17: ("MoveLamports", lambda call: call.transfer(0, 1, call.integer(4))),
}

_VOTE_INSTRUCTIONS: Final[_Instructions] = {
    1: ("Authorize", lambda call: call.authority(call.key(4))),
    3: ("Withdraw", lambda call: call.transfer(0, 1, call.integer(4))),
    7: ("AuthorizeChecked", lambda call: call.authority(call.account(3))),
}

_LOADER_INSTRUCTIONS: Final[_Instructions] = {
    4: ("SetAuthority", lambda call: call.authority(call.optional_account(2))),
    5: ("Close", lambda call: call.transfer(0, 1, _WHOLE)),
    7: ("SetAuthorityChecked", lambda call: call.authority(call.account(2))),
}

_LOOKUP_TABLE_INSTRUCTIONS: Final[_Instructions] = {
    4: ("CloseLookupTable", lambda call: call.transfer(0, 2, _WHOLE))
}

_BY_FOUR_BYTES: Final[Mapping[str, _Instructions]] = {
    SYSTEM: _SYSTEM_INSTRUCTIONS,
    STAKE: _STAKE_INSTRUCTIONS,
    VOTE: _VOTE_INSTRUCTIONS,
    LOADER: _LOADER_INSTRUCTIONS,
    LOOKUP_TABLES: _LOOKUP_TABLE_INSTRUCTIONS,
}
"""The programs whose instructions begin with their number in four bytes."""


def _minted(call: _NamedInstruction) -> Sequence[Movement]:
    mint, account = call.account(0), call.account(1)
    return (call.movement(MovementKind.MINT, NOBODY, account, call.integer(1), mint),)


def _burned(call: _NamedInstruction) -> Sequence[Movement]:
    account, mint = call.account(0), call.account(1)
    return (call.movement(MovementKind.BURN, account, NOBODY, call.integer(1), mint),)


def _known(instruction: Instruction) -> tuple[str, _InstructionMovements] | None:
    program, data = instruction.program, instruction.data
    if program in _BY_FOUR_BYTES:
        return _BY_FOUR_BYTES[program].get(int.from_bytes(data[:4], "little")) if len(data) >= 4 else None
    if program in (SPL, SPL_2022):
        if program == SPL_2022 and is_known_by_hash(data):
            return ("metadata or group", _nothing)
        return _TRANSFER_CHECKED_WITH_FEE if data[:2] == b"\x1a\x01" else _TOKEN_INSTRUCTIONS.get(data[0])
    if program == ASSOCIATED_ACCOUNTS:
        return _ASSOCIATED_TOKEN_INSTRUCTIONS.get(data)
    return ("", _nothing) if program == COMPUTE_BUDGET or program in MEMOS else None


def instruction_movements(instruction: Instruction) -> Sequence[Movement]:
    """What an instruction moves. Batches were expanded, and instructions that a token program lacks refused
    (`token_program`).

    A program outside the table may move whatever its signers could, because what it calls inside carries the
    signatures that it was given. It moves nothing of theirs unless it gets a signer, and an account that it may
    write.

    Raises InvalidRequest for an instruction of the table that is cut short.
    """
    known = _known(instruction)
    if known is not None:
        name, movements = known
        return movements(_NamedInstruction(instruction, name))
    if not _may_move(instruction.accounts):
        return ()
    name = instruction.data[:8].hex()
    return (_NamedInstruction(instruction, name).unknown(f"the program {instruction.program} decides"),)


def _may_move(accounts: Sequence[Account]) -> bool:
    return any(account.signer for account in accounts) and any(account.writable for account in accounts)


def fee_movement(message: SolanaMessage, instructions: Sequence[Instruction]) -> Movement:
    """The most that the network takes: for each signature, and the priority fee that the transaction offers."""
    signatures = message.signers + sum(
        instruction.data[0]
        for instruction in instructions
        if instruction.program in _VERIFIERS and instruction.data
    )
    config = message.config
    priority = _priority_fee(instructions) if config is None else config.priority_fee_lamports
    return Movement(
        kind=MovementKind.FEE,
        name="fee",
        asset=NATIVE,
        from_=message.accounts[0].key,
        to=NOBODY,
        amount=_LAMPORTS_PER_SIGNATURE * signatures + priority,
    )


def _priority_fee(instructions: Sequence[Instruction]) -> int:
    """In lamports, by the instructions of the Compute Budget program. In transactions of version 1, which have a
    config instead, these do nothing."""
    budget = [instruction.data for instruction in instructions if instruction.program == COMPUTE_BUDGET]
    limits, prices = (
        [int.from_bytes(data[1:], "little") for data in budget if data[:1] == tag] for tag in (b"\2", b"\3")
    )
    units = max(limits, default=_UNITS_PER_INSTRUCTION * (len(instructions) - len(budget)))
    return -(-max(prices, default=0) * min(units, _UNITS_MAX) // _MICROLAMPORTS)
