"""Contract ABIs: checking a text, and which function calldata calls, with which arguments.

Here: the entries of an ABI, selectors, the keywords of a call. Not here: how arguments are encoded (`abi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from keystead.chains.ethereum.abi import (
    NESTING_MAX,
    AbiType,
    NotAbiType,
    NotDecodable,
    Tuple,
    array_of,
    decode,
    elementary_type,
    split_dimensions,
    tuple_of,
)
from keystead.chains.ethereum.facts import ContractCall
from keystead.chains.interface_text import invalid_interface, read_json
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

ENTRIES_MAX: Final = 5_000
"""The most entries (functions, events and so on) of one ABI. Compiled contracts have at most some hundreds."""

SELECTOR_BYTES: Final = 4
"""The first four bytes of calldata name the function: keccak-256 of its signature."""

_WHAT = "an Ethereum ABI"


class AbiParameter(msgspec.Struct, frozen=True, gc=False):
    """An input or output. `components` are the members of a tuple."""

    type: str
    name: str = ""
    components: tuple[AbiParameter, ...] = ()


class AbiEntry(msgspec.Struct, frozen=True, gc=False):
    """A function, constructor, event, error, fallback or receive. Before Solidity 0.4.2 `type` could be absent."""

    type: Literal["function", "constructor", "event", "error", "fallback", "receive"] = "function"
    name: str = ""
    inputs: tuple[AbiParameter, ...] = ()
    outputs: tuple[AbiParameter, ...] = ()


_ABI = msgspec.json.Decoder(tuple[AbiEntry, ...])


def check_abi(text: str) -> None:
    """Raise InvalidRequest unless the text is a JSON array of entries whose types the ABI has."""
    entries: tuple[AbiEntry, ...] = read_json(_ABI, text, _WHAT)
    if len(entries) > ENTRIES_MAX:
        raise invalid_interface(_WHAT, f"{len(entries)} entries; at most {ENTRIES_MAX} are allowed")
    known: dict[str, AbiType] = {}
    for index, entry in enumerate(entries):
        if not entry.name and entry.type in ("function", "event", "error"):
            raise invalid_interface(_WHAT, f"entry {index}: a {entry.type} needs a `name`")
        try:
            for parameters in (entry.inputs, entry.outputs):
                tuple_of([_type(parameter, known) for parameter in parameters])
        except NotAbiType as refused:
            raise invalid_interface(_WHAT, f"entry {index} ({entry.name[:100]}): {refused}") from None


def _type(parameter: AbiParameter, known: dict[str, AbiType], depth: int = 0) -> AbiType:
    """The type of a parameter. `known`: the elementary types that were met, by name; the function adds to it.
    Nearly all parameters have one of a few types. Raises NotAbiType."""
    if parameter.type in known:
        return known[parameter.type]
    item, dimensions = split_dimensions(parameter.type)
    depth += len(dimensions)
    if depth > NESTING_MAX:
        raise NotAbiType(f"tuples and arrays are nested more than {NESTING_MAX} deep")
    if item == "tuple":
        kind: AbiType = tuple_of([_type(component, known, depth + 1) for component in parameter.components])
    else:
        plain = elementary_type(item)
        if plain is None:
            raise NotAbiType(f"unknown type {parameter.type[:100]!r}")
        kind = known[item] = plain
    for size in dimensions:
        kind = array_of(kind, size)
    return kind


class ContractAbi(msgspec.Struct, frozen=True):
    """The functions of an uploaded ABI by selector; None for a selector that two different functions share."""

    functions: Mapping[bytes, AbiEntry | None]

    @staticmethod
    def read(text: str) -> ContractAbi:
        """The functions of a text that `check_abi` has accepted."""
        functions: dict[bytes, AbiEntry | None] = {}
        for entry in _ABI.decode(text):
            if entry.type == "function":
                selector = keccak256(_signature(entry).encode())[:SELECTOR_BYTES]
                known = functions.setdefault(selector, entry)
                if known is not None and (known.name, known.inputs) != (entry.name, entry.inputs):
                    functions[selector] = None
        return ContractAbi(functions)

    def call(self, calldata: bytes) -> ContractCall:
        """The function that the calldata names, with its arguments by name.

        All of it is unreadable if the ABI has no such function, or two with this selector, if two arguments have
        the same name, or if the arguments do not fit the ABI or cost too much. Bytes behind the arguments are
        ignored, as contracts do. Arguments without a name are left out.
        """
        selector = calldata[:SELECTOR_BYTES]
        signature = "0x" + selector.hex()
        if selector not in self.functions:
            return unreadable_call(f"the uploaded interface has no function {signature}")
        function = self.functions[selector]
        if function is None:
            return unreadable_call(f"the uploaded interface has two functions {signature}")
        names = [parameter.name for parameter in function.inputs if parameter.name]
        if len(set(names)) != len(names):
            return unreadable_call(f"in the uploaded interface, two arguments of {function.name} have one name")
        try:
            values = decode(_arguments(function), calldata[SELECTOR_BYTES:])
        except NotDecodable as refused:
            return unreadable_call(f"the call does not fit the uploaded interface: {refused}")
        return {
            "function_name": function.name,
            "function_signature": signature,
            "contract_call_args": {
                parameter.name: value
                for parameter, value in zip(function.inputs, values, strict=True)
                if parameter.name
            },
        }


def unreadable_call(reason: str) -> ContractCall:
    """A call of which nothing can be read."""
    unreadable = Unreadable(reason)
    return {
        "function_name": unreadable,
        "function_signature": unreadable,
        "contract_call_args": unreadable,
    }


def _arguments(function: AbiEntry) -> Tuple:
    known: dict[str, AbiType] = {}
    return tuple_of([_type(parameter, known) for parameter in function.inputs])


def _signature(function: AbiEntry) -> str:
    return f"{function.name}({','.join(map(_type_text, function.inputs))})"


def _type_text(parameter: AbiParameter) -> str:
    """The type as signatures write it: a tuple by its members, aliases in full."""
    item, bracket, dimensions = parameter.type.partition("[")
    if item == "tuple":
        item = f"({','.join(map(_type_text, parameter.components))})"
    return _FULL_NAMES.get(item, item) + bracket + dimensions


_FULL_NAMES: Final[Mapping[str, str]] = {
    "uint": "uint256",
    "int": "int256",
    "fixed": "fixed128x18",
    "ufixed": "ufixed128x18",
}
