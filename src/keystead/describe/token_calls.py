"""Calls that the token standards define: who is paid, how much, and what is permitted.

A selector says which function of a standard is called. It does not say what the contract does. Sources: ERC-20,
ERC-721, ERC-1155.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from keystead.chains.addresses.text import eip55
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.describe.description import Fact
from keystead.primitives.unreadable import known


class _Function(StrEnum):
    TRANSFER = "transfer"
    APPROVE = "approve"
    TRANSFER_FROM = "transferFrom"
    SAFE_TRANSFER_FROM = "safeTransferFrom"
    SET_APPROVAL_FOR_ALL = "setApprovalForAll"


_INPUTS: Final[Mapping[_Function, tuple[str, ...]]] = {
    _Function.TRANSFER: ("address to", "uint256 amount"),
    _Function.APPROVE: ("address spender", "uint256 amount"),
    _Function.TRANSFER_FROM: ("address from", "address to", "uint256 amount"),
    _Function.SAFE_TRANSFER_FROM: ("address from", "address to", "uint256 tokenId"),
    _Function.SET_APPROVAL_FOR_ALL: ("address spender", "bool approved"),
}
UNLIMITED_FROM: Final = 1 << 128
"""An approval of this many units or more has no limit in practice, because no token has as many."""


class TokenCall(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a call. `recipient`: the address that gets tokens, or may take them. `amount`: in words.

    `caution`: "" for none. `details`: the arguments.
    """

    what: str
    headline: str
    recipient: str
    amount: str
    caution: str = ""
    details: tuple[Fact, ...] = ()


_STANDARD: Final = ContractAbi.read(
    msgspec.json.encode(
        [
            {
                "type": "function",
                "name": function,
                "inputs": [dict(zip(("type", "name"), declared.split(), strict=True)) for declared in inputs],
            }
            for function, inputs in _INPUTS.items()
        ]
    ).decode()
)


def to_checksum_address(address: str) -> str:
    """An Ethereum address with the letter case of EIP-55. Other text is returned unchanged."""
    if len(address) != 42 or not address.startswith("0x"):
        return address
    return "0x" + eip55(address[2:].lower())


def token_call(
    contract: str, calldata: bytes, write_address: Callable[[str], str] = to_checksum_address
) -> TokenCall | None:
    """The description of a call to a token contract; None if the standards do not define it.

    `write_address`: from an address as 0x and hex digits to the text of the network.
    """
    call = _STANDARD.call(calldata)
    values, name = known(call["contract_call_args"]), known(call["function_name"])
    if values is None or name is None:
        return None
    function = _Function(name)
    match function:
        case _Function.TRANSFER:
            number, to = values["amount"], write_address(values["to"])
            return TokenCall(
                what="send tokens",
                headline=f"Send {number} smallest units of the token {contract} to {to}",
                recipient=to,
                amount=f"{number} units",
                details=(Fact("tokens to", to), Fact("amount", f"{number} units")),
            )
        case _Function.TRANSFER_FROM | _Function.SAFE_TRANSFER_FROM:
            number = values.get("amount", values.get("tokenId"))
            to, owner = write_address(values["to"]), write_address(values["from"])
            return TokenCall(
                what="move tokens",
                headline=f"Move {number} (units, or a token's id) of the token {contract} from {owner} to {to}",
                recipient=to,
                amount=f"{number} units",
                details=(Fact("tokens of", owner), Fact("tokens to", to), Fact("amount, or id", str(number))),
            )
        case _Function.APPROVE:
            spender, is_unlimited = write_address(values["spender"]), values["amount"] >= UNLIMITED_FROM
            number = "any number of" if is_unlimited else f"{values['amount']}"
            amount = "without limit" if is_unlimited else f"{number} units"
            return TokenCall(
                what="permit spending",
                headline=f"Permit {spender} to take {number} smallest units of the token {contract}",
                recipient=spender,
                amount=amount,
                caution=f"{spender} may take every token of this contract, today and later" if is_unlimited else "",
                details=(Fact("spender", spender), Fact("amount", amount)),
            )
        case _Function.SET_APPROVAL_FOR_ALL:
            spender, is_given = write_address(values["spender"]), values["approved"]
            permit = "Permit" if is_given else "No longer permit"
            return TokenCall(
                what="permit all tokens" if is_given else "end a permission",
                headline=f"{permit} {spender} to move all tokens of {contract}",
                recipient=spender,
                amount="all tokens" if is_given else "",
                caution=f"{spender} may move every token of this contract, today and later" if is_given else "",
                details=(Fact("spender", spender),),
            )
        case _:
            assert_never(function)
