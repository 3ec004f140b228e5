"""The documented examples of policies over Solana, Bitcoin and Tron, over transactions as they are parsed; and that
what is parsed is what policies can name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from solders.instruction import CompiledInstruction, Instruction
from solders.system_program import TransferParams, transfer

from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.tron.transaction import parse_tron
from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.types import ListOf, StructOf, Type
from keystead.policies.language.values import fits
from keystead.primitives.unreadable import Unreadable
from tests.chains.bitcoin.psbts import KEY, OTHER_KEY, Spent, bitcoin_party, key_of, script_for, unsigned_psbt
from tests.chains.solana.test_solana import (
    CONFIGS,
    PROGRAM,
    SIGNER,
    TOKEN,
    A,
    B,
    C,
    D,
    legacy,
    of,
    read,
    with_table,
)
from tests.chains.solana.test_solana_interfaces import ROUTE
from tests.chains.tron.test_tron import SIGNER as TRON_SIGNER
from tests.chains.tron.test_tron import WRITTEN, contract, tronweb_address
from tests.policies.examples import ALLOW_SIGN, ERROR, EXPLICIT, IMPLICIT, OK, SIGN, Case
from tests.support.policy_fixtures import allow, deny

IDL = json.dumps(
    {
        "instructions": [
            {"name": "route", "accounts": [{"name": "payer"}], "args": [{"name": "amount", "type": "u64"}]},
            {"name": "close", "accounts": [], "args": []},
        ],
        "types": [],
    }
)
ProgramIdl.read(IDL)


def solana(*instructions: Instruction, interfaces: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    return (
        parse_solana(legacy(*instructions), of(SIGNER))
        .describe({key: ProgramIdl.read(text) for key, text in (interfaces or {}).items()})
        .keywords
    )


def pays(to: Any, lamports: int = 1) -> Instruction:
    return transfer(TransferParams(from_pubkey=SIGNER.pubkey(), to_pubkey=to, lamports=lamports))


def checked(mint: Any, amount: int = 5) -> Instruction:
    return Instruction(TOKEN, b"\x0c" + amount.to_bytes(8, "little") + b"\x06", read(A, mint, B, SIGNER.pubkey()))


def plain(amount: int = 5) -> Instruction:
    return Instruction(TOKEN, b"\x03" + amount.to_bytes(8, "little"), read(A, B, SIGNER.pubkey()))


def route(amount: int = 5) -> Instruction:
    return Instruction(PROGRAM, ROUTE + amount.to_bytes(8, "little"), read(A))


def bitcoin(fee: int, *scripts: bytes) -> Mapping[str, Any]:
    spent = Spent("P2WPKH", satoshis=1_000_000)
    paid = [TxOut((1_000_000 - fee) // len(scripts), script) for script in scripts]
    return parse_bitcoin(unsigned_psbt([spent], paid), bitcoin_party("P2WPKH")).describe({}).keywords


def tron(unsigned: bytes) -> Mapping[str, Any]:
    return parse_tron(unsigned, TRON_SIGNER).describe({}).keywords


def tronweb(name: str) -> Mapping[str, Any]:
    return tron(bytes.fromhex(WRITTEN[name]["raw_data_hex"]))


MEMO = Instruction(D, b"hi", [])
LOOKED_UP = (
    parse_solana(with_table(CompiledInstruction(2, b"\x01", bytes([4, 5]))), of(SIGNER)).describe({}).keywords
)
WITH_IDL = {str(PROGRAM): IDL}
MINE, THEIRS = (script_for("P2WPKH", key_of(key)) for key in (KEY, OTHER_KEY))

R19 = [allow(f"solana.tx.transfers.count() == 1 && solana.tx.transfers[0].to == '{A}'")]
R20 = [allow(f"solana.tx.transfers.all(t, t.to == '{A}')")]
R21 = [deny("solana.tx.address_table_lookups.count() > 0"), ALLOW_SIGN]
R22 = [
    allow(
        "solana.tx.instructions.count() == solana.tx.spl_transfers.count()"
        f" && solana.tx.spl_transfers.all(t, t.token_mint == '{C}')"
    )
]
R23 = [
    allow(
        f"solana.tx.instructions.any(i, i.program_key == '{PROGRAM}'"
        " && i.parsed_instruction_data.instruction_name == 'route')"
    )
]
ARGUMENTS = [
    allow(
        "solana.tx.instructions[0].parsed_instruction_data.program_call_args['amount'] < 6"
        f" && solana.tx.instructions[0].parsed_instruction_data.named_accounts['payer'] == '{A}'"
        f" && solana.tx.instructions[0].parsed_instruction_data.discriminator == '{ROUTE.hex()}'"
    )
]
R24 = [allow("tron.tx.contract[0].type == 'TransferContract' && tron.tx.contract[0].amount < 10000000")]
TRC20 = [
    allow(
        f"tron.tx.contract[0].contract_address == '{tronweb_address('b2')}'"
        " && tron.tx.contract[0].data[0..8] == 'A9059CBB'"
    )
]
R25 = [
    allow(f"bitcoin.tx.outputs.all(o, o.address == '{ScriptPubKey(THEIRS).address}')"),
    deny("bitcoin.tx.fee > 50000"),
]

CASES = [
    Case(19, R19, "A", SIGN, OK, resources=solana(pays(A)), note="one transfer to R"),
    Case(19, R19, "A", SIGN, IMPLICIT, resources=solana(pays(A), pays(A)), note="two"),
    Case(19, R19, "A", SIGN, IMPLICIT, resources=solana(pays(B)), note="to another"),
    Case(19, R19, "A", SIGN, IMPLICIT, resources=solana(MEMO), note="none"),
    Case(20, R20, "A", SIGN, OK, resources=solana(pays(A), pays(A)), note="only to R"),
    Case(20, R20, "A", SIGN, IMPLICIT, resources=solana(pays(A), pays(B)), note="to another as well"),
    Case(20, R20, "A", SIGN, OK, resources=solana(MEMO), note="none at all"),
    Case(21, R21, "A", SIGN, EXPLICIT, resources=LOOKED_UP, note="lookup table"),
    Case(21, R21, "A", SIGN, OK, resources=solana(pays(A)), note="no lookup table"),
    Case(22, R22, "A", SIGN, OK, resources=solana(checked(C), checked(C)), note="TransferChecked of M"),
    Case(22, R22, "A", SIGN, IMPLICIT, resources=solana(checked(D)), note="of another mint"),
    Case(22, R22, "A", SIGN, IMPLICIT, ERROR, resources=solana(plain()), note="plain Transfer"),
    Case(22, R22, "A", SIGN, IMPLICIT, resources=solana(checked(C), MEMO), note="memo as well"),
    Case(23, R23, "A", SIGN, OK, resources=solana(route(), interfaces=WITH_IDL), note="IDL"),
    Case(
        23,
        R23,
        "A",
        SIGN,
        IMPLICIT,
        resources=solana(Instruction(PROGRAM, bytes.fromhex("62a5c9b16c41ce60"), []), interfaces=WITH_IDL),
        note="another instruction",
    ),
    Case(23, R23, "A", SIGN, IMPLICIT, ERROR, resources=solana(route()), note="no IDL"),
    Case(23, R23, "A", SIGN, OK, resources=solana(route(), MEMO, interfaces=WITH_IDL), note="second program"),
    Case(
        23,
        R23,
        "A",
        SIGN,
        IMPLICIT,
        ERROR,
        resources=solana(Instruction(PROGRAM, ROUTE, read(A)), interfaces=WITH_IDL),
        note="data that does not fit",
    ),
    Case(23, ARGUMENTS, "A", SIGN, OK, resources=solana(route(5), interfaces=WITH_IDL), note="argument 5"),
    Case(23, ARGUMENTS, "A", SIGN, IMPLICIT, resources=solana(route(6), interfaces=WITH_IDL), note="argument 6"),
    Case(24, R24, "A", SIGN, OK, resources=tronweb("TransferContract"), note="9.999999 TRX"),
    Case(24, R24, "A", SIGN, OK, resources=tron(contract()), note="1 sun"),
    Case(24, R24, "A", SIGN, IMPLICIT, resources=tronweb("TriggerSmartContract"), note="TRC-20"),
    Case(24, TRC20, "A", SIGN, OK, resources=tronweb("TriggerSmartContract"), note="TRC-20 by its selector"),
    Case(24, TRC20, "A", SIGN, IMPLICIT, ERROR, resources=tronweb("TransferContract"), note="no contract call"),
    Case(25, R25, "A", SIGN, OK, resources=bitcoin(10_000, THEIRS, THEIRS), note="all to bc1…"),
    Case(25, R25, "A", SIGN, IMPLICIT, resources=bitcoin(10_000, THEIRS, MINE), note="change elsewhere"),
    Case(25, R25, "A", SIGN, EXPLICIT, resources=bitcoin(60_000, THEIRS), note="fee"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_example(case: Case) -> None:
    case.check()


def leaves(kind: Type, value: Any, path: str) -> Iterator[str]:
    """The paths at which a value stands. Fails for a struct that lacks a field or has another one, and for a value
    of another type."""
    if isinstance(value, Unreadable):
        yield from paths(kind, path)
        return
    assert fits(kind)(value), path
    match kind:
        case StructOf():
            assert kind.is_namespace or value.keys() == kind.fields.keys(), path
            for name, inner in value.items():
                yield from leaves(kind.fields[name], inner, f"{path}.{name}")
        case ListOf():
            for item in value:
                yield from leaves(kind.item, item, path)
        case _:
            yield path


def paths(kind: Type, path: str) -> Iterator[str]:
    match kind:
        case StructOf():
            for name, inner in kind.fields.items():
                yield from paths(inner, f"{path}.{name}")
        case ListOf():
            yield from paths(kind.item, path)
        case _:
            yield path


def test_every_field_that_policies_can_name_is_filled_and_no_other() -> None:
    signers = read(A, C, B, SIGNER.pubkey(), D)
    multisig = Instruction(TOKEN, b"\x0c" + bytes(8) + b"\x06", signers)
    seen = [
        solana(pays(A), route(), multisig, interfaces=WITH_IDL),
        LOOKED_UP,
        parse_solana(CONFIGS[3][1], of(SIGNER)).describe({}).keywords,
        bitcoin(1, THEIRS),
        *(tronweb(name) for name in WRITTEN if name != "WithdrawExpireUnfreezeContract"),
    ]
    chains = {chain: KEYWORDS[Clause.CONDITION][chain] for chain in ("solana", "bitcoin", "tron")}
    filled = {
        path for facts in seen for chain, value in facts.items() for path in leaves(chains[chain], value, chain)
    }
    assert filled == {path for chain, kind in chains.items() for path in paths(kind, chain)}
