"""Random transactions of each chain with parts removed, each with the truth: what those parts really are.

Removed are a token's mint, keys that go into a lookup table, an uploaded interface, bytes of a call, members of a
domain or a message, and fields that a transaction may leave out. The transactions are read by their parsers. What
nobody can know is anything in the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from btclib.tx.tx_out import TxOut
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from keystead.policies.language.namespaces import KEYWORDS, Clause
from keystead.policies.language.types import ListOf, MapOf, Scalar, StructOf, Type
from keystead.primitives.unreadable import Unreadable
from tests.chains.bitcoin.psbts import OTHER_KEY, key_of, script_for
from tests.chains.ethereum import test_ethereum as ethereum_examples
from tests.chains.ethereum.test_ethereum import AUTHORIZATION, BLOB, EIP_2930, LEGACY, MARKET_1559, changed, typed
from tests.chains.solana.movers import token
from tests.chains.solana.test_solana import PROGRAM, SIGNER, TABLE, legacy, wire
from tests.chains.tron.test_tron import WRITTEN
from tests.support.partial_transactions import (
    DOMAIN,
    IDL,
    TRANSFER_ABI,
    authorization,
    bitcoin,
    calling,
    ethereum,
    partial_transactions,
    permit,
    route,
    solana,
    tempo,
    transfer_call,
    tron,
    typed_data,
)

Keywords = Mapping[str, Any]
KEYS: Final = [Pubkey(bytes([number]) * 32) for number in range(0xA0, 0xA8)]
TEXTS: Final = [*map(str, KEYS), "0x" + "ab" * 20, "0x" + "cd" * 20, "approve", "Token", "v"]


@dataclass
class Removal:
    """`seen`: the keywords that policies see. `truth`: the same with everything known."""

    seen: Keywords
    truth: Keywords


def random_removal(chance: Random) -> Removal:
    seen, whole = chance.choice(list(_CHAINS))(chance)
    types = KEYWORDS[Clause.CONDITION]
    truth = {
        chain: _completed(types[chain], _filled(facts, whole.get(chain)), chance) for chain, facts in seen.items()
    }
    return Removal(seen, truth)


def _filled(seen: Any, whole: Any) -> Any:
    """What is seen, with what the whole transaction has in the place of everything unreadable or left out."""
    if isinstance(seen, Unreadable):
        return seen if whole is None else whole
    if isinstance(seen, Mapping) and isinstance(whole, Mapping):
        filled = {name: _filled(value, whole.get(name)) for name, value in seen.items()}
        return {**{name: value for name, value in whole.items() if name not in seen}, **filled}
    if isinstance(seen, list) and isinstance(whole, list) and len(seen) == len(whole):
        return [_filled(one, other) for one, other in zip(seen, whole, strict=True)]
    return seen


def _completed(kind: Type, value: Any, chance: Random) -> Any:
    """The value, with anything of its type in the place of everything that is still unreadable."""
    match kind:
        case StructOf(fields=fields):
            if isinstance(value, Unreadable):
                value = dict.fromkeys(fields, value)
            return {name: _completed(fields[name], inner, chance) for name, inner in value.items()}
        case ListOf(item=item):
            items = [value] * chance.randrange(3) if isinstance(value, Unreadable) else value
            return [_completed(item, inner, chance) for inner in items]
        case MapOf(value=of):
            members = dict.fromkeys(("amount", "to", "limit"), value) if isinstance(value, Unreadable) else value
            return {name: _completed(of, inner, chance) for name, inner in members.items()}
        case Scalar.DYNAMIC if isinstance(value, list):
            return [_completed(kind, inner, chance) for inner in value]
        case Scalar.DYNAMIC if isinstance(value, Mapping):
            return {name: _completed(kind, inner, chance) for name, inner in value.items()}
        case _:
            return _anything(kind, chance) if isinstance(value, Unreadable) else value


def _anything(kind: Type, chance: Random) -> Any:
    number, text = chance.choice([1, 2, 5, 7, 77, 10**18]), chance.choice(TEXTS)
    match kind:
        case Scalar.BOOL:
            return chance.random() < 0.5
        case Scalar.INT | Scalar.NUMERAL:
            return number
        case Scalar.DYNAMIC:
            return chance.choice([number, text, True, [number]])
        case _:
            return text


# Each chain: what policies see of a transaction with parts removed, and what they see of the whole


def _ethereum(chance: Random) -> tuple[Keywords, Keywords]:
    data = transfer_call(chance.choice(TEXTS[-5:-3]), chance.choice([1, 5, 7, 10**18]))
    whole = ethereum(calling(data), TRANSFER_ABI)
    cut = data[: chance.randrange(4, len(data))]
    match chance.randrange(6):
        case 0:
            return ethereum(calling(data)), whole
        case 1:
            return ethereum(calling(cut), TRANSFER_ABI), whole
        case 2:
            return ethereum(calling(data), TRANSFER_ABI), whole
        case 3:
            made = chance.choice([ethereum_examples.legacy(LEGACY), typed(1, EIP_2930), typed(3, BLOB)])
            return ethereum(made), ethereum(typed(3, BLOB))
        case 4:
            return ethereum(typed(2, changed(MARKET_1559, 5, b""))), whole
        case _:
            chain_id = chance.choice([b"", b"\1"])
            authorized = [*MARKET_1559, [changed(AUTHORIZATION, 0, chain_id)]]
            return ethereum(typed(4, authorized)), ethereum(typed(4, [*MARKET_1559, [AUTHORIZATION]]))


def _typed_data(chance: Random) -> tuple[Keywords, Keywords]:
    domain = {name: value for name, value in DOMAIN.items() if chance.random() < 0.6}
    if chance.random() < 0.3:
        return authorization(0), authorization(chance.choice([1, 5, 7]))
    if chance.random() < 0.4:
        return permit(domain), permit(DOMAIN)
    whole = typed_data(DOMAIN, {"amount": chance.choice([1, 5, 7])})
    return typed_data(domain, {"amount": whole["eth"]["eip_712"]["message"]["amount"]}), {
        "eth": {"eip_712": {**whole["eth"]["eip_712"], "message": {"amount": 5, "to": TEXTS[-4], "limit": 7}}}
    }


def _tempo(chance: Random) -> tuple[Keywords, Keywords]:
    to = ethereum_examples.TO
    whole = [(4, [[to, b"\5", transfer_call()]]), (8, b"\x7f"), (9, b"\1"), (10, to)]
    left_out = [(8, b""), (9, b""), (10, b""), (4, [[chance.choice([b"", to]), b"\5", b"\1"]])]
    removed = chance.sample(left_out, chance.randrange(len(left_out) + 1))
    return tempo(*whole, *removed), tempo(*whole)


def _solana(chance: Random) -> tuple[Keywords, Keywords]:
    """The whole transaction names the mint of each transfer and has every key."""
    seen, whole = [], []
    for _ in range(chance.randrange(1, 4)):
        one, other = _instruction(chance)
        seen.append(one)
        whole.append(other)
    idl = chance.choice([None, OTHER_IDL, *[IDL] * 3])
    table = AddressLookupTableAccount(TABLE.pubkey(), chance.sample(KEYS, chance.randrange(len(KEYS) + 1)))
    message = MessageV0.try_compile(SIGNER.pubkey(), seen, [table], Hash(b"\x07" * 32))
    truth = solana(legacy(*whole), IDL)["solana"]["tx"]
    looked_up = [
        str(table.addresses[index])
        for indexes in ("writable_indexes", "readonly_indexes")
        for lookup in message.address_table_lookups
        for index in getattr(lookup, indexes)
    ]
    keys = [*map(str, message.account_keys), *looked_up]
    return solana(wire(message), idl), {"solana": {"tx": {**truth, "account_keys": keys}}}


def _instruction(chance: Random) -> tuple[Instruction, Instruction]:
    """An instruction with parts removed, and the whole one."""
    amount, (one, other, mint) = chance.choice([1, 5, 7]), chance.sample(KEYS, 3)
    match chance.randrange(5):
        case 0:
            params = TransferParams(from_pubkey=SIGNER.pubkey(), to_pubkey=one, lamports=amount)
            return (transfer(params),) * 2
        case 1 | 2:
            size = amount.to_bytes(8, "little")
            plain = token(b"\x03" + size, one, other, SIGNER.pubkey())
            whole = token(b"\x0c" + size + b"\x06", one, mint, other, SIGNER.pubkey())
            return chance.choice([plain, whole]), whole
        case _:
            whole = route(amount, chance.choice([1, 5]), 1, 2)
            limit = chance.choice([None, 5])
            seen = chance.choice([whole, route(amount, limit, 1, None), route(amount, limit)])
            if chance.random() < 0.3:
                seen = Instruction(PROGRAM, seen.data[: chance.randrange(1, len(seen.data))], seen.accounts)
            if chance.random() < 0.2:
                seen = Instruction(PROGRAM, b"\xff" + seen.data, seen.accounts)
            return seen, whole


def _bitcoin(chance: Random) -> tuple[Keywords, Keywords]:
    outputs = [chance.choice([TxOut(5, "6a0568656c6c6f"), TxOut(7, PAID), TxOut(1, PAID)]) for _ in range(3)]
    seen = bitcoin(*outputs[: chance.randrange(1, 4)], foreign=chance.choice(["", "", "P2WPKH", "P2TR"]))
    return seen, {}


def _tron(chance: Random) -> tuple[Keywords, Keywords]:
    names = [name for name in WRITTEN if name != "WithdrawExpireUnfreezeContract"]
    return tron(chance.choice(names)), tron("AccountPermissionUpdateContract with witness")


def _as_listed(chance: Random) -> tuple[Keywords, Keywords]:
    """Any of the transactions that together lack every part."""
    return chance.choice(list(_LISTED.values())), {}


PAID: Final = script_for("P2WPKH", key_of(OTHER_KEY))
_LISTED: Final = partial_transactions()
OTHER_IDL: Final = json.dumps({"instructions": [{"name": "route", "accounts": [], "args": []}], "types": []})
_CHAINS: Final[tuple[Callable[[Random], tuple[Keywords, Keywords]], ...]] = (
    _ethereum,
    _typed_data,
    _tempo,
    _solana,
    _solana,
    _bitcoin,
    _tron,
    _as_listed,
)
