"""The items of transactions of Ethereum and compatible networks: integers, addresses, access lists,
authorizations (EIP-7702).

Here: strict readers, which name the field that they refuse. Not here: which fields a transaction has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from keystead.api.enums import AddressFormat
from keystead.chains.addresses.formats import address as address_of
from keystead.chains.bounds import ETHEREUM_TRANSACTION_BYTES_MAX, NONCE_MAX
from keystead.chains.curves import PublicKey
from keystead.chains.ethereum import rlp
from keystead.chains.ethereum.facts import CREATES_A_CONTRACT, AuthorizationFacts
from keystead.chains.ethereum.rlp import Item
from keystead.chains.movements import UNLIMITED, Movement, MovementKind
from keystead.chains.transaction import Party, unparsable
from keystead.primitives.unreadable import Unreadable

ReadItem = Callable[[Item, str], Any]
"""From an item and the name of its field to the value. Raises InvalidRequest, naming the field."""

Fields = Sequence[tuple[str, ReadItem]]
"""The fields of a transaction in order, each with its reader."""


def read_list(payload: bytes, what: str) -> list[Item]:
    """The items of the payload, which is a list. Raises InvalidRequest."""
    if len(payload) > ETHEREUM_TRANSACTION_BYTES_MAX:
        raise unparsable(f"{what}: {len(payload)} bytes; at most {ETHEREUM_TRANSACTION_BYTES_MAX} are possible")
    try:
        items = rlp.decode(payload)
    except rlp.NotRlp as refused:
        raise unparsable(f"{what}: not canonical RLP: {refused}") from None
    if isinstance(items, bytes):
        raise unparsable(f"{what}: expected an RLP list")
    return items


def read_fields(items: Sequence[Item], fields: Fields) -> dict[str, Any]:
    """Each item by the name of its field. There must be as many items as fields.

    Raises InvalidRequest, also for a priority fee above the fee that it is a part of (EIP-1559).
    """
    values = {name: read(item, name) for item, (name, read) in zip(items, fields, strict=True)}
    if values.get("max_priority_fee_per_gas", 0) > values.get("max_fee_per_gas", 0):
        raise unparsable(
            "`max_priority_fee_per_gas`: it is above `max_fee_per_gas`, and no node takes such a transaction"
        )
    return values


def integer(bits: int) -> ReadItem:
    """Reads an integer of at most `bits` bits, without leading zeros."""

    def read(item: Item, name: str) -> int:
        if not isinstance(item, bytes):
            raise unparsable(f"`{name}`: expected an integer, not a list")
        if item[:1] == b"\0":
            raise unparsable(f"`{name}`: an integer has no leading zero bytes")
        if len(item) * 8 > bits:
            raise unparsable(f"`{name}`: an integer of at most {bits} bits")
        return int.from_bytes(item)

    return read


def positive(bits: int) -> ReadItem:
    """Reads an integer of at most `bits` bits that is not zero."""
    read_integer = integer(bits)

    def read(item: Item, name: str) -> int:
        value: int = read_integer(item, name)
        if not value:
            raise unparsable(f"`{name}`: it is zero, and no node takes such a transaction")
        return value

    return read


def nonce(item: Item, name: str) -> int:
    value: int = integer(64)(item, name)
    if value > NONCE_MAX:
        raise unparsable(f"`{name}`: it is above {NONCE_MAX}, and no node takes such a transaction")
    return value


def octets(size: int) -> ReadItem:
    """Reads exactly this number of bytes."""

    def read(item: Item, name: str) -> bytes:
        if not isinstance(item, bytes) or len(item) != size:
            raise unparsable(f"`{name}`: expected {size} bytes")
        return item

    return read


address = octets(20)


def destination(item: Item, name: str) -> bytes:
    """Reads an address; b"" if the transaction creates a contract."""
    return b"" if item == b"" else bytes(address(item, name))


def data(item: Item, name: str) -> bytes:
    if not isinstance(item, bytes):
        raise unparsable(f"`{name}`: expected bytes, not a list")
    return item


def list_of(read_item: ReadItem) -> ReadItem:
    """Reads a list, and each of its items with `read_item`."""

    def read(item: Item, name: str) -> list[Any]:
        if isinstance(item, bytes):
            raise unparsable(f"`{name}`: expected a list")
        return [read_item(part, f"{name}[{index}]") for index, part in enumerate(item)]

    return read


def filled(read_list: ReadItem) -> ReadItem:
    """Reads a list with `read_list`, and refuses an empty one."""

    def read(item: Item, name: str) -> list[Any]:
        values: list[Any] = read_list(item, name)
        if not values:
            raise unparsable(f"`{name}`: it is empty, and no node takes such a transaction")
        return values

    return read


def record(**fields: ReadItem) -> ReadItem:
    """Reads a list with one item for each field."""

    def read(item: Item, name: str) -> dict[str, Any]:
        if isinstance(item, bytes) or len(item) != len(fields):
            raise unparsable(f"`{name}`: expected a list of {len(fields)} items: {', '.join(fields)}")
        return {
            key: read_field(part, f"{name}.{key}")
            for part, (key, read_field) in zip(item, fields.items(), strict=True)
        }

    return read


access_list = list_of(record(address=address, storage_keys=list_of(octets(32))))
"""EIP-2930."""


def sender(party: Party) -> str:
    """The Ethereum address of the key that signs, in lower case."""
    key = PublicKey(party.curve, party.compressed, party.uncompressed)
    return address_of(key, AddressFormat.ETHEREUM).lower()


def hex_text(value: bytes) -> str:
    return "0x" + value.hex()


def address_text(value: bytes) -> str:
    """An address as 0x and lower-case hex; "" for b""."""
    return hex_text(value) if value else ""


def recipient(value: bytes) -> str | Unreadable:
    """The recipient of a transaction or call, as policies see it. b"" creates a contract."""
    return hex_text(value) if value else CREATES_A_CONTRACT


_EVERY_CHAIN: Final = Unreadable("an authorization for chain 0 holds on every chain", literal=0)


def authorization_facts(address: str, chain_id: int, nonce: int) -> AuthorizationFacts:
    """`address`: as 0x and hex digits in lower case. `chain_id`: 0 for every chain, which is equal to no other."""
    return {"address": address, "chain_id": chain_id or _EVERY_CHAIN, "nonce": nonce}


def authorization_movement(address: str) -> Movement:
    """The code of this address controls the account that signed the authorization."""
    return Movement(
        kind=MovementKind.AUTHORITY,
        name="authorization",
        asset=Unreadable("all that the account has"),
        from_=Unreadable("the account that signed the authorization"),
        to=address,
        amount=UNLIMITED,
    )
