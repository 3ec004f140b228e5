"""Solana transactions of every version, signed over the message bytes as received.

Here: what policies see of a transaction, the signer's slot. Not here: the bytes (`wire`), the rules of a message
(`message`), what instructions move (`movements`), the token programs (`token_program`), instruction data by an IDL
(`interfaces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from keystead.api.enums import Curve
from keystead.chains import transaction
from keystead.chains.contract_interfaces import ParsedInterface, RefusedInterface
from keystead.chains.movements import NATIVE, Movement, MovementKind, fee_of, movement_facts
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.solana import facts
from keystead.chains.solana.borsh import ValueMeter
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.message import Instruction, SolanaMessage, read_message
from keystead.chains.solana.movements import OWNER_AT, fee_movement, instruction_movements
from keystead.chains.solana.token_program import NATIVE_MINTS, check_token_instruction, expand_batch
from keystead.chains.solana.wire import SIGNATURE_BYTES, TransactionConfig
from keystead.primitives.unreadable import Unreadable


def parse_solana(unsigned: bytes, party: transaction.Party) -> transaction.UnsignedTransaction:
    """Read a whole transaction, with its signature slots, of 64 zero bytes or already signed.

    Raises InvalidRequest if it is not well-formed, has a program in a lookup table, does not ask the party to sign,
    or has an instruction of the token programs whose transfer policies could not see.
    """
    transaction.require_curve(party, Curve.ED25519, "Solana")
    message = read_message(unsigned)
    if party.compressed not in message.keys[: message.signers]:
        raise transaction.unparsable(f"{party.address or party.compressed.hex()} is not among its required signers")
    slot = message.slots_begin + SIGNATURE_BYTES * message.keys.index(party.compressed)
    view = _view(message)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        (signature,) = signatures
        return unsigned[:slot] + signature.r + signature.s + unsigned[slot + SIGNATURE_BYTES :]

    return transaction.UnsignedTransaction(
        scheme=SignatureScheme.ED25519,
        messages=(message.signed,),
        movements=view.movements,
        contracts=view.contracts,
        describe=view.describe,
        assemble=assemble,
    )


def view_solana(unsigned: bytes) -> transaction.TransactionView:
    """What an unsigned transaction says. Raises InvalidRequest as `parse_solana` does."""
    return _view(read_message(unsigned))


def _view(message: SolanaMessage) -> transaction.TransactionView:
    instructions = [inner for outer in message.instructions for inner in expand_batch(outer)]
    for instruction in instructions:
        check_token_instruction(instruction)
    moved = [
        (instruction, movement) for instruction in instructions for movement in instruction_movements(instruction)
    ]
    movements = (*(movement for _, movement in moved), fee_movement(message, instructions))
    programs = tuple(dict.fromkeys(instruction.program for instruction in instructions))
    called = [account.key for account in message.accounts if account.key in programs]

    def describe(interfaces: Mapping[str, ParsedInterface]) -> transaction.Description:
        meter = ValueMeter()
        transfers, spl_transfers = _transfers(moved)
        tx: facts.SolanaTransaction = {
            "version": message.version.value,
            **_config_facts(message.config),
            "account_keys": [account.key for account in message.accounts],
            "program_keys": [key for key in called if isinstance(key, str)],
            "recent_blockhash": message.recent_blockhash,
            "instructions": [_instruction_facts(instruction, interfaces, meter) for instruction in instructions],
            "transfers": transfers,
            "spl_transfers": spl_transfers,
            "address_table_lookups": [
                _lookup_facts(table.key, table.writable, table.readonly) for table in message.tables
            ],
            "fee": fee_of(movements),
            "movements": movement_facts(movements),
        }
        return transaction.Description({"solana": {"tx": tx}})

    return transaction.TransactionView(movements=movements, contracts=programs, describe=describe)


_BEFORE_VERSION_1: Final = Unreadable("only transactions of version 1 have it")
_NOT_SET: Final = Unreadable("the transaction does not set it")


def _config_facts(config: TransactionConfig | None) -> facts.ConfigFacts:
    def limit(value: int | None) -> int | Unreadable:
        return _NOT_SET if value is None else value

    if config is None:
        return {
            "priority_fee_lamports": _BEFORE_VERSION_1,
            "compute_unit_limit": _BEFORE_VERSION_1,
            "loaded_accounts_data_size_limit": _BEFORE_VERSION_1,
            "heap_size": _BEFORE_VERSION_1,
        }
    return {
        "priority_fee_lamports": config.priority_fee_lamports,
        "compute_unit_limit": limit(config.compute_unit_limit),
        "loaded_accounts_data_size_limit": limit(config.loaded_accounts_data_size_limit),
        "heap_size": limit(config.heap_size),
    }


def _transfers(
    moved: Sequence[tuple[Instruction, Movement]],
) -> tuple[list[facts.Transfer] | Unreadable, list[facts.SplTransfer] | Unreadable]:
    """The facts `transfers` and `spl_transfers`.

    A policy that says where transfers may go relies on these lists to be complete. So if anything else moves value,
    or gives power over it, both are unreadable.
    """
    coins: list[facts.Transfer] = []
    tokens: list[facts.SplTransfer] = []
    for instruction, movement in moved:
        is_transfer, amount = movement.kind is MovementKind.TRANSFER, movement.amount
        if is_transfer and movement.asset == NATIVE:
            coins.append({"from": movement.from_, "to": movement.to, "amount": amount})
        elif is_transfer and instruction.program in NATIVE_MINTS and isinstance(amount, int):
            keys, owner = instruction.keys(), OWNER_AT[movement.name]
            tokens.append(
                {
                    "from": movement.from_,
                    "to": movement.to,
                    "owner": keys[owner],
                    "token_mint": movement.asset,
                    "amount": amount,
                    "signers": keys[owner + 1 :],
                }
            )
        else:
            incomplete = Unreadable(_why_incomplete(movement))
            return incomplete, incomplete
    return coins, tokens


def _why_incomplete(movement: Movement) -> str:
    if movement.kind is MovementKind.UNKNOWN:
        return f"the program {movement.contract} may move more than the transaction says"
    called = f"{movement.name} of the program {movement.contract}"
    return f"{called} moves value, or gives power over it, in another way than a transfer"


def _instruction_facts(
    instruction: Instruction, interfaces: Mapping[str, ParsedInterface], meter: ValueMeter
) -> facts.InstructionFacts:
    looked_up = [(account.table, account.writable) for account in instruction.accounts if account.table is not None]
    return {
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
        "parsed_instruction_data": _parsed(instruction, interfaces, meter),
    }


def _parsed(
    instruction: Instruction, interfaces: Mapping[str, ParsedInterface], meter: ValueMeter
) -> facts.ParsedInstruction | Unreadable:
    idl = interfaces.get(instruction.program)
    if isinstance(idl, RefusedInterface):
        return Unreadable(f"the interface of its program on record is not understood: {idl.why}")
    if not isinstance(idl, ProgramIdl):
        return Unreadable(f"no interface of the program {instruction.program} is uploaded")
    return idl.parse_instruction(instruction.data, instruction.keys(), meter)


def _lookup_facts(key: str, writable: Sequence[int], readonly: Sequence[int]) -> facts.AddressTableLookup:
    return {"address_table_key": key, "writable_indexes": list(writable), "readonly_indexes": list(readonly)}
