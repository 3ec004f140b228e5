"""EIP-712: typed data from its JSON text to the digest that is signed and the values that policies see.

Here: strict reading. Each value of the message that is hashed is shown to policies, and of the domain the members
that EIP-712 names, if they have its types. A member that the types do not declare is not signed and not shown. Not
here: EIP-191 and other prefixes, which callers add themselves.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.chains import bounds
from keystead.chains.bounds import TYPED_DATA_NESTING_MAX
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

DOMAIN: Final = "EIP712Domain"
_DOMAIN_MEMBERS: Final[Mapping[str, str]] = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
"""The members of the domain with their types, in this order, if the types do not declare the domain."""


_NAME = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$@:.-]{0,199}\Z")
_ARRAY = re.compile(r"(?P<item>.*)\[(?P<size>[0-9]{0,9})\]\Z", re.DOTALL)
_INTEGER_TYPE = re.compile(r"(?P<unsigned>u?)int(?P<bits>[0-9]{0,3})\Z")
_UNSIGNED = re.compile(r"uint[0-9]{0,3}\Z")
_BYTES_TYPE = re.compile(r"bytes(?P<size>[1-9][0-9]?)\Z")
_DECIMAL = re.compile(r"-?[0-9]{1,78}\Z")
_HEX_INTEGER = re.compile(r"0x[0-9a-fA-F]{1,64}\Z")
_HEX_BYTES = re.compile(r"0x[0-9a-fA-F]*\Z")

Encode = Callable[[Any], tuple[bytes, Any]]
"""From a JSON value to the bytes that are hashed for it and the value that policies see. Raises _Malformed."""


class TypedData(msgspec.Struct, frozen=True):
    """`digest`: the 32 bytes that are signed. `type_text`: the type of the message as it is hashed. In `domain` and
    `message`, integers are int and hex is lower case. A member of the domain that is declared with another type
    than EIP-712 gives it is an Unreadable."""

    digest: bytes
    primary_type: str
    type_text: str
    domain: Mapping[str, Any]
    message: dict[str, Any]


class _Member(msgspec.Struct, frozen=True):
    name: str
    type: str


class _Document(msgspec.Struct, frozen=True):
    types: dict[str, tuple[_Member, ...]]
    primary_type: str = msgspec.field(name="primaryType")
    domain: dict[str, Any]
    message: dict[str, Any] | None = None


def parse_typed_data(text: str, field: str) -> TypedData:
    """Read typed data. Raises InvalidRequest, naming the field of the request and the place in the text."""
    if len(text) > bounds.TYPED_DATA_BYTES_MAX:
        raise _refusal(field, f"at most {bounds.TYPED_DATA_BYTES_MAX} characters of typed data")
    if sum(map(text.count, ",[{")) > bounds.TYPED_DATA_DELIMITERS_MAX:
        raise _refusal(field, f"at most {bounds.TYPED_DATA_DELIMITERS_MAX} commas and opening brackets")
    try:
        return _read(_document(text))
    except _Malformed as refused:
        raise _refusal(field, str(refused)) from None
    except RecursionError:
        raise _refusal(field, "nested too deeply") from None


def _read(document: _Document) -> TypedData:
    declared = document.types
    if DOMAIN not in declared:
        declared = {**declared, DOMAIN: _domain_members(document.domain)}
    types = _Types(declared)
    domain_hash, hashed = _encode_at(".domain", types.struct(DOMAIN), document.domain)
    domain = hashed | _unusual_members(declared[DOMAIN])
    if document.primary_type == DOMAIN:
        # The domain alone is signed, as viem and eth-sig-util do: a `message` is not read.
        return TypedData(keccak256(b"\x19\x01" + domain_hash), DOMAIN, types.text(DOMAIN), domain, {})
    if document.message is None:
        raise _Malformed("`message` is missing")
    message_hash, message = _encode_at(".message", types.struct(document.primary_type), document.message)
    return TypedData(
        digest=keccak256(b"\x19\x01" + domain_hash + message_hash),
        primary_type=document.primary_type,
        type_text=types.text(document.primary_type),
        domain=domain,
        message=message,
    )


def _domain_members(domain: Mapping[str, Any]) -> tuple[_Member, ...]:
    unknown = [name for name in domain if name not in _DOMAIN_MEMBERS]
    if unknown:
        raise _Malformed(
            f"`domain.{unknown[0][:100]}`: `types` declares no {DOMAIN}, whose members are then "
            f"{', '.join(_DOMAIN_MEMBERS)}"
        )
    return tuple(_Member(name, kind) for name, kind in _DOMAIN_MEMBERS.items() if name in domain)


def _unusual_members(members: Sequence[_Member]) -> dict[str, Unreadable]:
    """The members of the domain that are declared with another type than EIP-712 gives them, such as the contract
    "cosmos" of Cosmos networks, a text.

    Policies compare these members, and would not recognize an address that is declared as a number.
    """
    return {
        member.name: Unreadable(f"the domain declares it as {member.type[:100]}, not as EIP-712 does")
        for member in members
        if member.type != _DOMAIN_MEMBERS.get(member.name, member.type)
        and not (member.name == "chainId" and _UNSIGNED.match(member.type))
    }


class _Malformed(ValueError):
    """Why a text is not typed data. `place`: the steps from the root to the value; each caller adds its step in
    front."""

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(why)
        self.place = place

    def __str__(self) -> str:
        place = self.place.removeprefix(".")[:300]
        return f"`{place}`: {self.args[0]}" if place else str(self.args[0])


def _encode_at(step: str, encode: Encode, value: Any) -> tuple[bytes, Any]:
    """The result of `encode`. A _Malformed that it raises gets `step` in front of its place."""
    try:
        return encode(value)
    except _Malformed as refused:
        refused.place = step + refused.place
        raise


def _refusal(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"invalid request body: field `{field}`: not EIP-712 typed data: {why}")


def _document(text: str) -> _Document:
    try:
        return msgspec.convert(_JSON.decode(text), _Document)
    except msgspec.ValidationError as refused:
        raise _Malformed(str(refused)) from None
    except json.JSONDecodeError as refused:
        raise _Malformed(f"not valid JSON: {refused}") from None


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise _Malformed("a member appears twice in an object")
    return unique


def _integer_literal(digits: str) -> int:
    if not _DECIMAL.match(digits):
        raise _Malformed("a number of more than 78 digits")
    return int(digits)


def _no_fraction(literal: str) -> None:
    raise _Malformed(f"{literal[:40]} is not an integer in full; larger ones can be a string of digits")


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique_members,
    parse_int=_integer_literal,
    parse_float=_no_fraction,
    parse_constant=_no_fraction,
)


class _Types:
    """The declared types, and how values of each are hashed. Each type is checked when it is first used."""

    def __init__(self, declared: Mapping[str, tuple[_Member, ...]]) -> None:
        if len(declared) > bounds.TYPED_DATA_TYPES_MAX:
            raise _Malformed(f"`types`: {len(declared)} types; at most {bounds.TYPED_DATA_TYPES_MAX} are allowed")
        for name, members in declared.items():
            self._check(name, members)
        self._declared = declared
        self._structs: dict[str, Encode] = {}
        self._text_left = bounds.TYPED_DATA_TYPE_CHARACTERS_MAX

    @staticmethod
    def _check(name: str, members: tuple[_Member, ...]) -> None:
        """Names have no comma, bracket or space: with one, two different types could have the same hash. Names in
        Solidity have no colon, point, hyphen or @ either, but clients sign such types."""
        for word in (name, *(member.name for member in members)):
            if not _NAME.match(word):
                raise _Malformed(f"`types.{name[:100]}`: {word[:100]!r} is not an identifier")
        if _elementary(name) is not None:
            raise _Malformed(f"`types.{name}`: this is the name of an elementary type")
        if len({member.name for member in members}) != len(members):
            raise _Malformed(f"`types.{name}`: two members have the same name")

    def struct(self, name: str) -> Encode:
        """The encoder of a struct: keccak-256 of the type's hash and a word for each member."""
        known = self._structs.get(name)
        if known is None:
            # Stored before its members are read, because a member may be of this type again.
            text = self.text(name)
            self._text_left -= len(text)
            if self._text_left < 0:
                raise _Malformed(f"`types`: more than {bounds.TYPED_DATA_TYPE_CHARACTERS_MAX} characters to hash")
            type_hash = keccak256(text.encode())
            members: list[tuple[str, Encode]] = []
            known = self._structs[name] = functools.partial(_struct, name, type_hash, members)
            members += [(member.name, self._encode(member.type)) for member in self._declared[name]]
        return known

    def _encode(self, kind: str) -> Encode:
        array = _ARRAY.match(kind)
        if array is not None:
            return functools.partial(_array, self._encode(array["item"]), array["size"])
        return _elementary(kind) or self.struct(kind)

    def text(self, name: str) -> str:
        """The type as it is hashed: itself, then the structs that it refers to, in order of their names."""
        structs: set[str] = set()
        self._collect_structs(name, structs)
        return "".join(
            f"{struct}({','.join(f'{member.type} {member.name}' for member in self._declared[struct])})"
            for struct in (name, *sorted(structs - {name}))
        )

    def _collect_structs(self, name: str, structs: set[str]) -> None:
        """Add this struct and those that it refers to, at any depth."""
        if name in structs:
            return
        if name not in self._declared:
            raise _Malformed(f"type {name[:100]!r} is not declared in `types`")
        structs.add(name)
        for member in self._declared[name]:
            kind, dimensions = member.type, 0
            while array := _ARRAY.match(kind):
                kind, dimensions = array["item"], dimensions + 1
                if dimensions > TYPED_DATA_NESTING_MAX:
                    raise _Malformed(f"arrays are nested more than {TYPED_DATA_NESTING_MAX} deep")
            if _elementary(kind) is None:
                self._collect_structs(kind, structs)


def _struct(
    name: str, type_hash: bytes, members: list[tuple[str, Encode]], value: Any
) -> tuple[bytes, dict[str, Any]]:
    if not isinstance(value, dict):
        raise _Malformed(f"expected an object, a {name}")
    words, seen = [type_hash], {}
    for member, encode in members:
        if member not in value:
            raise _Malformed(f"missing, but {name} declares it", f".{member}")
        word, seen[member] = _encode_at(f".{member}", encode, value[member])
        words.append(word)
    return keccak256(b"".join(words)), seen


def _array(encode: Encode, size: str, value: Any) -> tuple[bytes, list[Any]]:
    if not isinstance(value, list):
        raise _Malformed("expected a list")
    if size and len(value) != int(size):
        raise _Malformed(f"expected {size} items, not {len(value)}")
    items = []
    for index, item in enumerate(value):
        try:
            items.append(encode(item))
        except _Malformed as refused:
            refused.place = f"[{index}]{refused.place}"
            raise
    return keccak256(b"".join(word for word, _ in items)), [seen for _, seen in items]


@functools.lru_cache(maxsize=256)
def _elementary(kind: str) -> Encode | None:
    """The encoder of an elementary type, which writes 32 bytes; None for another type."""
    if kind in _NAMED:
        return _NAMED[kind]
    if integer := _INTEGER_TYPE.match(kind):
        bits = int(integer["bits"] or 256)
        if bits % 8 == 0 and 8 <= bits <= 256 and not integer["bits"].startswith("0"):
            return functools.partial(_integer, bits, not integer["unsigned"])
    if octets := _BYTES_TYPE.match(kind):
        size = int(octets["size"])
        if size <= 32:
            return functools.partial(_fixed_bytes, size)
    return None


def _string(value: Any) -> tuple[bytes, str]:
    if not isinstance(value, str):
        raise _Malformed("expected a string")
    try:
        return keccak256(value.encode()), value
    except UnicodeEncodeError:
        raise _Malformed("not valid Unicode: half a surrogate pair") from None


def _octets(value: Any) -> bytes:
    if not isinstance(value, str) or len(value) % 2 or not _HEX_BYTES.match(value):
        raise _Malformed("expected bytes as 0x and pairs of hex digits")
    return bytes.fromhex(value[2:])


def _dynamic_bytes(value: Any) -> tuple[bytes, str]:
    octets = _octets(value)
    return keccak256(octets), value.lower()


def _fixed_bytes(size: int, value: Any) -> tuple[bytes, str]:
    octets = _octets(value)
    if len(octets) != size:
        raise _Malformed(f"expected {size} bytes, not {len(octets)}")
    return octets.ljust(32, b"\0"), value.lower()


def _address(value: Any) -> tuple[bytes, str]:
    octets = _octets(value)
    if len(octets) != 20:
        raise _Malformed(f"an address is 20 bytes, not {len(octets)}")
    return octets.rjust(32, b"\0"), value.lower()


def _bool(value: Any) -> tuple[bytes, bool]:
    if not isinstance(value, bool):
        raise _Malformed("expected true or false")
    return int(value).to_bytes(32), value


def _integer(bits: int, signed: bool, value: Any) -> tuple[bytes, int]:
    number = integer_of(value)
    if number is None:
        raise _Malformed("expected an integer, or its decimal or 0x hex digits as a string")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not low <= number <= high:
        raise _Malformed(f"beyond the range of {'' if signed else 'u'}int{bits}")
    return number.to_bytes(32, signed=signed), number


def integer_of(value: Any) -> int | None:
    """An integer as clients write it: a JSON number, its decimal digits as a string, or 0x and hex digits. None for
    any other value."""
    match value:
        case bool():
            return None
        case int():
            return value
        case str() if _DECIMAL.match(value):
            return int(value)
        case str() if _HEX_INTEGER.match(value):
            return int(value, 16)
        case _:
            return None


_NAMED: Final[Mapping[str, Encode]] = {
    "string": _string,
    "bytes": _dynamic_bytes,
    "bool": _bool,
    "address": _address,
}
