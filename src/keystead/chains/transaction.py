"""The result of every chain's parser: messages to sign, what policies see, and how to add the signatures.

Here: the interface that `operations.wallets.signing` uses, and the errors that all parsers share. Not here: the
parsers. A parser is a function `parse_<chain>(unsigned: bytes, party: Party) -> UnsignedTransaction`. It reads
strictly: it refuses bytes that have a second reading, or that an encoder would not write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from keystead.api.enums import AddressFormat, Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.contract_interfaces import ParsedInterface
from keystead.chains.movements import Movement
from keystead.chains.signatures import Signature, SignatureScheme

UNPARSABLE = "failed to parse transaction"


class Party(msgspec.Struct, frozen=True, kw_only=True):
    """Who signs: a wallet's account, or a private key by one of its addresses or by its id.

    `compressed`: 33 bytes of SEC 1, or the 32 bytes of ed25519; `uncompressed`: 65 bytes of SEC 1, None on ed25519.
    `address` and its format are those that the caller named; both None for a private key named by its id.
    """

    curve: Curve
    compressed: bytes
    uncompressed: bytes | None
    address_format: AddressFormat | None = None
    address: str | None = None


class Description(msgspec.Struct, frozen=True):
    """What policies see of a transaction. `keywords`: e.g. {"eth": {"tx": {...}}}, with the facts of the chain."""

    keywords: Mapping[str, Any]


class TransactionView(msgspec.Struct, frozen=True, kw_only=True):
    """What an unsigned transaction says, read without the key that is to sign it.

    Its fields are as in UnsignedTransaction.
    """

    describe: Callable[[Mapping[str, ParsedInterface]], Description]
    movements: Sequence[Movement]
    contracts: tuple[str, ...] = ()
    valid_on_every_chain: bool = False


class UnsignedTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that was read to its end, and that the party may sign.

    `messages`: what is signed, in this order, all by `scheme`: 32-byte digests for ECDSA and Schnorr, the message
    itself for Ed25519. `contracts`: the addresses called; calls are decoded if an interface of them was uploaded.
    `movements`: what it moves, and whom it gives power over value.
    `describe(interfaces)`: what policies see, given the uploaded interfaces by address as in `contracts`.
    `assemble(signatures)`: the signed bytes, given one signature for each message, in order.
    `valid_on_every_chain`: the transaction names no chain of its family, although others of its kind do.
    """

    scheme: SignatureScheme
    messages: tuple[bytes, ...]
    movements: Sequence[Movement]
    describe: Callable[[Mapping[str, ParsedInterface]], Description]
    assemble: Callable[[Sequence[Signature]], bytes]
    contracts: tuple[str, ...] = ()
    valid_on_every_chain: bool = False


def unparsable(why: str) -> InvalidRequest:
    """The refusal of bytes that are not a transaction of the chain, or not one that is signed here."""
    return InvalidRequest(f"{UNPARSABLE}: {why}", machine_code="INVALID_TRANSACTION")


def require_curve(party: Party, curve: Curve, chain: str) -> None:
    """Raise InvalidRequest unless the party's key is on the curve by which this chain signs."""
    if party.curve is not curve:
        raise InvalidRequest(
            f"invalid request: field `parameters.signWith`: {chain} transactions are signed on {curve}, "
            f"but this is a key on {party.curve}"
        )
