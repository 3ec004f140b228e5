"""Calldata read by a contract's uploaded ABI: which function is called, with which arguments.

Here: the functions of an ABI by selector, kept for the interfaces used last; bounded decoding. Not here: whether a
text is an ABI (`organizations.interface_formats`, when it was uploaded).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from keystead.api.keccak import keccak256
from keystead.chains.ethereum.envelope import SELECTOR_BYTES, hex_text
from keystead.chains.interface_formats import AbiEntry, AbiParameter

INTERFACES_KEPT: Final = 64
"""Interfaces whose functions are kept; one is at most 400 kilobytes of text."""

_READS_PER_WORD, _READS_MIN = 8, 1_000
"""What decoding may cost. Pointers may share what they point to, so that a few kilobytes can describe terabytes."""

_ABI = msgspec.json.Decoder(tuple[AbiEntry, ...])


class _Function(msgspec.Struct, frozen=True):
    name: str
    signature: str
    inputs: tuple[AbiParameter, ...]
    decoder: Any
    """eth-abi's, of the arguments together. It raises DecodingError."""


def call_facts(abi: str, calldata: bytes) -> Mapping[str, Any] | None:
    """The fields function_name, function_signature and contract_call_args of eth.tx.

    None of them if the calldata names no function of the ABI. None if it names one and its arguments do not decode,
    as the ABI says or at a bounded cost. Bytes after the arguments are ignored, as contracts do. Arguments without
    a name, or with one that is used twice, cannot be told and are left out.
    """
    function = _functions(abi).get(calldata[:SELECTOR_BYTES])
    if function is None:
        return {}
    values = _decoded(function, calldata[SELECTOR_BYTES:])
    if values is None:
        return None
    names = [parameter.name for parameter in function.inputs]
    uses = Counter(names)
    return {
        "function_name": function.name,
        "function_signature": hex_text(calldata[:SELECTOR_BYTES]),
        "contract_call_args": {
            name: _plain(value) for name, value in zip(names, values, strict=True) if name and uses[name] == 1
        },
    }


@functools.lru_cache(maxsize=INTERFACES_KEPT)
def _functions(abi: str) -> Mapping[bytes, _Function]:
    """By selector. One that two different functions share names neither of them."""
    found: dict[bytes, _Function] = {}
    ambiguous: set[bytes] = set()
    for entry in _ABI.decode(abi):
        if entry.type != "function":
            continue
        signature = f"{entry.name}({','.join(map(_type_text, entry.inputs))})"
        selector = keccak256(signature.encode())[:SELECTOR_BYTES]
        function = _Function(entry.name, signature, entry.inputs, _tuple_decoder(entry.inputs))
        if found.setdefault(selector, function).signature != signature:
            ambiguous.add(selector)
    return {selector: function for selector, function in found.items() if selector not in ambiguous}


def _type_text(parameter: AbiParameter) -> str:
    """The type as signatures write it: a tuple by its members, aliases in full."""
    item, bracket, dimensions = parameter.type.partition("[")
    if item == "tuple":
        item = f"({','.join(map(_type_text, parameter.components))})"
    return _FULL_NAMES.get(item, item) + bracket + dimensions


_FULL_NAMES = {"uint": "uint256", "int": "int256", "fixed": "fixed128x18", "ufixed": "ufixed128x18"}


def _tuple_decoder(parameters: tuple[AbiParameter, ...]) -> Any:
    from eth_abi.decoding import TupleDecoder  # slow to import, and needed by few requests

    return TupleDecoder(decoders=[_decoder(parameter) for parameter in parameters])


def _decoder(parameter: AbiParameter) -> Any:
    """Put together member by member: eth-abi's parser takes minutes for some types of a few thousand characters."""
    from eth_abi.decoding import DynamicArrayDecoder, SizedArrayDecoder
    from eth_abi.registry import registry

    item, *dimensions = parameter.type.split("[")
    if item == "tuple" and not parameter.components:
        return _NoMembers()  # it has no bytes, and a list of a trillion of them fits in one number
    decoder = _tuple_decoder(parameter.components) if item == "tuple" else registry.get_decoder(item)
    for dimension in dimensions:
        size = dimension.removesuffix("]")
        if size:
            decoder = SizedArrayDecoder(item_decoder=decoder, array_size=int(size))
        else:
            decoder = DynamicArrayDecoder(item_decoder=decoder)
    return decoder


class _NoMembers:
    """Stands for the decoder of a tuple of nothing."""

    is_dynamic = False

    def __call__(self, _: object) -> None:
        from eth_abi.exceptions import DecodingError

        raise DecodingError("a tuple without members")


def _decoded(function: _Function, arguments: bytes) -> tuple[Any, ...] | None:
    from eth_abi.exceptions import DecodingError

    try:
        return tuple(function.decoder(_metered()(arguments)))
    except (DecodingError, OverflowError, UnicodeDecodeError, RecursionError):
        return None


@functools.cache
def _metered() -> type:
    from eth_abi.decoding import ContextFramesBytesIO
    from eth_abi.exceptions import DecodingError

    class Metered(ContextFramesBytesIO):
        """A stream that is read a bounded number of times, and never by a claimed length beyond its own."""

        def __init__(self, data: bytes) -> None:
            super().__init__(data)  # type: ignore[no-untyped-call]
            self._size = len(data)
            self._reads = len(data) // 32 * _READS_PER_WORD + _READS_MIN

        def read(self, size: int | None = -1, /) -> bytes:
            self._reads -= 1
            if self._reads < 0:
                raise DecodingError("the arguments point at the same bytes too often")
            if size is not None and size > self._size:
                raise DecodingError("a length beyond the end")
            return bytes(super().read(size))

    return Metered


def _plain(value: Any) -> Any:
    """A value as the policy language knows it: tuples are lists, bytes are hex."""
    match value:
        case bytes():
            return hex_text(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case Decimal():
            return f"{value:f}"
        case _:
            return value
