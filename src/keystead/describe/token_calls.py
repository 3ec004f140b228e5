"""Calls of the token standards in words: who is paid, how much, and what is permitted.

The words are of the movements of the call (`chains.ethereum.movements`). A selector says which function of a
standard is called. It does not say what the contract does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from keystead.chains.addresses.text import eip55
from keystead.chains.ethereum.movements import call_movements
from keystead.chains.movements import Movement, MovementKind
from keystead.describe.amounts import unknown_or
from keystead.describe.description import Fact


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


def to_checksum_address(address: str) -> str:
    """An Ethereum address with the letter case of EIP-55. Other text is returned unchanged."""
    if len(address) != 42 or not address.startswith("0x"):
        return address
    return "0x" + eip55(address[2:].lower())


def token_call(
    contract: str, calldata: bytes, sender: str, write_address: Callable[[str], str] = to_checksum_address
) -> TokenCall | None:
    """The description of a call to a token contract; None if the standards do not define it.

    `write_address`: from an address as 0x and hex digits to the text of the network.
    """
    movements = call_movements(contract, sender, 0, calldata, write_address)
    if not movements or any(movement.kind is MovementKind.UNKNOWN for movement in movements):
        return None
    return _described(movements[0], sender) if len(movements) == 1 else _several(movements, sender)


def _several(movements: Sequence[Movement], sender: str) -> TokenCall:
    described = [_described(movement, sender) for movement in movements]
    return TokenCall(
        what=f"{len(described)} movements of tokens",
        headline=f"{movements[0].name}: {len(described)} movements of tokens",
        recipient="",
        amount="",
        caution="; ".join(each.caution for each in described if each.caution),
        details=tuple(Fact(f"movement {number}", each.headline) for number, each in enumerate(described, 1)),
    )


def _described(movement: Movement, sender: str) -> TokenCall:
    token, to = unknown_or(movement.asset), unknown_or(movement.to)
    owner, number = unknown_or(movement.from_), unknown_or(movement.amount)
    if movement.kind is MovementKind.ALLOWANCE:
        return _allowance(movement, token, to)
    if movement.kind is MovementKind.MINT:
        what, headline = "mint tokens", f"Mint {number} smallest units of the token {token} for {to}"
    elif movement.kind is MovementKind.BURN:
        what, headline = "burn tokens", f"Burn {number} smallest units of the token {token} of {owner}"
    elif movement.item is not None:
        what, headline = (
            "move tokens",
            f"Move {number} of the token {movement.item} of {token} from {owner} to {to}",
        )
    elif owner == sender:
        what, headline = "send tokens", f"Send {number} smallest units of the token {token} to {to}"
    else:
        what = "move tokens"
        headline = f"Move {number} (units, or a token's id) of the token {token} from {owner} to {to}"
    sides = (("tokens of", owner if owner != sender else ""), ("tokens to", to))
    return TokenCall(
        what=what,
        headline=headline,
        recipient=to,
        amount=f"{number} units",
        details=(*(Fact(label, text) for label, text in sides if text), Fact("amount", f"{number} units")),
    )


def _allowance(movement: Movement, token: str, spender: str) -> TokenCall:
    whose = Fact("spender", spender)
    if movement.amount == 0:
        headline = f"No longer permit {spender} to take tokens of {token}"
        return TokenCall(what="end a permission", headline=headline, recipient=spender, amount="", details=(whose,))
    amount = "without limit" if movement.is_unlimited else f"{unknown_or(movement.amount)} units"
    taken = "every token" if movement.is_unlimited else f"{unknown_or(movement.amount)} smallest units of the token"
    return TokenCall(
        what="permit spending",
        headline=f"Permit {spender} to take {taken}{' of' if movement.is_unlimited else ''} {token}",
        recipient=spender,
        amount=amount,
        caution=f"{spender} may take every token of {token}, today and later" if movement.is_unlimited else "",
        details=(whose, Fact("amount", amount)),
    )
