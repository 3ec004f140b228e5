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
from keystead.chains.contract_interfaces import ParsedInterface, RefusedInterface
from keystead.chains.ethereum import envelope, rlp
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES, ContractAbi
from keystead.chains.ethereum.rlp import Item
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.transaction import (
    Description,
    Party,
    TransactionView,
    UnsignedTransaction,
    require_curve,
    unparsable,
)
from keystead.primitives.keccak import keccak256

_UINT64, _UINT256 = envelope.integer(64), envelope.integer(256)

_LEGACY: Final[envelope.Fields] = (
    ("nonce", _UINT64),
    ("gas_price", _UINT256),
    ("gas", _UINT64),
    ("to", envelope.destination),
    ("value", _UINT256),
    ("data", envelope.data),
)
_EIP_2930: Final[envelope.Fields] = (("chain_id", _UINT64), *_LEGACY, ("access_list", envelope.access_list))


def _fee_market(to: envelope.ReadItem) -> envelope.Fields:
    """The nine items of EIP-1559. The transactions of later EIPs begin with the same items."""
    return (
        ("chain_id", _UINT64),
        ("nonce", _UINT64),
        ("max_priority_fee_per_gas", _UINT256),
        ("max_fee_per_gas", _UINT256),
        ("gas", _UINT64),
        ("to", to),
        ("value", _UINT256),
        ("data", envelope.data),
        ("access_list", envelope.access_list),
    )


_EIP_1559: Final = _fee_market(envelope.destination)
_EIP_4844: Final[envelope.Fields] = (
    *_fee_market(envelope.address),
    ("max_fee_per_blob_gas", _UINT256),
    ("blob_versioned_hashes", envelope.list_of(envelope.octets(32))),
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
    ("authorization_list", envelope.list_of(_AUTHORIZATION)),
)

FIELDS_OF_SOME_KINDS: Final = frozenset({"max_fee_per_gas", "max_priority_fee_per_gas", "max_fee_per_blob_gas"})
"""Keywords of eth.tx that transactions of older kinds do not have."""

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


def parse_ethereum(unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read an unsigned transaction. Raises InvalidRequest: `failed to parse transaction`, or the wrong curve."""
    require_curve(party, Curve.SECP256K1, "Ethereum")
    parsed = _read(unsigned)
    view = _view(parsed, envelope.sender(party))
    return UnsignedTransaction(
        scheme=SignatureScheme.ECDSA,
        messages=(keccak256(unsigned),),
        contracts=view.contracts,
        describe=view.describe,
        assemble=partial(_assemble, parsed),
        valid_on_every_chain=view.valid_on_every_chain,
    )


def view_ethereum(unsigned: bytes, sender: str) -> TransactionView:
    """What an unsigned transaction of this sender says. Raises InvalidRequest as `parse_ethereum` does."""
    return _view(_read(unsigned), sender)


def _view(parsed: _ParsedTransaction, sender: str) -> TransactionView:
    to = envelope.address_text(parsed.fields["to"])
    calls = bool(to) and len(parsed.fields["data"]) >= SELECTOR_BYTES
    return TransactionView(
        contracts=(to,) if calls else (),
        describe=partial(_describe, parsed, sender),
        valid_on_every_chain="chain_id" not in parsed.fields,
        unseen=tuple(
            _authorization_text(authorization["address"], authorization["chain_id"])
            for authorization in parsed.fields.get("authorization_list", ())
        ),
    )


def _authorization_text(address: bytes, chain_id: int) -> str:
    chain = f"chain {chain_id}" if chain_id else "every chain"
    return (
        f"it carries an authorization (EIP-7702), which gives the account that signed it the code of "
        f"{envelope.address_text(address)}, on {chain}"
    )


def _read(unsigned: bytes) -> _ParsedTransaction:
    if not unsigned:
        raise unparsable("the transaction is empty")
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
                raise unparsable(
                    "`chain_id`: it is zero; a transaction that is valid on every chain has 6 items and no chain id"
                )
        case _:
            raise unparsable(
                f"a legacy Ethereum transaction of {len(items)} items; before it is signed, it has 6, or 9 with a "
                "chain id and two empty strings at the end (EIP-155)"
            )
    fields = envelope.read_fields(items[: len(_LEGACY)], _LEGACY)
    return _ParsedTransaction(None, "LEGACY", items[: len(_LEGACY)], fields | chain)


def _read_typed(unsigned: bytes) -> _ParsedTransaction:
    kind = unsigned[0]
    if kind not in _TYPED:
        raise unparsable(f"Ethereum transaction type 0x{kind:02x}; supported are legacy and 0x01 to 0x04")
    name, fields = _TYPED[kind]
    items = envelope.read_list(unsigned[1:], f"an Ethereum transaction of type 0x{kind:02x}")
    if len(items) != len(fields):
        signed = " (leave its signature out)" if len(items) == len(fields) + 3 else ""
        raise unparsable(
            f"an Ethereum transaction of type 0x{kind:02x} has {len(fields)} items before it is signed, "
            f"not {len(items)}{signed}: {', '.join(name for name, _ in fields)}"
        )
    return _ParsedTransaction(kind, name, items, envelope.read_fields(items, fields))


def _describe(parsed: _ParsedTransaction, sender: str, interfaces: Mapping[str, ParsedInterface]) -> Description:
    """The documented fields of eth.tx; fields that this kind of transaction does not have are absent."""
    fields = parsed.fields
    numbers = ("value", "gas", "chain_id", "nonce", "max_fee_per_gas", "max_priority_fee_per_gas")
    tx = {name: fields[name] for name in (*numbers, "max_fee_per_blob_gas") if name in fields}
    to = envelope.address_text(fields["to"])
    tx |= {
        "type": parsed.name,
        "from": sender,
        "to": to,
        "data": envelope.hex_text(fields["data"]),
        "gas_price": fields["gas_price"] if "gas_price" in fields else fields["max_fee_per_gas"],
    }
    abi = interfaces.get(to)
    if isinstance(abi, RefusedInterface):
        return Description({"eth": {"tx": tx}}, f"the interface of {to} on record is not understood: {abi.why}")
    if not isinstance(abi, ContractAbi):
        return Description({"eth": {"tx": tx}})
    call = abi.call(fields["data"])
    if call is None:
        return Description({"eth": {"tx": tx}}, f"the call to {to} does not fit the uploaded interface")
    return Description({"eth": {"tx": {**tx, **call}}})


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
