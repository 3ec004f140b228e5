"""Tron transactions: the `raw_data` of one contract, signed by the SHA-256 of its bytes.

Here: which contracts are signed, what policies see of each. Not here: their fields on the wire (`messages`);
whether the paying account permits this key to sign, which the chain decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from keystead.api.enums import Curve
from keystead.chains import transaction
from keystead.chains.addresses.text import base58check
from keystead.chains.bounds import TRON_RAW_DATA_BYTES_MAX
from keystead.chains.movements import movement_facts
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.chains.tron.facts import ContractFields, TronContract, TronPermission, TronTransaction
from keystead.chains.tron.messages import MessageFields, read, signed_transaction
from keystead.chains.tron.movements import contract_movements, fee_movement
from keystead.primitives.unreadable import Unreadable

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


def parse_tron(unsigned: bytes, party: transaction.Party) -> transaction.UnsignedTransaction:
    """Read a `raw_data`. Raises InvalidRequest unless it is canonical and holds one contract of a known type."""
    transaction.require_curve(party, Curve.SECP256K1, "Tron")
    view = view_tron(unsigned)

    def assemble(signatures: Sequence[Signature]) -> bytes:
        (signature,) = signatures
        return signed_transaction(unsigned, signature.r + signature.s + bytes([signature.v]))

    return transaction.UnsignedTransaction(
        scheme=SignatureScheme.ECDSA,
        messages=(hashlib.sha256(unsigned).digest(),),
        movements=view.movements,
        describe=view.describe,
        assemble=assemble,
    )


def view_tron(unsigned: bytes) -> transaction.TransactionView:
    """What a `raw_data` says. Raises InvalidRequest as `parse_tron` does."""
    if len(unsigned) > TRON_RAW_DATA_BYTES_MAX:
        raise transaction.unparsable(
            f"it has {len(unsigned)} bytes; a Tron transaction has at most {TRON_RAW_DATA_BYTES_MAX}"
        )
    raw = read("raw", unsigned)
    if len(raw["contract"]) != 1:
        raise transaction.unparsable(f"it has {len(raw['contract'])} contracts; a Tron transaction has exactly one")
    contract = _contract(raw["contract"][0])
    movements = (*contract_movements(contract), fee_movement(contract["owner_address"], raw["fee_limit"]))
    tx: TronTransaction = {
        "ref_block_bytes": raw["ref_block_bytes"].hex(),
        "ref_block_hash": raw["ref_block_hash"].hex(),
        "expiration": raw["expiration"],
        "timestamp": raw["timestamp"],
        "fee_limit": raw["fee_limit"],
        "data": raw["data"].hex(),
        "contract": [contract],
        "movements": movement_facts(movements),
    }
    return transaction.TransactionView(
        movements=movements, describe=lambda _: transaction.Description({"tron": {"tx": tx}})
    )


def _contract(contract: MessageFields) -> TronContract:
    kind = _CONTRACT_TYPES.get(contract["type"])
    if kind is None:
        expected = ", ".join(_CONTRACT_TYPES.values())
        raise transaction.unparsable(
            f"contract type {contract['type']} is not supported; expected one of {expected}"
        )
    if contract["parameter"] is None:
        raise transaction.unparsable(f"the {kind} has no parameter")
    # Nodes read the type, other programs the URL: both must name the same contract.
    if contract["parameter"]["type_url"] != f"type.googleapis.com/protocol.{kind}":
        raise transaction.unparsable(
            f"the parameter of the {kind} is of type {contract['parameter']['type_url'][:100]!r}"
        )
    parameter = read(kind, contract["parameter"]["value"])
    fields = _without_fields(kind)
    _CONTRACTS[kind](parameter, fields)
    return {
        "type": kind,
        "permission_id": contract["permission_id"],
        "owner_address": _address(parameter["owner_address"]),
        **fields,
    }


def _without_fields(kind: str) -> ContractFields:
    """The fields of contracts, all of them absent from a contract of this type."""
    absent = Unreadable(f"a {kind} does not have it")
    return {
        "to_address": absent,
        "amount": absent,
        "contract_address": absent,
        "call_value": absent,
        "data": absent,
        "call_token_value": absent,
        "token_id": absent,
        "resource": absent,
        "balance": absent,
        "receiver_address": absent,
        "lock": absent,
        "lock_period": absent,
        "frozen_balance": absent,
        "unfreeze_balance": absent,
        "owner": absent,
        "witness": absent,
        "actives": absent,
    }


def _transfer(parameter: MessageFields, fields: ContractFields) -> None:
    fields["to_address"] = _address(parameter["to_address"])
    fields["amount"] = parameter["amount"]


def _trigger(parameter: MessageFields, fields: ContractFields) -> None:
    fields["contract_address"] = _address(parameter["contract_address"])
    fields["call_value"] = parameter["call_value"]
    fields["data"] = parameter["data"].hex()
    fields["call_token_value"] = parameter["call_token_value"]
    fields["token_id"] = parameter["token_id"]


def _freeze(parameter: MessageFields, fields: ContractFields) -> None:
    fields["frozen_balance"] = parameter["frozen_balance"]
    fields["resource"] = _resource(parameter)


def _unfreeze(parameter: MessageFields, fields: ContractFields) -> None:
    fields["unfreeze_balance"] = parameter["unfreeze_balance"]
    fields["resource"] = _resource(parameter)


def _undelegate(parameter: MessageFields, fields: ContractFields) -> None:
    fields["resource"] = _resource(parameter)
    fields["balance"] = parameter["balance"]
    fields["receiver_address"] = _address(parameter["receiver_address"])


def _delegate(parameter: MessageFields, fields: ContractFields) -> None:
    _undelegate(parameter, fields)
    fields["lock"] = parameter["lock"]
    fields["lock_period"] = parameter["lock_period"]


def _permissions(parameter: MessageFields, fields: ContractFields) -> None:
    if parameter["owner"] is not None:
        fields["owner"] = _permission(parameter["owner"])
    if parameter["witness"] is not None:
        fields["witness"] = _permission(parameter["witness"])
    fields["actives"] = [_permission(active) for active in parameter["actives"]]


def _permission(permission: MessageFields) -> TronPermission:
    return {
        "type": _name_of(_PERMISSION_TYPES, permission["type"], "permission type"),
        "id": permission["id"],
        "permission_name": permission["permission_name"],
        "threshold": permission["threshold"],
        "parent_id": permission["parent_id"],
        "operations": permission["operations"].hex(),
        "keys": [{"address": _address(key["address"]), "weight": key["weight"]} for key in permission["keys"]],
    }


_CONTRACTS: Final[Mapping[str, Callable[[MessageFields, ContractFields], None]]] = {
    "TransferContract": _transfer,
    "TriggerSmartContract": _trigger,
    "AccountPermissionUpdateContract": _permissions,
    "FreezeBalanceV2Contract": _freeze,
    "UnfreezeBalanceV2Contract": _unfreeze,
    "DelegateResourceContract": _delegate,
    "UnDelegateResourceContract": _undelegate,
}
"""By type of contract: fills the fields that such a contract has."""


def _resource(parameter: MessageFields) -> str:
    return _name_of(_RESOURCES, parameter["resource"], "resource")


def _name_of(names: Sequence[str], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise transaction.unparsable(f"{what} {number} is unknown; 0 to {len(names) - 1} are {', '.join(names)}")
    return names[number]


def _address(address: bytes) -> str:
    if len(address) != 21 or address[0] != 0x41:
        raise transaction.unparsable(
            f"not a Tron address: {address[:40].hex() or 'no bytes'}; expected 41 and 20 more bytes in hex"
        )
    return base58check(address)
