"""Contract interfaces of every chain that has them: checking an uploaded text, reading a stored one.

Here: which format belongs to which chain. Not here: the formats (`ethereum.interfaces`, `solana.interfaces`).
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from keystead.api.enums import SmartContractInterfaceType
from keystead.chains.ethereum.interfaces import ContractAbi, check_abi
from keystead.chains.solana.idl import check_idl
from keystead.chains.solana.interfaces import ProgramIdl

ParsedInterface: TypeAlias = ContractAbi | ProgramIdl


def check_interface_text(kind: SmartContractInterfaceType, text: str) -> None:
    """Raise InvalidRequest unless the text is an interface of this chain."""
    match kind:
        case SmartContractInterfaceType.ETHEREUM:
            check_abi(text)
        case SmartContractInterfaceType.SOLANA:
            check_idl(text)
        case _:
            assert_never(kind)


def read_interface(kind: SmartContractInterfaceType, text: str) -> ParsedInterface:
    """An interface whose text was checked."""
    match kind:
        case SmartContractInterfaceType.ETHEREUM:
            return ContractAbi.read(text)
        case SmartContractInterfaceType.SOLANA:
            return ProgramIdl.read(text)
        case _:
            assert_never(kind)
