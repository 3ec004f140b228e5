"""Authorizations of EIP-7702: the code of an address becomes the code of the account that signs.

Here: what policies see of one, alone or in a transaction, and what it moves. Not here: its encodings (`payloads`,
`transaction`).
"""

from __future__ import annotations

from typing import Final

from keystead.chains.ethereum.facts import AuthorizationFacts
from keystead.chains.movements import UNLIMITED, Movement, MovementKind
from keystead.primitives.unreadable import Unreadable

_EVERY_CHAIN: Final = Unreadable("an authorization for chain 0 holds on every chain", literal=0)


def authorization_facts(address: str, chain_id: int, nonce: int) -> AuthorizationFacts:
    """`address`: as 0x and hex digits in lower case. `chain_id`: 0 for every chain, which is equal to no other."""
    return {"address": address, "chain_id": chain_id or _EVERY_CHAIN, "nonce": nonce}


def authorization_movement(address: str) -> Movement:
    """The code of this address controls the account that signed the authorization."""
    return Movement(
        kind=MovementKind.AUTHORITY,
        name="authorization",
        asset=Unreadable("all that the account has"),
        from_=Unreadable("the account that signed the authorization"),
        to=address,
        amount=UNLIMITED,
    )
