"""How much of some assets a signature lets leave an account: a sum over its movements.

Here: which movements count, and what is unknown. Not here: the movements of each chain (`<chain>/movements`),
limits on the sum (`organizations.velocity`).

The rules (docs/decisions/0166):

- A transfer and a burn count, unless they come back to the account that signs. Whose value moves makes no
  difference: what the signature takes from somebody else's address counts, too.
- A permission counts with what it lets somebody take.
- Of the fees, Bitcoin's counts. Stakes stay the account's own.
- A movement that may be one of the assets, and does not say which or how much, makes the sum unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import msgspec

from keystead.chains.assets import BITCOIN, EVM, SOLANA, Asset, own_spelling
from keystead.chains.movements import Movement, MovementKind
from keystead.primitives.unreadable import Unreadable

DIGITS: Final = 38
"""The most digits of a limit. No limit is above 10^38."""


class SignedMovements(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature moves.

    `namespace`: of the chain. `reference`: the chain; None if the signature may be used on several. `own`: the
    addresses of the account that signs. `movements`: unreadable if nothing is known of what is signed; then the
    chain is not known either.
    """

    namespace: str = ""
    reference: str | None = None
    own: frozenset[str] = frozenset()
    movements: Sequence[Movement] | Unreadable


class ScaledAsset(msgspec.Struct, frozen=True):
    """An asset, and what its smallest unit is in a sum: a power of ten."""

    asset: Asset
    unit: int


def outflow(signed: SignedMovements, assets: Sequence[ScaledAsset], over: int) -> int | Unreadable | None:
    """What leaves of these assets, in units of the sum. None if no movement is one of them.

    `over`: a sum that is above every limit; an unlimited permission counts as this.
    """
    if isinstance(signed.movements, Unreadable):
        return signed.movements
    on_chain = [each for each in assets if _is_on(each.asset, signed)]
    if not on_chain:
        return None
    by_address: dict[str, int] = {}
    for each in on_chain:  # a signature for any chain counts as the largest
        by_address[each.asset.address] = max(each.unit, by_address.get(each.asset.address, 0))
    total: int | None = None
    for movement in signed.movements:
        amount = _amount(movement, by_address, signed, over)
        if isinstance(amount, Unreadable):
            return amount
        if amount:
            total = (total or 0) + amount
    return total


def _is_on(asset: Asset, signed: SignedMovements) -> bool:
    """Whether the signature may move value on the chain of the asset. Only Ethereum's transactions name theirs."""
    if asset.namespace != signed.namespace:
        return False
    return signed.namespace != EVM or signed.reference in (None, asset.reference)


def _amount(movement: Movement, by_address: dict[str, int], signed: SignedMovements, over: int) -> int | Unreadable:
    """What leaves with this movement, 0 if nothing of these assets does."""
    if not _leaves(movement, signed):
        return 0
    if movement.kind is MovementKind.UNKNOWN:
        assert isinstance(movement.amount, Unreadable)
        return Unreadable(f"{movement.name}: {movement.amount.reason}")
    if movement.amount == 0:
        return 0
    if isinstance(movement.asset, Unreadable):
        return Unreadable(f"the asset of {movement.name}: {movement.asset.reason}")
    unit = by_address.get(own_spelling(signed.namespace, movement.asset))
    if unit is None:
        return 0
    if isinstance(movement.amount, Unreadable):
        return Unreadable(f"the amount of {movement.name}: {movement.amount.reason}")
    return max(over, movement.amount * unit) if movement.is_unlimited else movement.amount * unit


def _leaves(movement: Movement, signed: SignedMovements) -> bool:
    match movement.kind:
        case MovementKind.MINT | MovementKind.STAKE:
            return False
        case MovementKind.FEE:
            return signed.namespace == BITCOIN
        case MovementKind.AUTHORITY if signed.namespace == SOLANA and movement.name.startswith("CreateAccount"):
            return movement.from_ in signed.own  # a new account has only what the same instruction gives it
        case (
            MovementKind.TRANSFER
            | MovementKind.ALLOWANCE
            | MovementKind.AUTHORITY
            | MovementKind.BURN
            | MovementKind.UNKNOWN
        ):
            return movement.to not in signed.own
        case _:
            assert_never(movement.kind)
