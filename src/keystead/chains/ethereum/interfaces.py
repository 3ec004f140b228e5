"""Contract ABIs: checking a text, and which function calldata calls, with which arguments.

Here: every member that an ABI may have, selectors, the keywords of a call. Not here: how arguments are encoded
(`abi`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from keystead.chains.bounds import ABI_ENTRIES_MAX, ABI_NESTING_MAX
from keystead.chains.ethereum import abi
from keystead.chains.ethereum.facts import ContractCall
from keystead.chains.interface_text import InterfaceName, first_repeated, invalid_interface, read_json
from keystead.primitives.keccak import keccak256
from keystead.primitives.unreadable import Unreadable

SELECTOR_BYTES: Final = 4
"""The first four bytes of calldata name the function: keccak-256 of its signature."""

_WHAT = "an Ethereum ABI"
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class AbiParameter(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """An input or output. `components`: the members of a tuple."""

    type: str
    name: InterfaceName = ""
    components: tuple[AbiParameter, ...] = ()
    # These change nothing about calldata: the type in the source, whether an event indexes the value, and the
    # physical unit that Vyper once wrote.
    internal_type: Any = None
    indexed: Any = None
    unit: Any = None


class AbiEntry(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A function, constructor, event, error, fallback or receive. Before Solidity 0.4.2 `type` could be absent.
    `signature`: a selector that web3.js adds; it must be right."""

    type: Literal["function", "constructor", "event", "error", "fallback", "receive"] = "function"
    name: InterfaceName = ""
    inputs: tuple[AbiParameter, ...] = ()
    outputs: tuple[AbiParameter, ...] = ()
    signature: str | None = None
    # These change nothing about calldata: what a call may do and cost, and whether an event has a topic.
    state_mutability: Any = None
    constant: Any = None
    payable: Any = None
    gas: Any = None
    anonymous: Any = None


_ABI = msgspec.json.Decoder(tuple[AbiEntry, ...])


def _tuple_of(parameters: Sequence[AbiParameter], known: dict[str, abi.AbiType], depth: int = 0) -> abi.Tuple:
    return abi.tuple_of([_type(parameter, known, depth) for parameter in parameters])


def _type(parameter: AbiParameter, known: dict[str, abi.AbiType], depth: int) -> abi.AbiType:
    """The type of a parameter. `known`: the elementary types that were met, by name; the function adds to it.
    Nearly all parameters have one of a few types. Raises NotAbiType."""
    if parameter.type in known and not parameter.components:
        return known[parameter.type]
    item, dimensions = abi.split_dimensions(parameter.type)
    depth += len(dimensions)
    if depth > ABI_NESTING_MAX:
        raise abi.NotAbiType(f"tuples and arrays are nested more than {ABI_NESTING_MAX} deep")
    if (item == "tuple") is not bool(parameter.components):
        raise abi.NotAbiType(f"type {parameter.type[:100]!r}: a tuple has `components`, and no other type has them")
    if item == "tuple":
        kind: abi.AbiType = _tuple_of(parameter.components, known, depth + 1)
    else:
        plain = abi.elementary_type(item)
        if plain is None:
            raise abi.NotAbiType(f"unknown type {parameter.type[:100]!r}")
        kind = known[item] = plain
    for size in dimensions:
        kind = abi.array_of(kind, size)
    return kind


class ContractFunction(msgspec.Struct, frozen=True):
    """`names`: those of the arguments; empty for one that has none."""

    name: str
    signature: str
    names: tuple[str, ...]
    arguments: abi.Tuple


class ContractAbi(msgspec.Struct, frozen=True):
    """The functions of an uploaded ABI by selector."""

    functions: Mapping[bytes, ContractFunction]

    @staticmethod
    def read(text: str) -> ContractAbi:
        """The functions of an ABI. Raises InvalidRequest if a member of it is not understood, or if a call could be
        read in two ways: two functions with one selector, two arguments of one name."""
        functions: dict[bytes, ContractFunction] = {}
        known: dict[str, abi.AbiType] = {}
        entries: tuple[AbiEntry, ...] = read_json(_ABI, text, _WHAT)
        if len(entries) > ABI_ENTRIES_MAX:
            raise invalid_interface(_WHAT, f"{len(entries)} entries; at most {ABI_ENTRIES_MAX} are allowed")
        for index, entry in enumerate(entries):
            where = f"entry {index} ({entry.name[:100]})"
            if not entry.name and entry.type in ("function", "event", "error"):
                raise invalid_interface(_WHAT, f"entry {index}: a {entry.type} needs a `name`")
            try:
                arguments = _tuple_of(entry.inputs, known)
                _tuple_of(entry.outputs, known)
            except abi.NotAbiType as refused:
                raise invalid_interface(_WHAT, f"{where}: {refused}") from None
            if entry.type == "function":
                _add_function(functions, entry, arguments, where)
        return ContractAbi(functions)

    def call(self, calldata: bytes) -> ContractCall:
        """The function that the calldata names, with its arguments by name.

        All of it is unreadable if the ABI has no such function, or if the arguments do not fit the ABI or cost too
        much. Bytes behind the arguments are ignored, as contracts do. Arguments without a name are left out.
        """
        selector = calldata[:SELECTOR_BYTES]
        function = self.functions.get(selector)
        if function is None:
            return unreadable_call(f"the uploaded interface has no function 0x{selector.hex()}")
        try:
            values = abi.decode(function.arguments, calldata[SELECTOR_BYTES:])
        except abi.NotDecodable as refused:
            return unreadable_call(f"the call does not fit the uploaded interface: {refused}")
        return {
            "function_name": function.name,
            "function_signature": "0x" + selector.hex(),
            "contract_call_args": {name: value for name, value in zip(function.names, values, strict=True) if name},
        }


def unreadable_call(reason: str) -> ContractCall:
    """A call of which nothing can be read."""
    unreadable = Unreadable(reason)
    return {
        "function_name": unreadable,
        "function_signature": unreadable,
        "contract_call_args": unreadable,
    }


def _add_function(
    functions: dict[bytes, ContractFunction], entry: AbiEntry, arguments: abi.Tuple, where: str
) -> None:
    """Add a function. Raises InvalidRequest if a call of it could be read in two ways.

    Old versions of web3.js also read a name with the types in it, such as "transfer(address,uint256)".
    """
    if not _IDENTIFIER.fullmatch(entry.name):
        raise invalid_interface(_WHAT, f"{where}: `name` is not an identifier; write its types in `inputs`")
    names = tuple(parameter.name for parameter in entry.inputs)
    twice = first_repeated(name for name in names if name)
    if twice is not None:
        raise invalid_interface(_WHAT, f"{where}: two inputs are named {twice[:100]!r}")
    signature = f"{entry.name}({','.join(map(_type_text, entry.inputs))})"
    selector = keccak256(signature.encode())[:SELECTOR_BYTES]
    if entry.signature is not None and entry.signature.lower() != "0x" + selector.hex():
        raise invalid_interface(
            _WHAT, f"{where}: `signature` is {entry.signature[:100]!r}, but the selector is 0x{selector.hex()}"
        )
    known = functions.setdefault(selector, ContractFunction(entry.name, signature, names, arguments))
    if known.signature != signature:
        raise invalid_interface(_WHAT, f"{where}: its selector 0x{selector.hex()} is that of {known.name[:100]!r}")
    if known.names != names:
        raise invalid_interface(_WHAT, f"{where}: it is there twice, with other names of its inputs")


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
