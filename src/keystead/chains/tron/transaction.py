"""Tron transactions: the `raw_data` of one contract, signed by the SHA-256 of its bytes.

Here: which contracts are signed, what policies see of each. Not here: their fields on the wire (`messages`);
whether the paying account permits this key to sign, which the chain decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from keystead.api.enums import Curve
from keystead.chains.addresses.text import base58check
from keystead.chains.movements import movement_keywords
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.transaction import (
    Description,
    Party,
    TransactionView,
    UnsignedTransaction,
    require_curve,
    unparsable,
)
from keystead.chains.tron.messages import MessageFields, read, signed_transaction
from keystead.chains.tron.movements import contract_movements, fee_movement

RAW_DATA_BYTES_MAX: Final = 65_536
"""The most bytes of `raw_data`. A node accepts 500 KiB, but only deployments of contracts need that, and they are
not signed here."""

_CONTRACT_TYPES: Final = {
    1: "TransferContract",
    31: "TriggerSmartContract",
    46: "AccountPermissionUpdateContract",
    54: "FreezeBalanceV2Contract",
    55: "UnfreezeBalanceV2Contract",
    57: "DelegateResourceContract",
    58: "UnDelegateResourceContract",
}
_RESOURCES: Final = ("BANDWIDTH", "ENERGY", "TRON_POWER")
_PERMISSION_TYPES: Final = ("Owner", "Witness", "Active")


def parse_tron(unsigned: bytes, party: Party) -> UnsignedTransaction:
    """Read a `raw_data`. Raises InvalidRequest unless it is canonical and holds one contract of a known type."""
    require_curve(party, Curve.SECP256K1, "Tron")
    view = view_tron(unsigned)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        (signature,) = signatures
        return signed_transaction(unsigned, signature.r + signature.s + bytes([signature.v]))

    return UnsignedTransaction(
        scheme=SignatureScheme.ECDSA,
        messages=(hashlib.sha256(unsigned).digest(),),
        movements=view.movements,
        describe=view.describe,
        assemble=assemble,
    )


def view_tron(unsigned: bytes) -> TransactionView:
    """What a `raw_data` says. Raises InvalidRequest as `parse_tron` does."""
    if len(unsigned) > RAW_DATA_BYTES_MAX:
        raise unparsable(f"it has {len(unsigned)} bytes; a Tron transaction has at most {RAW_DATA_BYTES_MAX}")
    raw = read("raw", unsigned)
    if len(raw["contract"]) != 1:
        raise unparsable(f"it has {len(raw['contract'])} contracts; a Tron transaction has exactly one")
    contract = _contract(raw["contract"][0])
    movements = (*contract_movements(contract), fee_movement(contract["owner_address"], raw["fee_limit"]))
    keywords = {
        "tron": {
            "tx": {
                "ref_block_bytes": raw["ref_block_bytes"].hex(),
                "ref_block_hash": raw["ref_block_hash"].hex(),
                "expiration": raw["expiration"],
                "timestamp": raw["timestamp"],
                "fee_limit": raw["fee_limit"],
                "data": raw["data"].hex(),
                "contract": [contract],
                "movements": movement_keywords(movements),
            }
        }
    }
    return TransactionView(movements=movements, describe=lambda _: Description(keywords))


def _contract(contract: MessageFields) -> dict[str, Any]:
    kind = _CONTRACT_TYPES.get(contract["type"])
    if kind is None:
        expected = ", ".join(_CONTRACT_TYPES.values())
        raise unparsable(f"contract type {contract['type']} is not supported; expected one of {expected}")
    if contract["parameter"] is None:
        raise unparsable(f"the {kind} has no parameter")
    # Nodes read the type, other programs the URL: both must name the same contract.
    if contract["parameter"]["type_url"] != f"type.googleapis.com/protocol.{kind}":
        raise unparsable(f"the parameter of the {kind} is of type {contract['parameter']['type_url'][:100]!r}")
    parameter = read(kind, contract["parameter"]["value"])
    return {
        "type": kind,
        "permission_id": contract["permission_id"],
        "owner_address": _address(parameter["owner_address"]),
        **_CONTRACTS[kind](parameter),
    }


def _transfer(parameter: MessageFields) -> dict[str, Any]:
    return {"to_address": _address(parameter["to_address"]), "amount": parameter["amount"]}


def _trigger(parameter: MessageFields) -> dict[str, Any]:
    return {
        "contract_address": _address(parameter["contract_address"]),
        "call_value": parameter["call_value"],
        "data": parameter["data"].hex(),
        "call_token_value": parameter["call_token_value"],
        "token_id": parameter["token_id"],
    }


def _freeze(parameter: MessageFields) -> dict[str, Any]:
    return {"frozen_balance": parameter["frozen_balance"], "resource": _resource(parameter)}


def _unfreeze(parameter: MessageFields) -> dict[str, Any]:
    return {"unfreeze_balance": parameter["unfreeze_balance"], "resource": _resource(parameter)}


def _undelegate(parameter: MessageFields) -> dict[str, Any]:
    return {
        "resource": _resource(parameter),
        "balance": parameter["balance"],
        "receiver_address": _address(parameter["receiver_address"]),
    }


def _delegate(parameter: MessageFields) -> dict[str, Any]:
    return {**_undelegate(parameter), "lock": parameter["lock"], "lock_period": parameter["lock_period"]}


def _permissions(parameter: MessageFields) -> dict[str, Any]:
    return {
        **{part: _permission(parameter[part]) for part in ("owner", "witness") if parameter[part] is not None},
        "actives": [_permission(active) for active in parameter["actives"]],
    }


def _permission(permission: MessageFields) -> dict[str, Any]:
    return {
        "type": _name_of(_PERMISSION_TYPES, permission["type"], "permission type"),
        "id": permission["id"],
        "permission_name": permission["permission_name"],
        "threshold": permission["threshold"],
        "parent_id": permission["parent_id"],
        "operations": permission["operations"].hex(),
        "keys": [{"address": _address(key["address"]), "weight": key["weight"]} for key in permission["keys"]],
    }


_CONTRACTS: Final[Mapping[str, Callable[[MessageFields], dict[str, Any]]]] = {
    "TransferContract": _transfer,
    "TriggerSmartContract": _trigger,
    "AccountPermissionUpdateContract": _permissions,
    "FreezeBalanceV2Contract": _freeze,
    "UnfreezeBalanceV2Contract": _unfreeze,
    "DelegateResourceContract": _delegate,
    "UnDelegateResourceContract": _undelegate,
}


def _resource(parameter: MessageFields) -> str:
    return _name_of(_RESOURCES, parameter["resource"], "resource")


def _name_of(names: Sequence[str], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise unparsable(f"{what} {number} is unknown; 0 to {len(names) - 1} are {', '.join(names)}")
    return names[number]


def _address(address: bytes) -> str:
    if len(address) != 21 or address[0] != 0x41:
        raise unparsable(
            f"not a Tron address: {address[:40].hex() or 'no bytes'}; expected 41 and 20 more bytes in hex"
        )
    return base58check(address)
