"""Contract interfaces of every chain that has them: reading an uploaded text, and one on record.

Here: which format belongs to which chain. Not here: the formats (`ethereum.interfaces`, `solana.interfaces`).
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.errors import InvalidRequest
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.chains.solana.interfaces import ProgramIdl


class RefusedInterface(msgspec.Struct, frozen=True):
    """An interface on record that would be refused if it were uploaded now: no call is decoded by it. `why`: the
    refusal."""

    why: str


ParsedInterface: TypeAlias = ContractAbi | ProgramIdl | RefusedInterface


def check_interface_text(kind: SmartContractInterfaceType, text: str) -> None:
    """Raise InvalidRequest unless the text is an interface of this chain, and every member of it is understood."""
    _read(kind, text)


def read_interface(kind: SmartContractInterfaceType, text: str) -> ParsedInterface:
    """An interface on record. An earlier version may have accepted it by other rules."""
    try:
        return _read(kind, text)
    except InvalidRequest as refused:
        return RefusedInterface(refused.message)


def _read(kind: SmartContractInterfaceType, text: str) -> ContractAbi | ProgramIdl:
    match kind:
        case SmartContractInterfaceType.ETHEREUM:
            return ContractAbi.read(text)
        case SmartContractInterfaceType.SOLANA:
            return ProgramIdl.read(text)
        case _:
            assert_never(kind)
