"""Tron's protobuf messages, as far as they are signed here, and their strict reading.

Here: which field has which number and type (the network's `Tron.proto` and the contracts beside it). A field that
is not in this table, and so could not be shown to a policy, makes the bytes unreadable.
Not here: what they mean (`tron`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from keystead.chains.transaction import unparsable

# Name, number, type: a scalar of protobuf, or a message of this table; in brackets where it is repeated.
# Enumerations are written as the integers that they are on the wire.
_MESSAGES: Final[Mapping[str, tuple[tuple[str, int, str], ...]]] = {
    "Transaction": (("raw_data", 1, "bytes"), ("signature", 2, "[bytes]")),
    "raw": (
        ("ref_block_bytes", 1, "bytes"),
        ("ref_block_hash", 4, "bytes"),
        ("expiration", 8, "int64"),
        ("data", 10, "bytes"),
        ("contract", 11, "[Contract]"),
        ("timestamp", 14, "int64"),
        ("fee_limit", 18, "int64"),
    ),
    "Contract": (("type", 1, "int32"), ("parameter", 2, "Parameter"), ("permission_id", 5, "int32")),
    "Parameter": (("type_url", 1, "string"), ("value", 2, "bytes")),
    "TransferContract": (("owner_address", 1, "bytes"), ("to_address", 2, "bytes"), ("amount", 3, "int64")),
    "TriggerSmartContract": (
        ("owner_address", 1, "bytes"),
        ("contract_address", 2, "bytes"),
        ("call_value", 3, "int64"),
        ("data", 4, "bytes"),
        ("call_token_value", 5, "int64"),
        ("token_id", 6, "int64"),
    ),
    "FreezeBalanceV2Contract": (
        ("owner_address", 1, "bytes"),
        ("frozen_balance", 2, "int64"),
        ("resource", 3, "int32"),
    ),
    "UnfreezeBalanceV2Contract": (
        ("owner_address", 1, "bytes"),
        ("unfreeze_balance", 2, "int64"),
        ("resource", 3, "int32"),
    ),
    "DelegateResourceContract": (
        ("owner_address", 1, "bytes"),
        ("resource", 2, "int32"),
        ("balance", 3, "int64"),
        ("receiver_address", 4, "bytes"),
        ("lock", 5, "bool"),
        ("lock_period", 6, "int64"),
    ),
    "UnDelegateResourceContract": (
        ("owner_address", 1, "bytes"),
        ("resource", 2, "int32"),
        ("balance", 3, "int64"),
        ("receiver_address", 4, "bytes"),
    ),
    "AccountPermissionUpdateContract": (
        ("owner_address", 1, "bytes"),
        ("owner", 2, "Permission"),
        ("witness", 3, "Permission"),
        ("actives", 4, "[Permission]"),
    ),
    "Permission": (
        ("type", 1, "int32"),
        ("id", 2, "int32"),
        ("permission_name", 3, "string"),
        ("threshold", 4, "int64"),
        ("parent_id", 5, "int32"),
        ("operations", 6, "bytes"),
        ("keys", 7, "[Key]"),
    ),
    "Key": (("address", 1, "bytes"), ("weight", 2, "int64")),
}


def read(name: str, data: bytes) -> Any:
    """The message of this name. Raises InvalidRequest for unknown or repeated fields, and for any form but
    the canonical one: fields in ascending order, the shortest numbers, defaults left out."""
    from google.protobuf.message import DecodeError  # slow to import, and needed by few requests

    message = _classes()[name]()
    try:
        message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        raise unparsable(f"not a Tron {name}") from None
    message.DiscardUnknownFields()
    if message.SerializeToString(deterministic=True) != data:
        raise unparsable(f"the Tron {name} has unknown or repeated fields, or is not in its canonical encoding")
    return message


def write(name: str, **fields: Any) -> bytes:
    """The canonical encoding of a message."""
    return bytes(_classes()[name](**fields).SerializeToString(deterministic=True))


@functools.cache
def _classes() -> Mapping[str, Callable[..., Any]]:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    file = FileDescriptorProto(name="tron.proto", package="protocol", syntax="proto3")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, number, kind in fields:
            plain = kind.strip("[]")
            field = described.field.add(name=name, number=number)
            field.label = (
                FieldDescriptorProto.LABEL_OPTIONAL if plain == kind else FieldDescriptorProto.LABEL_REPEATED
            )
            if plain in _MESSAGES:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".protocol.{plain}"
            else:
                field.type = FieldDescriptorProto.Type.Value(f"TYPE_{plain.upper()}")
    # A pool of its own: other software in the process may bring the network's full schema under the same names.
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"protocol.{name}")) for name in _MESSAGES}
