"""Calls that the token standards define: whom they pay, how much, and what they permit.

A selector says which function of a standard is meant; what the contract does, it does not say. Sources: ERC-20,
ERC-721, ERC-1155.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from keystead.chains.addresses.text import eip55
from keystead.chains.ethereum.interfaces import ContractAbi
from keystead.describe.description import Fact

_FUNCTIONS: Final = (
    ("transfer", ("address to", "uint256 amount")),
    ("approve", ("address spender", "uint256 amount")),
    ("transferFrom", ("address from", "address to", "uint256 amount")),
    ("safeTransferFrom", ("address from", "address to", "uint256 tokenId")),
    ("setApprovalForAll", ("address spender", "bool approved")),
)
UNLIMITED_FROM: Final = 1 << 128
"""No token has so many units: an approval of more is meant to have no limit."""


class TokenCall(msgspec.Struct, frozen=True, kw_only=True):
    """`recipient`: who gets tokens, or may take them. `amount` in words; `caution`: "" for none.

    `details`: the arguments.
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
                "name": name,
                "inputs": [dict(zip(("type", "name"), each.split(), strict=True)) for each in inputs],
            }
            for name, inputs in _FUNCTIONS
        ]
    ).decode()
)


def checksummed(address: str) -> str:
    """An Ethereum address as people compare it, with the letter case of EIP-55; other text as it is."""
    if len(address) != 42 or not address.startswith("0x"):
        return address
    return "0x" + eip55(address[2:].lower())


def token_call(contract: str, calldata: bytes, written: Callable[[str], str] = checksummed) -> TokenCall | None:
    """What the calldata asks of a token contract; None if it is no call of the standards.

    written: how the network writes an address, given as 0x and hex digits.
    """
    call = _STANDARD.call(calldata)
    if not call:
        return None
    values: dict[str, Any] = dict(call["contract_call_args"])
    match call["function_name"]:
        case "transfer":
            number, to = values["amount"], written(values["to"])
            return TokenCall(
                what="send tokens",
                headline=f"Send {number} smallest units of the token {contract} to {to}",
                recipient=to,
                amount=f"{number} units",
                details=(Fact("tokens to", to), Fact("amount", f"{number} units")),
            )
        case "transferFrom" | "safeTransferFrom":
            number = values.get("amount", values.get("tokenId"))
            to, owner = written(values["to"]), written(values["from"])
            return TokenCall(
                what="move tokens",
                headline=f"Move {number} (units, or a token's id) of the token {contract} from {owner} to {to}",
                recipient=to,
                amount=f"{number} units",
                details=(Fact("tokens of", owner), Fact("tokens to", to), Fact("amount, or id", str(number))),
            )
        case "approve":
            spender, is_unlimited = written(values["spender"]), values["amount"] >= UNLIMITED_FROM
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
        case _:
            spender, is_given = written(values["spender"]), values["approved"]
            permit = "Permit" if is_given else "No longer permit"
            return TokenCall(
                what="permit all tokens" if is_given else "end a permission",
                headline=f"{permit} {spender} to move all tokens of {contract}",
                recipient=spender,
                amount="all tokens" if is_given else "",
                caution=f"{spender} may move every token of this contract, today and later" if is_given else "",
                details=(Fact("spender", spender),),
            )
