"""Ethereum's transactions: legacy with and without a chain id, EIP-2930, 1559, 4844 and 7702.

Here: strict parsing of unsigned bytes, the keywords of policies, the signed bytes. Not here: calldata under an ABI
(`interfaces`). Layouts are those of the EIPs; the blob sidecar of EIP-4844 is never part of what is signed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from keystead.api.enums import Curve
from keystead.chains import transaction
from keystead.chains.contract_interfaces import ParsedInterface, RefusedInterface
from keystead.chains.ethereum import envelope, rlp
from keystead.chains.ethereum.envelope import authorization_facts, authorization_movement
from keystead.chains.ethereum.facts import ContractCall, EthereumTransaction
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES, ContractAbi, unreadable_call
from keystead.chains.ethereum.movements import call_movements, created_address, creation_movements
from keystead.chains.ethereum.rlp import Item
from keystead.chains.movements import NATIVE, NOBODY, Movement, MovementKind, fee_of, movement_facts
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

_UINT64, _UINT256 = envelope.integer(64), envelope.integer(256)
_CHAIN_ID = _GAS = envelope.positive(64)


def _before_the_fee_market(gas: envelope.ReadItem) -> envelope.Fields:
    return (
        ("nonce", envelope.nonce),
        ("gas_price", _UINT256),
        ("gas", gas),
        ("to", envelope.destination),
        ("value", _UINT256),
        ("data", envelope.data),
    )


_LEGACY: Final = _before_the_fee_market(_UINT64)
_EIP_2930: Final[envelope.Fields] = (
    ("chain_id", _CHAIN_ID),
    *_before_the_fee_market(_GAS),
    ("access_list", envelope.access_list),
)


def _fee_market(to: envelope.ReadItem) -> envelope.Fields:
    """The nine items of EIP-1559. The transactions of later EIPs begin with the same items."""
    return (
        ("chain_id", _CHAIN_ID),
        ("nonce", envelope.nonce),
        ("max_priority_fee_per_gas", _UINT256),
        ("max_fee_per_gas", _UINT256),
        ("gas", _GAS),
        ("to", to),
        ("value", _UINT256),
        ("data", envelope.data),
        ("access_list", envelope.access_list),
    )


_BLOB_HASH_VERSION = b"\x01"


def _versioned_hash(item: Item, name: str) -> bytes:
    """The hash of a blob's commitment (EIP-4844), the first byte of which is its version."""
    read: bytes = envelope.octets(32)(item, name)
    if read[:1] != _BLOB_HASH_VERSION:
        raise transaction.unparsable(
            f"`{name}`: a versioned hash begins with 01, the only version, not with {read[:1].hex()}"
        )
    return read


_EIP_1559: Final = _fee_market(envelope.destination)
_EIP_4844: Final[envelope.Fields] = (
    *_fee_market(envelope.address),
    ("max_fee_per_blob_gas", _UINT256),
    ("blob_versioned_hashes", envelope.filled(envelope.list_of(_versioned_hash))),
)
_AUTHORIZATION: Final = envelope.record(
    chain_id=_UINT256,
    address=envelope.address,
    nonce=_UINT64,
    y_parity=envelope.integer(8),
    r=_UINT256,
    s=_UINT256,
)
_EIP_7702: Final[envelope.Fields] = (
    *_fee_market(envelope.address),
    ("authorization_list", envelope.filled(envelope.list_of(_AUTHORIZATION))),
)

BLOB_GAS: Final = 131_072
"""The gas of a blob (EIP-4844)."""

_TYPED: Final[Mapping[int, tuple[str, envelope.Fields]]] = {
    1: ("TYPE_1", _EIP_2930),
    2: ("TYPE_2", _EIP_1559),
    3: ("TYPE_3", _EIP_4844),
    4: ("TYPE_4", _EIP_7702),
}
_FIRST_LIST_BYTE = 0xC0


class _ParsedTransaction(msgspec.Struct, frozen=True):
    """The items of a transaction, and the values of its fields by name.

    `kind`: the first byte of a typed transaction; None for a legacy one. `name`: the type as policies see it.
    """

    kind: int | None
    name: str
    items: Sequence[Item]
    fields: Mapping[str, Any]


def parse_ethereum(unsigned: bytes, party: transaction.Party) -> transaction.UnsignedTransaction:
    """Read an unsigned transaction. Raises InvalidRequest: `failed to parse transaction`, or the wrong curve."""
    transaction.require_curve(party, Curve.SECP256K1, "Ethereum")
    parsed = _read(unsigned)
    view = _view(parsed, envelope.sender(party))
    return transaction.UnsignedTransaction(
        scheme=SignatureScheme.ECDSA,
        messages=(keccak256(unsigned),),
        movements=view.movements,
        contracts=view.contracts,
        describe=view.describe,
        assemble=partial(_assemble, parsed),
        valid_on_every_chain=view.valid_on_every_chain,
    )


def view_ethereum(unsigned: bytes, sender: str) -> transaction.TransactionView:
    """What an unsigned transaction of this sender says. Raises InvalidRequest as `parse_ethereum` does."""
    return _view(_read(unsigned), sender.lower())


def _view(parsed: _ParsedTransaction, sender: str) -> transaction.TransactionView:
    to = envelope.address_text(parsed.fields["to"])
    calls = bool(to) and len(parsed.fields["data"]) >= SELECTOR_BYTES
    movements = _movements(parsed.fields, sender, to)
    return transaction.TransactionView(
        movements=movements,
        contracts=(to,) if calls else (),
        describe=partial(_describe, parsed, sender, movements),
        valid_on_every_chain="chain_id" not in parsed.fields,
    )


def _movements(fields: Mapping[str, Any], sender: str, to: str) -> Sequence[Movement]:
    authorizations = fields.get("authorization_list", ())
    return (
        *(
            call_movements(to, sender, fields["value"], fields["data"])
            if to
            else creation_movements(created_address(sender, fields["nonce"]), sender, fields["value"])
        ),
        *(authorization_movement(envelope.address_text(each["address"])) for each in authorizations),
        Movement(
            kind=MovementKind.FEE,
            name="gas",
            asset=NATIVE,
            from_=sender,
            to=NOBODY,
            amount=fields["gas"] * _gas_price(fields)
            + BLOB_GAS * len(fields.get("blob_versioned_hashes", ())) * fields.get("max_fee_per_blob_gas", 0),
        ),
    )


def _gas_price(fields: Mapping[str, Any]) -> int:
    return int(fields["gas_price"] if "gas_price" in fields else fields["max_fee_per_gas"])


def _read(unsigned: bytes) -> _ParsedTransaction:
    if not unsigned:
        raise transaction.unparsable("the transaction is empty")
    return _read_legacy(unsigned) if unsigned[0] >= _FIRST_LIST_BYTE else _read_typed(unsigned)


def _read_legacy(unsigned: bytes) -> _ParsedTransaction:
    items = envelope.read_list(unsigned, "a legacy Ethereum transaction")
    chain: dict[str, int] = {}
    match items:
        case [*_] if len(items) == len(_LEGACY):
            pass
        case [*_, chain_id, b"", b""] if len(items) == len(_LEGACY) + 3:
            chain["chain_id"] = _UINT64(chain_id, "chain_id")
            if chain["chain_id"] == 0:
                raise transaction.unparsable(
                    "`chain_id`: it is zero; a transaction that is valid on every chain has 6 items and no chain id"
                )
        case _:
            raise transaction.unparsable(
                f"a legacy Ethereum transaction of {len(items)} items; before it is signed, it has 6, or 9 with a "
                "chain id and two empty strings at the end (EIP-155)"
            )
    fields = envelope.read_fields(items[: len(_LEGACY)], _LEGACY)
    return _ParsedTransaction(None, "LEGACY", items[: len(_LEGACY)], fields | chain)


def _read_typed(unsigned: bytes) -> _ParsedTransaction:
    kind = unsigned[0]
    if kind not in _TYPED:
        raise transaction.unparsable(
            f"Ethereum transaction type 0x{kind:02x}; supported are legacy and 0x01 to 0x04"
        )
    name, fields = _TYPED[kind]
    items = envelope.read_list(unsigned[1:], f"an Ethereum transaction of type 0x{kind:02x}")
    if len(items) != len(fields):
        signed = " (leave its signature out)" if len(items) == len(fields) + 3 else ""
        raise transaction.unparsable(
            f"an Ethereum transaction of type 0x{kind:02x} has {len(fields)} items before it is signed, "
            f"not {len(items)}{signed}: {', '.join(name for name, _ in fields)}"
        )
    return _ParsedTransaction(kind, name, items, envelope.read_fields(items, fields))


def _describe(
    parsed: _ParsedTransaction,
    sender: str,
    movements: Sequence[Movement],
    interfaces: Mapping[str, ParsedInterface],
) -> transaction.Description:
    fields = parsed.fields
    call = _call(envelope.address_text(fields["to"]), fields["data"], interfaces)
    tx: EthereumTransaction = {
        "from": sender,
        "to": envelope.recipient(fields["to"]),
        "data": envelope.hex_text(fields["data"]),
        "value": fields["value"],
        "gas": fields["gas"],
        "gas_price": _gas_price(fields),
        "chain_id": fields.get("chain_id", _VALID_ON_EVERY_CHAIN),
        "nonce": fields["nonce"],
        "max_fee_per_gas": fields.get("max_fee_per_gas", _NOT_OF_THIS_TYPE),
        "max_priority_fee_per_gas": fields.get("max_priority_fee_per_gas", _NOT_OF_THIS_TYPE),
        "max_fee_per_blob_gas": fields.get("max_fee_per_blob_gas", _NOT_OF_THIS_TYPE),
        "type": parsed.name,
        **call,
        "authorization_list": [
            authorization_facts(envelope.address_text(each["address"]), each["chain_id"], each["nonce"])
            for each in fields.get("authorization_list", ())
        ],
        "fee": fee_of(movements),
        "movements": movement_facts(movements),
    }
    return transaction.Description({"eth": {"tx": tx}})


_VALID_ON_EVERY_CHAIN: Final = Unreadable("the transaction names no chain, and is valid on every chain")
_NOT_OF_THIS_TYPE: Final = Unreadable("transactions of this type do not have it")


def _call(to: str, calldata: bytes, interfaces: Mapping[str, ParsedInterface]) -> ContractCall:
    """The function that the calldata calls, by the uploaded interface of the recipient."""
    abi = interfaces.get(to)
    if not to:
        return unreadable_call("a transaction that creates a contract calls no function")
    if len(calldata) < SELECTOR_BYTES:
        return unreadable_call("the transaction calls no function")
    if isinstance(abi, RefusedInterface):
        return unreadable_call(f"the interface of {to} on record is not understood: {abi.why}")
    if not isinstance(abi, ContractAbi):
        return unreadable_call(f"no interface of {to} is uploaded")
    return abi.call(calldata)


def _assemble(parsed: _ParsedTransaction, signatures: Sequence[Signature]) -> bytes:
    (signature,) = signatures
    if parsed.kind is None:
        chain_id = parsed.fields.get("chain_id")
        v = 27 + signature.v if chain_id is None else 35 + 2 * chain_id + signature.v
    else:
        v = signature.v
    signed = [rlp.integer(v), rlp.integer(int.from_bytes(signature.r)), rlp.integer(int.from_bytes(signature.s))]
    payload = rlp.encode([*parsed.items, *signed])
    return payload if parsed.kind is None else bytes([parsed.kind]) + payload
