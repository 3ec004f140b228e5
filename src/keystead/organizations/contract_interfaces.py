"""The rules of contract interfaces: form of the address, size, one for each contract.

Here: size, address, uniqueness, limit. Not here: what an ABI or an IDL is (`chains`), its storage.
"""

from __future__ import annotations

import re
from typing import assert_never

from keystead.api.enums import SmartContractInterfaceType
from keystead.api.errors import AlreadyExists, InvalidRequest
from keystead.chains.addresses.text import decode_base58, eip55
from keystead.chains.contract_interfaces import check_interface_text
from keystead.organizations.bounds import INTERFACE_BYTES_MAX
from keystead.organizations.kinds.contract_interfaces import CONTRACT_INTERFACE_BYTES, contract_key
from keystead.organizations.limits import Limits, check_limit
from keystead.organizations.organization import Organization

_SOLANA_KEY_BYTES = 32
_ETHEREUM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def check_interface(kind: SmartContractInterfaceType, address: str, text: str) -> None:
    """Raise InvalidRequest unless the address fits its chain and the text is an interface of that chain."""
    size = len(text.encode())
    if size > INTERFACE_BYTES_MAX:
        raise InvalidRequest(
            f"invalid request body: field `parameters.smartContractInterface`: {size} bytes of UTF-8, "
            f"at most {INTERFACE_BYTES_MAX} are allowed"
        )
    match kind:
        case SmartContractInterfaceType.ETHEREUM:
            _check_ethereum_address(address)
        case SmartContractInterfaceType.SOLANA:
            _check_solana_address(address)
        case _:
            assert_never(kind)
    check_interface_text(kind, text)


def check_free(
    organization: Organization, kind: SmartContractInterfaceType, address: str, text_bytes: int, limits: Limits
) -> None:
    """Raise AlreadyExists if the contract has an interface, LimitReached if one more exceeds a limit. `text_bytes`:
    the size of the new interface."""
    interface_id = organization.contract_interfaces.by_contract.get(contract_key(kind, address))
    if interface_id is not None:
        known = organization.contract_interfaces[interface_id]
        raise AlreadyExists(
            f"field `parameters.smartContractAddress`: {address} has a contract interface already: "
            f"{known.label!r} ({known.id})"
        )
    organization.contract_interfaces.check_limit(1, limits)
    check_limit(organization.contract_interfaces.text_bytes, text_bytes, CONTRACT_INTERFACE_BYTES, limits)


def _check_ethereum_address(address: str) -> None:
    if not _ETHEREUM_ADDRESS.fullmatch(address):
        raise _bad_address(address, "expected 0x and 40 hex digits")
    digits = address[2:]
    if digits not in (digits.lower(), digits.upper()) and digits != eip55(digits.lower()):
        raise _bad_address(
            address, f"its letter case fails the EIP-55 checksum; expected 0x{eip55(digits.lower())}"
        )


def _check_solana_address(address: str) -> None:
    key = decode_base58(address, _SOLANA_KEY_BYTES)
    if key is None or len(key) != _SOLANA_KEY_BYTES:
        raise _bad_address(address, "expected base58 of 32 bytes")


def _bad_address(address: str, expected: str) -> InvalidRequest:
    return InvalidRequest(
        f"invalid request body: field `parameters.smartContractAddress`: {address[:100]!r}: {expected}"
    )
