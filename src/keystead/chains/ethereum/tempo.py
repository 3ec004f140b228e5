"""Tempo's transactions (type 0x76): several calls at once, fees in a token, an optional fee payer.

Here: strict parsing of the bytes that the sender signs, the keywords of policies, the signed bytes. Not here: the
fee payer's own signature. Authorizations and access keys, which policies cannot see, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from keystead.api.enums import Curve
from keystead.chains import transaction
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.chains.ethereum import envelope, rlp
from keystead.chains.ethereum.facts import TempoTransaction
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES
from keystead.chains.ethereum.movements import call_movements, creation_movements
from keystead.chains.ethereum.rlp import Item
from keystead.chains.movements import NOBODY, Movement, MovementKind, fee_of, movement_facts
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

TYPE_BYTE: Final = 0x76

_UINT64, _UINT256 = envelope.integer(64), envelope.integer(256)


def _fee_payer(item: Item, name: str) -> bool:
    """Whether another account pays the fee: then the sender signs a zero byte in this field, otherwise no bytes."""
    if item not in (b"", b"\0"):
        raise transaction.unparsable(f"`{name}`: before the sender has signed, it is empty or 00")
    return item == b"\0"


def _nothing(item: Item, name: str) -> None:
    if item != []:
        raise transaction.unparsable(f"`{name}`: only an empty list is supported")


_CALL: Final = envelope.record(to=envelope.destination, value=_UINT256, input=envelope.data)
_FIELDS: Final[envelope.Fields] = (
    ("chain_id", envelope.positive(64)),
    ("max_priority_fee_per_gas", _UINT256),
    ("max_fee_per_gas", _UINT256),
    ("gas_limit", envelope.positive(64)),
    ("calls", envelope.filled(envelope.list_of(_CALL))),
    ("access_list", envelope.access_list),
    ("nonce_key", _UINT256),
    ("nonce", _UINT64),
    ("valid_before", _UINT64),
    ("valid_after", _UINT64),
    ("fee_token", envelope.destination),
    ("fee_payer_signature", _fee_payer),
    ("authorization_list", _nothing),
)


def parse_tempo(unsigned: bytes, party: transaction.Party) -> transaction.UnsignedTransaction:
    """Read an unsigned transaction. Raises InvalidRequest: `failed to parse transaction`, or the wrong curve."""
    transaction.require_curve(party, Curve.SECP256K1, "Tempo")
    items = _items(unsigned)
    view = _view(items, envelope.sender(party))
    return transaction.UnsignedTransaction(
        scheme=SignatureScheme.ECDSA,
        messages=(keccak256(unsigned),),
        movements=view.movements,
        describe=view.describe,
        assemble=partial(_assemble, items),
    )


def view_tempo(unsigned: bytes, sender: str) -> transaction.TransactionView:
    """What an unsigned transaction of this sender says. Raises InvalidRequest as `parse_tempo` does."""
    return _view(_items(unsigned), sender.lower())


def _items(unsigned: bytes) -> list[Item]:
    if unsigned[:1] != bytes([TYPE_BYTE]):
        raise transaction.unparsable("a Tempo transaction begins with the byte 0x76")
    items = envelope.read_list(unsigned[1:], "a Tempo transaction")
    if len(items) != len(_FIELDS):
        raise transaction.unparsable(
            f"a Tempo transaction has {len(_FIELDS)} items before it is signed, not {len(items)}: "
            f"{', '.join(name for name, _ in _FIELDS)}"
        )
    return items


def _view(items: Sequence[Item], sender: str) -> transaction.TransactionView:
    fields = envelope.read_fields(items, _FIELDS)
    if 0 < fields["valid_before"] <= fields["valid_after"]:
        raise transaction.unparsable(
            "`valid_before`: it is not after `valid_after`, and no node takes such a transaction"
        )
    movements = (
        *(movement for call in fields["calls"] for movement in _call_movements(call, sender)),
        _fee(fields, sender),
    )
    return transaction.TransactionView(movements=movements, describe=partial(_describe, fields, sender, movements))


_NEW_CONTRACT: Final = Unreadable("the contract that the call creates")
_OF_THE_NETWORK: Final = Unreadable("contracts of the network take tokens without an allowance")


def _call_movements(call: Mapping[str, Any], sender: str) -> Sequence[Movement]:
    if not call["to"]:
        return creation_movements(_NEW_CONTRACT, sender, call["value"])
    return [
        replace(movement, asset=_OF_THE_NETWORK) if movement.kind is MovementKind.UNKNOWN else movement
        for movement in call_movements(envelope.hex_text(call["to"]), sender, call["value"], call["input"])
    ]


def _fee(fields: Mapping[str, Any], sender: str) -> Movement:
    """The most that the network takes, in units of the fee token. They are 10^-6 dollars; prices are in 10^-18."""
    return Movement(
        kind=MovementKind.FEE,
        name="gas",
        asset=_fee_token(fields["fee_token"]),
        from_=Unreadable("the account that pays the fee") if fields["fee_payer_signature"] else sender,
        to=NOBODY,
        amount=-(-fields["gas_limit"] * fields["max_fee_per_gas"] // 10**12),
    )


def _describe(
    fields: Mapping[str, Any], sender: str, movements: Sequence[Movement], _: Mapping[str, ParsedInterface]
) -> transaction.Description:
    tx: TempoTransaction = {
        "chain_id": fields["chain_id"],
        "nonce": fields["nonce"],
        "gas_limit": fields["gas_limit"],
        "max_fee_per_gas": fields["max_fee_per_gas"],
        "max_priority_fee_per_gas": fields["max_priority_fee_per_gas"],
        "valid_before": fields["valid_before"] or _NO_BOUND,
        "valid_after": fields["valid_after"] or _NO_BOUND,
        "from": sender,
        "fee_token": _fee_token(fields["fee_token"]),
        "calls": [
            {
                "to": envelope.recipient(call["to"]),
                "input": envelope.hex_text(call["input"]),
                "function_signature": _selector(call["input"]),
            }
            for call in fields["calls"]
        ],
        "fee": fee_of(movements),
        "movements": movement_facts(movements),
    }
    return transaction.Description({"tempo": {"tx": tx}})


_NO_BOUND: Final = Unreadable("the transaction sets no such time", literal=0)
_CHOSEN_BY_THE_NETWORK: Final = Unreadable("the transaction names no token, so the network chooses it", literal="")
_NO_SELECTOR: Final = Unreadable("the input is shorter than a selector", literal="")


def _fee_token(token: bytes) -> str | Unreadable:
    return envelope.hex_text(token) if token else _CHOSEN_BY_THE_NETWORK


def _selector(data: bytes) -> str | Unreadable:
    return envelope.hex_text(data[:SELECTOR_BYTES]) if len(data) >= SELECTOR_BYTES else _NO_SELECTOR


def _assemble(items: Sequence[Item], signatures: Sequence[Signature]) -> bytes:
    (signature,) = signatures
    signed = signature.r + signature.s + bytes([27 + signature.v])
    return bytes([TYPE_BYTE]) + rlp.encode([*items, signed])
