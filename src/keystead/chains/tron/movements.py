"""What Tron's contracts move, and whom they give power over an account.

Here: the table, by type of contract; its keys are the types that are signed. Not here: calls of smart contracts,
which are encoded as Ethereum's (`ethereum.movements`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from keystead.chains.addresses.text import base58check
from keystead.chains.ethereum.movements import call_movements
from keystead.chains.movements import NATIVE, NOBODY, UNLIMITED, Movement, MovementKind
from keystead.primitives.unreadable import Unreadable, known

_Contract = Mapping[str, Any]
"""The keywords of a contract, as policies see it."""


def _moved(contract: _Contract, kind: MovementKind, to: str, amount: int, asset: str = NATIVE) -> Movement:
    return Movement(
        kind=kind, name=contract["type"], asset=asset, from_=contract["owner_address"], to=to, amount=amount
    )


def _transfer(contract: _Contract) -> Sequence[Movement]:
    return (_moved(contract, MovementKind.TRANSFER, contract["to_address"], contract["amount"]),)


def _trigger(contract: _Contract) -> Sequence[Movement]:
    called, owner = contract["contract_address"], contract["owner_address"]
    moved = call_movements(called, owner, contract["call_value"], bytes.fromhex(contract["data"]), tron_address)
    tokens = contract["call_token_value"]
    if not tokens:
        return moved
    # A token of TRC-10 is named by its number.
    return (*moved, _moved(contract, MovementKind.TRANSFER, called, tokens, str(contract["token_id"])))


def _permissions(contract: _Contract) -> Sequence[Movement]:
    others = [known(contract[part]) for part in ("owner", "witness")]
    permissions = [permission for permission in (*others, *contract["actives"]) if permission is not None]
    keys = dict.fromkeys(key["address"] for permission in permissions for key in permission["keys"])
    asset = Unreadable("all that the account has, as far as the permission's operations go")
    return [
        Movement(
            kind=MovementKind.AUTHORITY,
            name=contract["type"],
            asset=asset,
            from_=contract["owner_address"],
            to=key,
            amount=UNLIMITED,
        )
        for key in keys or (NOBODY,)
    ]


def _own(field: str) -> Callable[[_Contract], Sequence[Movement]]:
    """Coins that stay the account's own. `field`: has the amount."""
    return lambda contract: (_moved(contract, MovementKind.STAKE, contract["owner_address"], contract[field]),)


def _delegated(contract: _Contract) -> Sequence[Movement]:
    return (_moved(contract, MovementKind.STAKE, contract["receiver_address"], contract["balance"]),)


_MOVEMENTS: Final[Mapping[str, Callable[[_Contract], Sequence[Movement]]]] = {
    "TransferContract": _transfer,
    "TriggerSmartContract": _trigger,
    "AccountPermissionUpdateContract": _permissions,
    "FreezeBalanceV2Contract": _own("frozen_balance"),
    "UnfreezeBalanceV2Contract": _own("unfreeze_balance"),
    "DelegateResourceContract": _delegated,
    "UnDelegateResourceContract": _own("balance"),
}


def contract_movements(contract: _Contract) -> Sequence[Movement]:
    """What a contract moves. `contract`: as policies see it."""
    return _MOVEMENTS[contract["type"]](contract)


def fee_movement(owner: str, fee_limit: int) -> Movement:
    """The most that a call of a smart contract may burn for energy. The network also burns fixed fees, such as 100
    TRX for new permissions."""
    return Movement(kind=MovementKind.FEE, name="fee_limit", asset=NATIVE, from_=owner, to=NOBODY, amount=fee_limit)


def tron_address(digits: str) -> str:
    """The address of an account. `digits`: its 20 bytes as 0x and hex digits."""
    return base58check(b"\x41" + bytes.fromhex(digits[2:]))
