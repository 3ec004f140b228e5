"""Tron's messages with Google's protobuf library, from the reader's table: to write and to compare readings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from keystead.chains.tron.messages import MESSAGES

SIGNED = {"Transaction": (("raw_data", 1, "bytes"), ("signature", 2, "[bytes]"))}


def write(name: str, **fields: Any) -> bytes:
    """The canonical encoding of a message."""
    return bytes(_classes()[name](**fields).SerializeToString(deterministic=True))


def read(name: str, data: bytes) -> Any:
    """The message; None unless it is known whole and would be written the same way again."""
    message = _classes()[name]()
    try:
        message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        return None
    message.DiscardUnknownFields()
    return message if message.SerializeToString(deterministic=True) == data else None


@functools.cache
def _classes() -> Mapping[str, Callable[..., Any]]:
    file = FileDescriptorProto(name="tron.proto", package="protocol", syntax="proto3")
    for message, fields in {**MESSAGES, **SIGNED}.items():
        described = file.message_type.add(name=message)
        for name, number, kind in fields:
            plain = kind.strip("[]")
            field = described.field.add(name=name, number=number)
            field.label = (
                FieldDescriptorProto.LABEL_OPTIONAL if plain == kind else FieldDescriptorProto.LABEL_REPEATED
            )
            if plain in MESSAGES:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".protocol.{plain}"
            else:
                field.type = FieldDescriptorProto.Type.Value(f"TYPE_{plain.upper()}")
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"protocol.{name}")) for name in (*MESSAGES, *SIGNED)}
