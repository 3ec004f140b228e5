"""Every instruction of the table of movements, as one example each: what it moves when the signer signs it.

A key is the name of the movement. Instructions are built by solders where it has them, else by the layouts that the
programs publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from solders import system_program as system
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from keystead.chains.movements import UNLIMITED, Movement
from tests.chains.solana.test_solana import SIGNER, SYSTEM, TOKEN, TOKEN_2022

ME: Final = SIGNER.pubkey()
THIEF, MINT, MINE, STRANGE = (Pubkey(bytes([number]) * 32) for number in (0xEE, 0xAA, 0xBB, 0x77))
"""Who should get nothing; a token; a token account or stake account of the signer; a program of nobody's table."""

ACCOUNTS, STAKE, VOTE, LOADER, MEMO, BUDGET, ED25519 = map(
    Pubkey.from_string,
    (
        "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
        "Stake11111111111111111111111111111111111111",
        "Vote111111111111111111111111111111111111111",
        "BPFLoaderUpgradeab1e11111111111111111111111",
        "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
        "ComputeBudget111111111111111111111111111111",
        "Ed25519SigVerify111111111111111111111111111",
    ),
)
ANY: Final = "unknown"
"""Stands for what is unreadable."""

NOBODY: Final = ""


@dataclass
class Mover:
    """`moves`: what it moves, each as kind, asset, from, to and amount."""

    instruction: Instruction
    moves: list[tuple[str, str, str, str, Any]]


def call(program: Pubkey, data: bytes, *accounts: Pubkey | AccountMeta) -> Instruction:
    """A key stands for an account that is written; the signer signs."""
    metas = [
        account if isinstance(account, AccountMeta) else AccountMeta(account, account == ME, True)
        for account in accounts
    ]
    return Instruction(program, data, metas)


def u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def token(data: bytes, *accounts: Pubkey | AccountMeta, program: Pubkey = TOKEN) -> Instruction:
    return call(program, data, *accounts)


def moved(kind: str, asset: Any, from_: Any, to: Any, amount: Any) -> tuple[str, str, str, str, Any]:
    return kind, str(asset), str(from_), str(to), amount


def coins(from_: Any, to: Any, amount: Any = 5) -> list[tuple[str, str, str, str, Any]]:
    return [moved("TRANSFER", "NATIVE", from_, to, amount)]


def power(account: Any, to: Any, asset: Any = "NATIVE") -> list[tuple[str, str, str, str, Any]]:
    return [moved("AUTHORITY", asset, account, to, UNLIMITED)]


UNKNOWN = [moved("UNKNOWN", ANY, ANY, ANY, ANY)]
SEED = "seed"
DERIVED = Pubkey.create_with_seed(ME, SEED, STRANGE)
ASSOCIATED = Pubkey.find_program_address([bytes(THIEF), bytes(TOKEN), bytes(MINT)], ACCOUNTS)[0]

SYSTEM_MOVERS: Final = {
    "CreateAccount": Mover(
        system.create_account({"from_pubkey": ME, "to_pubkey": THIEF, "lamports": 5, "space": 0, "owner": STRANGE}),
        coins(ME, THIEF) + power(THIEF, STRANGE),
    ),
    "Assign": Mover(system.assign({"pubkey": ME, "owner": STRANGE}), power(ME, STRANGE)),
    "Transfer": Mover(system.transfer({"from_pubkey": ME, "to_pubkey": THIEF, "lamports": 5}), coins(ME, THIEF)),
    "CreateAccountWithSeed": Mover(
        system.create_account_with_seed(
            {
                "from_pubkey": ME,
                "to_pubkey": DERIVED,
                "base": ME,
                "seed": SEED,
                "lamports": 5,
                "space": 1,
                "owner": STRANGE,
            }
        ),
        coins(ME, DERIVED) + power(DERIVED, STRANGE),
    ),
    "WithdrawNonceAccount": Mover(
        system.withdraw_nonce_account(
            {"nonce_pubkey": MINE, "authorized_pubkey": ME, "to_pubkey": THIEF, "lamports": 5}
        ),
        coins(MINE, THIEF),
    ),
    "InitializeNonceAccount": Mover(
        system.initialize_nonce_account({"nonce_pubkey": MINE, "authority": THIEF}), power(MINE, THIEF)
    ),
    "AuthorizeNonceAccount": Mover(
        system.authorize_nonce_account({"nonce_pubkey": MINE, "authorized_pubkey": ME, "new_authority": THIEF}),
        power(MINE, THIEF),
    ),
    "Allocate": Mover(system.allocate({"pubkey": ME, "space": 1}), power(ME, NOBODY)),
    "AllocateWithSeed": Mover(
        system.allocate_with_seed({"address": DERIVED, "base": ME, "seed": SEED, "space": 1, "owner": STRANGE}),
        power(DERIVED, STRANGE),
    ),
    "AssignWithSeed": Mover(
        system.assign_with_seed({"address": DERIVED, "base": ME, "seed": SEED, "owner": STRANGE}),
        power(DERIVED, STRANGE),
    ),
    "TransferWithSeed": Mover(
        system.transfer_with_seed(
            {
                "from_pubkey": DERIVED,
                "from_base": ME,
                "from_seed": SEED,
                "from_owner": SYSTEM,
                "to_pubkey": THIEF,
                "lamports": 5,
            }
        ),
        coins(DERIVED, THIEF),
    ),
    "CreateAccountAllowPrefund": Mover(
        call(SYSTEM, u32(13) + u64(5) + u64(0) + bytes(STRANGE), THIEF, ME),
        coins(ME, THIEF) + power(THIEF, STRANGE),
    ),
}
PLAIN, CHECKED = u64(5), u64(5) + b"\x06"

TOKEN_MOVERS: Final = {
    "InitializeMint": Mover(
        token(b"\x00\x06" + bytes(THIEF) + b"\x01" + bytes(STRANGE), MINT),
        power(MINT, THIEF) + power(MINT, STRANGE),
    ),
    "InitializeAccount": Mover(token(b"\x01", MINE, MINT, THIEF), power(MINE, THIEF, MINT)),
    "InitializeMultisig": Mover(token(b"\x02\x01", MINE, SYSTEM, THIEF), power(MINE, THIEF)),
    "Transfer": Mover(token(b"\x03" + PLAIN, MINE, THIEF, ME), [moved("TRANSFER", ANY, MINE, THIEF, 5)]),
    "Approve": Mover(token(b"\x04" + PLAIN, MINE, THIEF, ME), [moved("ALLOWANCE", ANY, MINE, THIEF, 5)]),
    "Revoke": Mover(token(b"\x05", MINE, ME), [moved("ALLOWANCE", ANY, MINE, NOBODY, 0)]),
    "SetAuthority": Mover(token(b"\x06\x02\x01" + bytes(THIEF), MINE, ME), power(MINE, THIEF, ANY)),
    "MintTo": Mover(token(b"\x07" + PLAIN, MINT, THIEF, ME), [moved("MINT", MINT, NOBODY, THIEF, 5)]),
    "Burn": Mover(token(b"\x08" + PLAIN, MINE, MINT, ME), [moved("BURN", MINT, MINE, NOBODY, 5)]),
    "CloseAccount": Mover(token(b"\x09", MINE, THIEF, ME), coins(MINE, THIEF, ANY)),
    "FreezeAccount": Mover(token(b"\x0a", MINE, MINT, ME), power(MINE, NOBODY, MINT)),
    "ThawAccount": Mover(token(b"\x0b", MINE, MINT, ME), power(MINE, ANY, MINT)),
    "TransferChecked": Mover(
        token(b"\x0c" + CHECKED, MINE, MINT, THIEF, ME), [moved("TRANSFER", MINT, MINE, THIEF, 5)]
    ),
    "ApproveChecked": Mover(
        token(b"\x0d" + CHECKED, MINE, MINT, THIEF, ME), [moved("ALLOWANCE", MINT, MINE, THIEF, 5)]
    ),
    "MintToChecked": Mover(token(b"\x0e" + CHECKED, MINT, THIEF, ME), [moved("MINT", MINT, NOBODY, THIEF, 5)]),
    "BurnChecked": Mover(token(b"\x0f" + CHECKED, MINE, MINT, ME), [moved("BURN", MINT, MINE, NOBODY, 5)]),
    "InitializeAccount2": Mover(token(b"\x10" + bytes(THIEF), MINE, MINT), power(MINE, THIEF, MINT)),
    "InitializeAccount3": Mover(token(b"\x12" + bytes(THIEF), MINE, MINT), power(MINE, THIEF, MINT)),
    "InitializeMultisig2": Mover(token(b"\x13\x01", MINE, THIEF), power(MINE, THIEF)),
    "InitializeMint2": Mover(token(b"\x14\x06" + bytes(THIEF) + b"\x00" + bytes(32), MINT), power(MINT, THIEF)),
    "Reallocate": Mover(token(b"\x1d\x00\x00", THIEF, ME, SYSTEM, ME, program=TOKEN_2022), coins(ME, THIEF, ANY)),
    "UnwrapLamports": Mover(
        token(b"\x2d\x01" + PLAIN, MINE, THIEF, ME),
        [moved("TRANSFER", "So11111111111111111111111111111111111111112", MINE, THIEF, 5)],
    ),
    "TransferCheckedWithFee": Mover(
        token(b"\x1a\x01" + CHECKED + u64(1), MINE, MINT, THIEF, ME, program=TOKEN_2022),
        [moved("TRANSFER", MINT, MINE, THIEF, 5)],
    ),
}
EXTENSION_MOVERS: Final = {
    f"extension {number}, {second}": Mover(
        token(bytes([number, second]) + bytes(66), MINT, THIEF, ME, program=TOKEN_2022), UNKNOWN
    )
    for number in range(25, 47)
    for second in range(5)
    if number not in (29, 30, 34, 38, 45) and (number, second) != (26, 1)
}
"""Extensions of Token-2022: fees, hooks, permanent delegates, confidential transfers and so on."""

ACCOUNT_MOVERS: Final = {
    "Create": Mover(call(ACCOUNTS, b"", ME, ASSOCIATED, THIEF, MINT, SYSTEM, TOKEN), coins(ME, THIEF, 2_039_280)),
    "CreateIdempotent": Mover(
        call(ACCOUNTS, b"\x01", ME, ASSOCIATED, THIEF, MINT, SYSTEM, TOKEN_2022), coins(ME, THIEF, 2_248_080)
    ),
    "RecoverNested": Mover(
        call(ACCOUNTS, b"\x02", MINE, MINT, THIEF, MINE, MINT, ME, TOKEN),
        [moved("TRANSFER", MINT, MINE, THIEF, ANY), *coins(MINE, ME, ANY)],
    ),
}

STAKE_MOVERS: Final = {
    "Initialize": Mover(
        call(STAKE, u32(0) + bytes(THIEF) + bytes(STRANGE) + bytes(48), MINE, SYSTEM),
        power(MINE, THIEF) + power(MINE, STRANGE),
    ),
    "Authorize": Mover(call(STAKE, u32(1) + bytes(THIEF) + u32(1), MINE, SYSTEM, ME), power(MINE, THIEF)),
    "DelegateStake": Mover(
        call(STAKE, u32(2), MINE, THIEF, SYSTEM, SYSTEM, SYSTEM, ME),
        [moved("STAKE", "NATIVE", MINE, THIEF, ANY)],
    ),
    "Split": Mover(call(STAKE, u32(3) + PLAIN, MINE, THIEF, ME), coins(MINE, THIEF)),
    "Withdraw": Mover(call(STAKE, u32(4) + PLAIN, MINE, THIEF, SYSTEM, SYSTEM, ME), coins(MINE, THIEF)),
    "Deactivate": Mover(call(STAKE, u32(5), MINE, SYSTEM, ME), [moved("STAKE", "NATIVE", MINE, MINE, ANY)]),
    "Merge": Mover(call(STAKE, u32(7), THIEF, MINE, SYSTEM, SYSTEM, ME), coins(MINE, THIEF, ANY)),
    "AuthorizeWithSeed": Mover(
        call(STAKE, u32(8) + bytes(THIEF) + u32(1) + u64(0) + bytes(32), MINE, ME, SYSTEM), power(MINE, THIEF)
    ),
    "InitializeChecked": Mover(call(STAKE, u32(9), MINE, SYSTEM, THIEF, ME), power(MINE, THIEF) + power(MINE, ME)),
    "AuthorizeChecked": Mover(call(STAKE, u32(10) + u32(1), MINE, SYSTEM, ME, THIEF), power(MINE, THIEF)),
    "AuthorizeCheckedWithSeed": Mover(
        call(STAKE, u32(11) + u32(1) + u64(0) + bytes(32), MINE, ME, SYSTEM, THIEF), power(MINE, THIEF)
    ),
    "DeactivateDelinquent": Mover(
        call(STAKE, u32(14), MINE, SYSTEM, SYSTEM), [moved("STAKE", "NATIVE", MINE, MINE, ANY)]
    ),
    "MoveStake": Mover(call(STAKE, u32(16) + PLAIN, MINE, THIEF, ME), coins(MINE, THIEF)),
    "MoveLamports": Mover(call(STAKE, u32(17) + PLAIN, MINE, THIEF, ME), coins(MINE, THIEF)),
    "SetLockup": Mover(call(STAKE, u32(6) + bytes(3), MINE, ME), UNKNOWN),
}

VOTE_MOVERS: Final = {
    "Authorize": Mover(call(VOTE, u32(1) + bytes(THIEF) + u32(1), MINE, SYSTEM, ME), power(MINE, THIEF)),
    "Withdraw": Mover(call(VOTE, u32(3) + PLAIN, MINE, THIEF, ME), coins(MINE, THIEF)),
    "AuthorizeChecked": Mover(call(VOTE, u32(7) + u32(1), MINE, SYSTEM, ME, THIEF), power(MINE, THIEF)),
    "UpdateCommission": Mover(call(VOTE, u32(5) + b"\x64", MINE, ME), UNKNOWN),
}

LOADER_MOVERS: Final = {
    "SetAuthority": Mover(call(LOADER, u32(4), MINE, ME, THIEF), power(MINE, THIEF)),
    "Close": Mover(call(LOADER, u32(5), MINE, THIEF, ME), coins(MINE, THIEF, ANY)),
    "SetAuthorityChecked": Mover(call(LOADER, u32(7), MINE, ME, THIEF), power(MINE, THIEF)),
    "Upgrade": Mover(call(LOADER, u32(3), MINE, MINE, THIEF, THIEF, SYSTEM, SYSTEM, ME), UNKNOWN),
    "ExtendProgram": Mover(call(LOADER, u32(6) + u32(9), THIEF, THIEF, SYSTEM, ME), UNKNOWN),
}

TABLE_MOVERS: Final = {
    "CloseLookupTable": Mover(
        system.close_lookup_table(
            {"lookup_table_address": MINE, "authority_address": ME, "recipient_address": THIEF}
        ),
        coins(MINE, THIEF, ANY),
    ),
    "CreateLookupTable": Mover(
        system.create_lookup_table({"authority_address": THIEF, "payer_address": ME, "recent_slot": 1})[0],
        UNKNOWN,
    ),
}


def read_only(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, key == ME, False)


OTHER_MOVERS: Final = {
    "a program that gets the signer": Mover(call(STRANGE, b"\x01", ME), UNKNOWN),
    "a program that gets the signer and a token account": Mover(call(STRANGE, b"", read_only(ME), MINE), UNKNOWN),
    "a transfer hook that gets the signer": Mover(
        token(b"\x0c" + CHECKED, MINE, MINT, THIEF, THIEF, ME, STRANGE, program=TOKEN_2022),
        [moved("TRANSFER", MINT, MINE, THIEF, 5), *UNKNOWN],
    ),
    "an instruction that the System Program does not have yet": Mover(call(SYSTEM, u32(14), ME, THIEF), UNKNOWN),
    "an account of a program that only looks like the token program": Mover(
        call(ACCOUNTS, b"", ME, ASSOCIATED, THIEF, MINT, SYSTEM, STRANGE), UNKNOWN
    ),
}

MOVERS: Final = {
    f"{program}: {name}": mover
    for program, movers in {
        "System": SYSTEM_MOVERS,
        "Token": TOKEN_MOVERS | EXTENSION_MOVERS,
        "Associated accounts": ACCOUNT_MOVERS,
        "Stake": STAKE_MOVERS,
        "Vote": VOTE_MOVERS,
        "Loader": LOADER_MOVERS,
        "Lookup tables": TABLE_MOVERS,
        "Other": OTHER_MOVERS,
    }.items()
    for name, mover in movers.items()
}

HARMLESS: Final = {
    "a memo that is signed": call(MEMO, b"hello", ME),
    "a price for the compute units": set_compute_unit_price(1_000),
    "a limit of compute units": set_compute_unit_limit(50_000),
    "a nonce that is used": system.advance_nonce_account({"nonce_pubkey": MINE, "authorized_pubkey": ME}),
    "a nonce account that is upgraded": system.upgrade_nonce_account({"nonce_pubkey": MINE}),
    "a wrapped account that is synchronized": token(b"\x11", MINE),
    "an immutable owner": token(b"\x16", MINE),
    "a size that is asked for": token(b"\x15", MINT),
    "an amount that is written": token(b"\x17" + PLAIN, MINT),
    "memos that are required": token(b"\x1e\x00", MINE, ME, program=TOKEN_2022),
    "a guard against programs": token(b"\x22\x00", MINE, ME, program=TOKEN_2022),
    "metadata of a token": token(bytes.fromhex("dde9312db5cadcc8") + bytes(8), MINT, ME, program=TOKEN_2022),
    "the least delegation that is asked for": call(STAKE, u32(13)),
    "a program without a signer": call(STRANGE, b"\x01", THIEF),
    "a program that can write nothing": call(STRANGE, b"\x01", read_only(THIEF)),
    "a signature that is verified": call(ED25519, b"\x01" + bytes(15)),
}
"""Instructions that move nothing of a signer's."""


def shown(movement: Movement) -> tuple[str, str, str, str, Any]:
    """A movement as the table above writes it."""
    asset, from_, to, amount = (
        value if isinstance(value, str | int) else ANY
        for value in (movement.asset, movement.from_, movement.to, movement.amount)
    )
    return movement.kind.value, str(asset), str(from_), str(to), amount
