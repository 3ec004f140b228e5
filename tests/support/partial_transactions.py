"""Transactions, typed data and authorizations, read by their parsers, with parts absent that they may lack.

Each is the keywords that policies see. Together they lack each part that their chain's facts may lack.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from btclib.tx.tx_out import TxOut
from eth_abi.abi import encode
from eth_hash.auto import keccak
from solders.hash import Hash
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.message import MessageAddressTableLookup, MessageHeader, MessageV0, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.contract_interfaces import ParsedInterface, RefusedInterface
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.chains.ethereum.tempo import parse_tempo
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.payloads import read_payload
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.tron.transaction import parse_tron
from tests.chains.bitcoin.psbts import (
    KEY,
    OTHER_KEY,
    Spent,
    bitcoin_party,
    key_of,
    paying,
    script_for,
    unsigned_psbt,
)
from tests.chains.ethereum import test_ethereum as ethereum_examples
from tests.chains.ethereum.test_ethereum import AUTHORIZATION, BLOB, EIP_2930, LEGACY, MARKET_1559, changed, typed
from tests.chains.ethereum.test_ethereum import SIGNER as ETHEREUM_SIGNER
from tests.chains.ethereum.test_tempo import PLAIN
from tests.chains.solana.movers import token
from tests.chains.solana.test_solana import (
    PROGRAM,
    SIGNER,
    SYSTEM,
    TABLE,
    TOKEN,
    A,
    B,
    C,
    D,
    legacy,
    of,
    read,
    version_1,
    wire,
)
from tests.chains.tron.test_tron import SIGNER as TRON_SIGNER
from tests.chains.tron.test_tron import WRITTEN

Keywords = Mapping[str, Any]
CALLED: Final = "0x" + ethereum_examples.TO.hex()


# Ethereum


def abi(*functions: tuple[str, str]) -> ContractAbi:
    """An interface of functions, each with its arguments, such as "address to, uint256 amount"."""
    entries = [
        {
            "type": "function",
            "name": name,
            "inputs": [
                dict(zip(("type", "name"), argument.split(), strict=True)) for argument in arguments.split(", ")
            ],
        }
        for name, arguments in functions
    ]
    return ContractAbi.read(json.dumps(entries))


TRANSFER_ABI: Final = abi(("transfer", "address to, uint256 amount"))


def transfer_call(to: str = "0x" + "ab" * 20, amount: int = 5) -> bytes:
    return bytes(keccak(b"transfer(address,uint256)")[:4]) + encode(["address", "uint256"], [to, amount])


def ethereum(unsigned: bytes, interface: ParsedInterface | None = None) -> Keywords:
    interfaces = {CALLED: interface} if interface is not None else {}
    return parse_ethereum(unsigned, ETHEREUM_SIGNER).describe(interfaces).keywords


def calling(data: bytes) -> bytes:
    return typed(2, changed(MARKET_1559, 7, data))


def typed_data(domain: Mapping[str, Any], message: Mapping[str, Any] | None = None) -> Keywords:
    kinds = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
    members = [{"name": name, "type": kinds[name]} for name in domain]
    document = {
        "types": {"EIP712Domain": members, "Order": [{"name": "amount", "type": "uint256"}]},
        "primaryType": "Order",
        "domain": domain,
        "message": message or {"amount": 5},
    }
    return read_payload(json.dumps(document), PayloadEncoding.EIP712, HashFunction.NO_OP, "p").keywords


DOMAIN: Final = {"name": "Token", "version": "1", "chainId": 1, "verifyingContract": "0x" + "cd" * 20}


def permit(domain: Mapping[str, Any]) -> Keywords:
    """A permit of ERC-2612, under this domain."""
    kinds = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
    fields = "address owner, address spender, uint256 value, uint256 nonce, uint256 deadline"
    document = {
        "types": {
            "EIP712Domain": [{"name": name, "type": kinds[name]} for name in domain],
            "Permit": [dict(zip(("type", "name"), field.split(), strict=True)) for field in fields.split(", ")],
        },
        "primaryType": "Permit",
        "domain": domain,
        "message": {"owner": CALLED, "spender": "0x" + "ee" * 20, "value": 5, "nonce": 0, "deadline": 9},
    }
    return read_payload(json.dumps(document), PayloadEncoding.EIP712, HashFunction.NO_OP, "p").keywords


def authorization(chain_id: int) -> Keywords:
    text = json.dumps({"address": CALLED, "chainId": chain_id, "nonce": 7})
    encoding = PayloadEncoding.EIP7702_AUTHORIZATION
    return read_payload(text, encoding, HashFunction.NO_OP, "p").keywords


def _ethereum() -> Iterator[tuple[str, Keywords]]:
    whole = transfer_call()
    yield "a legacy transaction without a chain", ethereum(ethereum_examples.legacy(LEGACY))
    yield "a legacy transaction", ethereum(ethereum_examples.legacy([*LEGACY, b"\1", b"", b""]))
    yield "EIP-2930", ethereum(typed(1, EIP_2930))
    yield "EIP-1559", ethereum(typed(2, MARKET_1559))
    yield "EIP-4844", ethereum(typed(3, BLOB))
    for chain_id in (b"", b"\1"):
        authorized = [*MARKET_1559, [changed(AUTHORIZATION, 0, chain_id)]]
        yield f"EIP-7702 {chain_id!r}", ethereum(typed(4, authorized))
    yield "a creation", ethereum(typed(2, changed(changed(MARKET_1559, 5, b""), 7, b"\x60\x01\x60\x01")))
    yield "a call", ethereum(calling(whole), TRANSFER_ABI)
    yield "a call without an interface", ethereum(calling(whole))
    yield "a call that does not fit", ethereum(calling(whole[:-1]), TRANSFER_ABI)
    yield "another function", ethereum(calling(b"\1\2\3\4" + whole[4:]), TRANSFER_ABI)
    yield (
        "an interface that is not understood",
        ethereum(calling(whole), RefusedInterface("two inputs are named x")),
    )
    yield "arguments of other names", ethereum(calling(whole), abi(("transfer", "address a, uint256 b")))
    for left_out in (None, *DOMAIN):
        domain = {name: value for name, value in DOMAIN.items() if name != left_out}
        yield f"typed data without {left_out}", typed_data(domain)
        yield f"a permit without {left_out}", permit(domain)
    yield "typed data without a domain", typed_data({})
    for number in (0, 1):
        yield f"an authorization for chain {number}", authorization(number)


def tempo(*changes: tuple[int, Any]) -> Keywords:
    items = list(PLAIN)
    for index, item in changes:
        items[index] = item
    return parse_tempo(typed(0x76, items), ETHEREUM_SIGNER).describe({}).keywords


def _tempo() -> Iterator[tuple[str, Keywords]]:
    to, data = ethereum_examples.TO, transfer_call()
    yield "every field", tempo((4, [[to, b"\5", data]]), (8, b"\x7f"), (9, b"\1"), (10, to))
    yield "no times, no fee token", tempo((4, [[to, b"", data]]), (8, b""), (9, b""), (10, b""))
    yield "a creation", tempo((4, [[b"", b"\1", b"\x60"], [to, b"", b""]]))
    yield "a fee payer", tempo((11, b"\0"))


# Solana

IDL: Final = json.dumps(
    {
        "instructions": [
            {
                "name": "route",
                "accounts": [{"name": "payer"}, {"name": "vault"}],
                "args": [
                    {"name": "amount", "type": "u64"},
                    {"name": "limit", "type": {"option": "u64"}},
                    {"name": "steps", "type": {"vec": {"option": "u8"}}},
                ],
                "discriminator": [1],
            }
        ],
        "types": [],
    }
)


def solana(unsigned: bytes, idl: str | RefusedInterface | None = IDL) -> Keywords:
    interface = ProgramIdl.read(idl) if isinstance(idl, str) else idl
    interfaces = {} if interface is None else {str(PROGRAM): interface}
    return parse_solana(unsigned, of(SIGNER)).describe(interfaces).keywords


def route(amount: int = 5, limit: int | None = None, *steps: int | None) -> Instruction:
    def option(value: int | None, size: int) -> bytes:
        return b"\0" if value is None else b"\1" + value.to_bytes(size, "little")

    data = b"\1" + amount.to_bytes(8, "little") + option(limit, 8)
    data += len(steps).to_bytes(4, "little") + b"".join(option(step, 1) for step in steps)
    return Instruction(PROGRAM, data, [AccountMeta(SIGNER.pubkey(), True, True), *read(B)])


def checked(amount: int = 5) -> Instruction:
    return token(b"\x0c" + amount.to_bytes(8, "little") + b"\x06", A, C, B, SIGNER.pubkey())


def plain(amount: int = 5) -> Instruction:
    return token(b"\x03" + amount.to_bytes(8, "little"), A, B, SIGNER.pubkey(), D)


TRANSFER: Final = b"\2\0\0\0" + (5).to_bytes(8, "little")


def pays(lamports: int = 1) -> Instruction:
    return transfer(TransferParams(from_pubkey=SIGNER.pubkey(), to_pubkey=A, lamports=lamports))


def looked_up(program: Pubkey, data: bytes, *accounts: int) -> bytes:
    """A message of one instruction. Its accounts 0 to 2 are the signer, A and the program; those from 3 on are in a
    lookup table."""
    lookup = MessageAddressTableLookup(TABLE.pubkey(), b"\x05\x06", b"\x07")
    instruction = CompiledInstruction(2, data, bytes(accounts))
    keys = [SIGNER.pubkey(), A, program]
    return wire(MessageV0(MessageHeader(1, 0, 1), keys, Hash(bytes(32)), [instruction], [lookup]))


def _solana() -> Iterator[tuple[str, Keywords]]:
    padding = Instruction(PROGRAM, b"\xff\xff", read(A))
    yield "a transfer", solana(legacy(pays()))
    yield "a plain Transfer", solana(legacy(plain()))
    yield "TransferChecked", solana(legacy(checked()))
    yield "a closed account", solana(legacy(token(b"\x09", A, B, SIGNER.pubkey())))
    yield "a route", solana(legacy(route(5, 7, 1, 2)))
    yield "absent options", solana(legacy(route(5, None, 1, None)))
    yield "no interface", solana(legacy(route(5, 7)), None)
    yield "padding outside of the interface", solana(legacy(route(5, 7), padding))
    yield "too few accounts", solana(legacy(Instruction(PROGRAM, route().data, read(A))))
    other = json.dumps({"instructions": [{"name": "route", "accounts": [], "args": []}], "types": []})
    yield "an interface of another dialect", solana(legacy(route(5, 7)), other)
    yield (
        "an interface that is not understood",
        solana(legacy(route(5, 7)), RefusedInterface("unknown field `size`")),
    )
    one = CompiledInstruction(2, b"", b"\x01")
    yield "version 1", solana(version_1(one))
    yield "version 1 with its config", solana(version_1(one, config=TransactionConfig(7, 1_000, 2_000, 32 * 1024)))
    yield "a route with accounts of a table", solana(looked_up(PROGRAM, route().data, 4, 5))
    yield "a transfer to an account of a table", solana(looked_up(SYSTEM, TRANSFER, 0, 3))
    yield "a transfer from one", solana(looked_up(SYSTEM, TRANSFER, 4, 1))
    checked_data = b"\x0c" + (5).to_bytes(8, "little") + b"\6"
    yield "tokens, accounts and mint of a table", solana(looked_up(TOKEN, checked_data, 3, 4, 5, 4, 3))


# Bitcoin


def bitcoin(*outputs: TxOut, foreign: str = "") -> Keywords:
    """`foreign`: the kind of an input of somebody else."""
    spent = [Spent("P2WPKH", satoshis=1_000_000), *([Spent(foreign, private=OTHER_KEY)] if foreign else [])]
    return parse_bitcoin(unsigned_psbt(spent, outputs), bitcoin_party("P2WPKH")).describe({}).keywords


def _bitcoin() -> Iterator[tuple[str, Keywords]]:
    yield "two outputs", bitcoin(*paying(5, 7))
    yield "an output without an address", bitcoin(*paying(5), TxOut(1, "6a0568656c6c6f"))
    yield "an input of somebody else", bitcoin(*paying(5), foreign="P2WPKH")
    yield "one that claims its amount", bitcoin(*paying(5), foreign="P2TR")
    change = TxOut(5, script_for("P2WPKH", key_of(KEY)))
    yield "change", bitcoin(*paying(5), change)


# Tron


def tron(name: str) -> Keywords:
    """A transaction that TronWeb wrote."""
    unsigned = bytes.fromhex(WRITTEN[name]["raw_data_hex"])
    return parse_tron(unsigned, TRON_SIGNER).describe({}).keywords


def _tron() -> Iterator[tuple[str, Keywords]]:
    for name in WRITTEN:
        if name != "WithdrawExpireUnfreezeContract":
            yield name, tron(name)


def partial_transactions() -> dict[str, Keywords]:
    """All of them by what they are."""
    chains = {
        "Ethereum": _ethereum,
        "Tempo": _tempo,
        "Solana": _solana,
        "Bitcoin": _bitcoin,
        "Tron": _tron,
    }
    return {f"{chain}: {name}": keywords for chain, made in chains.items() for name, keywords in made()}
