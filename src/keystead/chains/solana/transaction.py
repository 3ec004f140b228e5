"""Solana transactions: the whole wire form, legacy or version 0, signed over the message bytes as they came.

Here: reading, the rules of a well-formed message, policy facts, the signer's slot. Not here: what an IDL says about
instruction data (`solana_interfaces`); instructions that programs run inside others, which no transaction shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from keystead.api.enums import Curve
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.solana.interfaces import parsed_instruction
from keystead.chains.transaction import (
    Description,
    Party,
    UnsignedTransaction,
    require_curve,
    unparsable,
)

if TYPE_CHECKING:
    from solders.message import Message, MessageV0

TRANSACTION_BYTES_MAX: Final = 1232
"""What fits a packet of the network: IPv6's minimum of 1,280 bytes without the headers."""

LOOKED_UP: Final = "ADDRESS_TABLE_LOOKUP"
"""How an account reads whose key is in an address lookup table, on the chain."""

_SIGNATURE_BYTES = 64
_ACCOUNTS_MAX = 256
_SYSTEM_PROGRAM = "11111111111111111111111111111111"
_TOKEN_PROGRAMS = ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
_UPGRADEABLE_LOADER = "BPFLoaderUpgradeab1e11111111111111111111111"


class _Account(msgspec.Struct, frozen=True):
    """An account as instructions point to it. `table`: the lookup table it is in, and its index there."""

    key: str
    signer: bool
    writable: bool
    table: tuple[str, int] | None = None


class _Instruction(msgspec.Struct, frozen=True):
    program: str
    accounts: tuple[_Account, ...]
    data: bytes

    def keys(self) -> list[str]:
        return [account.key for account in self.accounts]


def parse_solana(unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read a transaction: compact array of 64-byte signatures, empty or present, then the message.

    Raises InvalidRequest if it is not well-formed, has a program in a lookup table, or does not ask the party to
    sign.
    """
    require_curve(party, Curve.ED25519, "Solana")
    message, signature_count = _read(unsigned)
    header, keys = message.header, [bytes(key) for key in message.account_keys]
    if party.compressed not in keys[: header.num_required_signatures]:
        raise unparsable(f"{party.address or party.compressed.hex()} is not among its required signers")
    slot = 1 + _SIGNATURE_BYTES * keys.index(party.compressed)
    instructions = _instructions(message)
    programs = tuple(dict.fromkeys(each.program for each in instructions))
    transfers = [_transfer(each) for each in instructions if _is_transfer(each)]
    spl_transfers = [found for each in instructions if (found := _spl_transfer(each)) is not None]

    def describe(interfaces: Mapping[str, str]) -> Description:
        calls = [
            parsed_instruction(interfaces[each.program], each.data, each.keys())
            if each.program in interfaces
            else {}
            for each in instructions
        ]
        tx = {
            "account_keys": [str(key) for key in message.account_keys],
            "program_keys": [str(key) for key in message.account_keys if str(key) in programs],
            "recent_blockhash": str(message.recent_blockhash),
            "instructions": [
                _instruction_facts(each, call) for each, call in zip(instructions, calls, strict=True)
            ],
            "transfers": transfers,
            "spl_transfers": spl_transfers,
            "address_table_lookups": [
                _lookup_facts(str(table.account_key), table.writable_indexes, table.readonly_indexes)
                for table in _tables(message)
            ],
        }
        unreadable = None
        if None in calls:
            unreadable = f"instruction {calls.index(None)} does not fit the uploaded interface of its program"
        return Description({"solana": {"tx": tx}}, unreadable)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        (signature,) = signatures
        return unsigned[:slot] + signature.r + signature.s + unsigned[slot + _SIGNATURE_BYTES :]

    return UnsignedTransaction(
        scheme=SignatureScheme.ED25519,
        messages=(unsigned[1 + _SIGNATURE_BYTES * signature_count :],),
        contracts=programs,
        describe=describe,
        assemble=assemble,
    )


def _read(unsigned: bytes) -> tuple[Message | MessageV0, int]:
    """The message, and the number of signature slots before it."""
    from solders.message import Message, MessageV0  # slow to import, and needed by few requests
    from solders.transaction import VersionedTransaction

    if len(unsigned) > TRANSACTION_BYTES_MAX:
        raise unparsable(f"{len(unsigned)} bytes; a Solana transaction has at most {TRANSACTION_BYTES_MAX}")
    try:
        transaction = VersionedTransaction.from_bytes(unsigned)
    except ValueError as refused:
        raise unparsable(f"not a Solana transaction: {refused}") from None
    # The library ignores what comes behind; and what does not come back the same had a second reading.
    if bytes(transaction) != unsigned:
        raise unparsable("not a Solana transaction: trailing bytes, or not the shortest encoding")
    message = transaction.message
    if not isinstance(message, Message | MessageV0):
        raise unparsable("only legacy messages and version 0 are supported")
    _check(message, len(transaction.signatures))
    return message, len(transaction.signatures)


def _tables(message: Message | MessageV0) -> Sequence[Any]:
    """The lookup tables; a legacy message has none."""
    return getattr(message, "address_table_lookups", ())


def _check(message: Message | MessageV0, signature_count: int) -> None:
    """The rules that the network's own `sanitize` holds messages to, and no key twice."""
    header, keys = message.header, message.account_keys
    if signature_count != header.num_required_signatures:
        raise unparsable(f"{signature_count} signature slots for {header.num_required_signatures} required signers")
    if header.num_readonly_signed_accounts >= header.num_required_signatures:
        raise unparsable("no writable signer to pay the fee")
    if header.num_required_signatures + header.num_readonly_unsigned_accounts > len(keys):
        raise unparsable(f"its header speaks of more accounts than its {len(keys)} keys")
    if len(set(keys)) != len(keys):
        raise unparsable("an account key occurs twice")
    total = len(keys)
    for table in _tables(message):
        taken = len(table.writable_indexes) + len(table.readonly_indexes)
        if not taken:
            raise unparsable(f"nothing is looked up in address table {table.account_key}")
        total += taken
    if total > _ACCOUNTS_MAX:
        raise unparsable(f"{total} addresses, at most {_ACCOUNTS_MAX} are possible")
    for number, instruction in enumerate(message.instructions):
        if instruction.program_id_index >= len(keys):
            raise unparsable(f"instruction {number}: its program is not among the account keys of the transaction")
        if instruction.program_id_index == 0:
            raise unparsable(f"instruction {number}: its program is the account that pays the fee")
        if any(index >= total for index in instruction.accounts):
            raise unparsable(f"instruction {number}: an account index beyond the {total} addresses")


def _instructions(message: Message | MessageV0) -> list[_Instruction]:
    accounts = _accounts(message)
    return [
        _Instruction(
            accounts[each.program_id_index].key,
            tuple(accounts[index] for index in each.accounts),
            bytes(each.data),
        )
        for each in message.instructions
    ]


def _accounts(message: Message | MessageV0) -> list[_Account]:
    """In the order that indexes count: the keys, what is looked up as writable, what as read-only."""
    header, keys = message.header, [str(key) for key in message.account_keys]
    signed_writable = header.num_required_signatures - header.num_readonly_signed_accounts
    unsigned_writable = len(keys) - header.num_readonly_unsigned_accounts
    # The network takes the right to write from accounts that are called as programs, unless a loader is among them.
    called = {each.program_id_index for each in message.instructions} if _UPGRADEABLE_LOADER not in keys else set()
    accounts = []
    for index, key in enumerate(keys):
        signer = index < header.num_required_signatures
        writable = index < (signed_writable if signer else unsigned_writable) and index not in called
        accounts.append(_Account(key, signer, writable))
    for writable in (True, False):
        for table in _tables(message):
            indexes = table.writable_indexes if writable else table.readonly_indexes
            key = str(table.account_key)
            accounts += [_Account(LOOKED_UP, False, writable, (key, index)) for index in indexes]
    return accounts


def _is_transfer(instruction: _Instruction) -> bool:
    return instruction.program == _SYSTEM_PROGRAM and instruction.data[:4] == b"\x02\0\0\0"


def _transfer(instruction: _Instruction) -> dict[str, Any]:
    """The System Program's Transfer: from, to; more accounts than these two the program ignores."""
    keys = instruction.keys()
    if len(instruction.data) < 12 or len(keys) < 2:
        raise unparsable("a transfer of the System Program needs an amount of 8 bytes and two accounts")
    return {"from": keys[0], "to": keys[1], "amount": _u64(instruction.data, 4)}


def _spl_transfer(instruction: _Instruction) -> dict[str, Any] | None:
    """Transfer, TransferChecked or TransferCheckedWithFee of a token program; None for other instructions.

    Behind the owner come the signers, if the owner is a multisig account.
    """
    data, keys = instruction.data, instruction.keys()
    if instruction.program not in _TOKEN_PROGRAMS:
        return None
    if data[:1] == b"\x03":
        names, amount_at, size = ["from", "to", "owner"], 1, 9
    elif data[:1] == b"\x0c":
        names, amount_at, size = ["from", "token_mint", "to", "owner"], 1, 10
    elif data[:2] == b"\x1a\x01":
        names, amount_at, size = ["from", "token_mint", "to", "owner"], 2, 19
    else:
        return None
    if len(data) < size or len(keys) < len(names):
        raise unparsable(f"a token transfer of this kind needs {size} bytes of data and {len(names)} accounts")
    return {
        "token_mint": "",
        **dict(zip(names, keys, strict=False)),
        "amount": _u64(data, amount_at),
        "signers": keys[len(names) :],
    }


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _instruction_facts(instruction: _Instruction, call: Mapping[str, Any] | None) -> dict[str, Any]:
    """`call`: what an interface says of it, if it says anything."""
    looked_up = [(account.table, account.writable) for account in instruction.accounts if account.table is not None]
    facts: dict[str, Any] = {
        "program_key": instruction.program,
        "accounts": [
            {"account_key": account.key, "signer": account.signer, "writable": account.writable}
            for account in instruction.accounts
        ],
        "instruction_data_hex": instruction.data.hex(),
        "address_table_lookups": [
            _lookup_facts(
                key,
                [at for (table, at), writable in looked_up if table == key and writable],
                [at for (table, at), writable in looked_up if table == key and not writable],
            )
            for key in dict.fromkeys(table for (table, _), _ in looked_up)
        ],
    }
    if call:
        facts["parsed_instruction_data"] = call
    return facts


def _lookup_facts(key: str, writable: Sequence[int], readonly: Sequence[int]) -> dict[str, Any]:
    return {"address_table_key": key, "writable_indexes": list(writable), "readonly_indexes": list(readonly)}
