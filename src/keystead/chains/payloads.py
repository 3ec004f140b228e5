"""Raw payloads: from the text, encoding and hash function of a request to the message that is signed.

Here: which of these go together on which curve, EIP-7702 authorizations. Not here: typed data
(`ethereum.typed_data`), the scheme of the signature (`payload_schemes`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, assert_never

import msgspec
from msgspec import Meta

from keystead.api.decoding import refuse_ambiguous
from keystead.api.enums import Curve, HashFunction, PayloadEncoding
from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import AUTHORIZATION_CHARACTERS_MAX, PAYLOAD_CHARACTERS_MAX
from keystead.chains.ethereum import rlp
from keystead.chains.ethereum.envelope import authorization_facts, authorization_movement
from keystead.chains.ethereum.facts import TypedDataDomain, TypedDataFacts
from keystead.chains.ethereum.typed_data import integer_of, parse_typed_data
from keystead.chains.ethereum.typed_movements import typed_data_movements
from keystead.chains.movements import Movement, movement_facts
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

DIGEST_BYTES: Final = 32

_AUTHORIZATION_MAGIC: Final = b"\x05"

# A repeated group would need a hundred bytes of memory for each pair of digits.
_HEX = re.compile(r"(?:0[xX])?(?P<digits>[0-9a-fA-F]+)\Z")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}\Z")

_HASHES: Final[Mapping[HashFunction, Callable[[bytes], bytes]]] = {
    HashFunction.NO_OP: lambda data: data,
    HashFunction.SHA256: lambda data: hashlib.sha256(data).digest(),
    HashFunction.KECCAK256: keccak256,
}
_ETHEREUM_ENCODINGS: Final = frozenset({PayloadEncoding.EIP712, PayloadEncoding.EIP7702_AUTHORIZATION})


class Payload(msgspec.Struct, frozen=True):
    """A payload to sign. `message`: a digest of 32 bytes, or for ed25519 the bytes themselves. `keywords`: what
    policies see. `movements`: what anybody who has the signature can move. Both are empty for raw bytes, of which
    nothing is known."""

    message: bytes
    keywords: Mapping[str, Any]
    movements: Sequence[Movement] = ()


def check_combination(curve: Curve, encoding: PayloadEncoding, hash_function: HashFunction) -> None:
    """Raise InvalidRequest unless a key on this curve can sign a payload of this encoding with this hash
    function."""
    if encoding in _ETHEREUM_ENCODINGS and curve is not Curve.SECP256K1:
        raise InvalidRequest(
            f"invalid payload encoding: field `parameters.encoding`: {encoding} needs a key on {Curve.SECP256K1}, "
            f"but this is one on {curve}"
        )
    if encoding in _ETHEREUM_ENCODINGS:
        allowed = frozenset({HashFunction.NO_OP})
    else:
        allowed = frozenset({HashFunction.NOT_APPLICABLE} if curve is Curve.ED25519 else _HASHES)
    if hash_function not in allowed:
        raise InvalidRequest(
            f"invalid hash function: field `parameters.hashFunction`: {hash_function} does not go with {encoding} "
            f"on {curve}; expected {' or '.join(sorted(allowed))}"
        )


def read_payload(text: str, encoding: PayloadEncoding, hash_function: HashFunction, field: str) -> Payload:
    """The message of a payload whose combination was checked. Raises InvalidRequest, naming the field."""
    if not text:
        raise InvalidRequest(f"invalid request body: field `{field}`: the payload is empty")
    if len(text) > PAYLOAD_CHARACTERS_MAX:
        raise InvalidRequest(
            f"invalid request body: field `{field}`: {len(text)} characters; a payload has at most "
            f"{PAYLOAD_CHARACTERS_MAX}"
        )
    match encoding:
        case PayloadEncoding.EIP712:
            return _typed_data(text, field)
        case PayloadEncoding.EIP7702_AUTHORIZATION:
            return _authorization(text, field)
        case PayloadEncoding.HEXADECIMAL:
            data = _hexadecimal(text, field)
        case PayloadEncoding.TEXT_UTF8:
            data = _utf8(text, field)
        case _:
            assert_never(encoding)
    if hash_function is HashFunction.NOT_APPLICABLE:
        return Payload(data, {})
    message = _HASHES[hash_function](data)
    if len(message) != DIGEST_BYTES:
        raise InvalidRequest(
            f"invalid request body: field `{field}`: expected a 32-bytes-long digest for {hash_function}, "
            f"not {len(message)} bytes"
        )
    return Payload(message, {})


def hex_bytes(text: str) -> bytes | None:
    """The bytes of hex digits in either case, with or without 0x; None for any other text, and for no digits."""
    match = _HEX.match(text)
    return bytes.fromhex(match["digits"]) if match and len(match["digits"]) % 2 == 0 else None


def _hexadecimal(text: str, field: str) -> bytes:
    data = hex_bytes(text)
    if data is None:
        raise InvalidRequest(
            f"invalid request body: field `{field}`: expected pairs of hex digits, with or without 0x in front"
        )
    return data


def _utf8(text: str, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            f"invalid request body: field `{field}`: not valid Unicode: half a surrogate pair"
        ) from None


def _typed_data(text: str, field: str) -> Payload:
    data = parse_typed_data(text, field)
    movements = typed_data_movements(data)
    facts: TypedDataFacts = {
        "primary_type": data.primary_type,
        "domain": {
            "name": data.domain.get("name", _NOT_IN_THE_DOMAIN),
            "version": data.domain.get("version", _NOT_IN_THE_DOMAIN),
            "verifying_contract": data.domain.get("verifyingContract", _NOT_IN_THE_DOMAIN),
            "chain_id": data.domain.get("chainId", _NOT_IN_THE_DOMAIN),
        },
        "message": data.message,
        "movements": movement_facts(movements),
    }
    return Payload(data.digest, {"eth": {"eip_712": facts}}, movements)


_NOT_IN_THE_DOMAIN: Final = Unreadable("the domain leaves it out")


def is_empty_domain(domain: TypedDataDomain) -> bool:
    """Whether a domain has none of the members that policies read. A signature under it holds everywhere."""
    return all(member is _NOT_IN_THE_DOMAIN for member in domain.values())


class _Authorization(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    address: Annotated[str, Meta(pattern=_ADDRESS.pattern)]
    chain_id: int | str
    nonce: int | str


_AUTHORIZATION = msgspec.json.Decoder(_Authorization)


def _authorization(text: str, field: str) -> Payload:
    """EIP-7702: keccak-256 of 05 and rlp([chain id, address, nonce])."""
    if len(text) > AUTHORIZATION_CHARACTERS_MAX:
        raise _not_authorization(field, f"more than {AUTHORIZATION_CHARACTERS_MAX} characters")
    try:
        read = _AUTHORIZATION.decode(text)
        refuse_ambiguous(text.encode())
    except (msgspec.DecodeError, RecursionError) as refused:
        raise _not_authorization(field, str(refused)) from None
    chain_id, nonce = integer_of(read.chain_id), integer_of(read.nonce)
    if chain_id is None or not 0 <= chain_id < 1 << 256:
        raise _not_authorization(field, "`chainId` is an integer of at most 256 bits; 0 means any chain")
    if nonce is None or not 0 <= nonce < 1 << 64:
        raise _not_authorization(field, "`nonce` is an integer of at most 64 bits")
    items = [rlp.integer(chain_id), bytes.fromhex(read.address[2:]), rlp.integer(nonce)]
    facts = authorization_facts(read.address.lower(), chain_id, nonce)
    return Payload(
        keccak256(_AUTHORIZATION_MAGIC + rlp.encode(items)),
        {"eth": {"eip_7702_authorization": facts}},
        (authorization_movement(facts["address"]),),
    )


def _not_authorization(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid request body: field `{field}`: not an EIP-7702 authorization: {why}")
