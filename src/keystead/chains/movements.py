"""Movements: what a transaction moves, and whom it gives power over value. One form for every chain.

Here: the form, and what policies see of it. Not here: the table of each chain, a pure function from a transaction
to its movements (`<chain>/movements`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import msgspec

from keystead.primitives.unreadable import Unreadable

NATIVE: Final = "NATIVE"
"""The asset that is the chain's own coin."""

NOBODY: Final = ""
"""Where a movement comes from nobody or goes to nobody, as when tokens are minted or burned."""

UNLIMITED: Final = (1 << 256) - 1
"""The amount of a permission that has none."""

_UNLIMITED_FROM: Final = 1 << 128


class MovementKind(StrEnum):
    TRANSFER = "TRANSFER"
    """An account gets value of another."""
    ALLOWANCE = "ALLOWANCE"
    """Somebody may take value later. An allowance of 0 ends one."""
    AUTHORITY = "AUTHORITY"
    """The power over an account, a mint or a program changes."""
    STAKE = "STAKE"
    """Value is locked, unlocked or delegated. It stays the account's own."""
    MINT = "MINT"
    BURN = "BURN"
    FEE = "FEE"
    """What the network takes, at most."""
    UNKNOWN = "UNKNOWN"
    """A contract or program decides, and its call does not say what it moves."""


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """What a transaction or typed data moves, or whom it gives power over value.

    - `name`: the function, instruction or part of the transaction that moves, as its chain names it.
    - `contract`: the contract or program that is called; "" for the chain itself.
    - `asset`: NATIVE, or the token: the address of its contract or mint, or its number (TRC-10).
    - `from_`, `to`: addresses as the chain writes them; NOBODY for none. For an allowance, the owner and who may
      take. For an authority, the account and who controls it from then on.
    - `amount`: in smallest units; where the chain may take less, the most. Of a function that ERC-20 and ERC-721
      share, it may be the number of the token. UNLIMITED for a permission without a limit.
    - `item`: the number of the token, where the function says that it is one. Policies do not see it.
    """

    kind: MovementKind
    name: str
    contract: str = ""
    asset: str | Unreadable
    from_: str | Unreadable
    to: str | Unreadable
    amount: int | Unreadable
    item: int | None = None

    @property
    def is_unlimited(self) -> bool:
        """Whether it is a permission without a limit in practice: no token has 2^128 units."""
        is_permission = self.kind in (MovementKind.ALLOWANCE, MovementKind.AUTHORITY)
        return is_permission and isinstance(self.amount, int) and self.amount >= _UNLIMITED_FROM


def movement_facts(movements: Iterable[Movement]) -> list[Any]:
    """What policies see of them. Fees are a fact of their own."""
    return [
        {
            "kind": movement.kind.value,
            "name": movement.name,
            "contract": movement.contract,
            "asset": movement.asset,
            "from": movement.from_,
            "to": movement.to,
            "amount": movement.amount,
        }
        for movement in movements
        if movement.kind is not MovementKind.FEE
    ]


def fee_of(movements: Iterable[Movement]) -> int:
    """The fact `fee` where the transaction says it: the most that the network takes, in smallest units of what it
    takes."""
    (fee,) = [movement.amount for movement in movements if movement.kind is MovementKind.FEE]
    assert isinstance(fee, int)
    return fee
