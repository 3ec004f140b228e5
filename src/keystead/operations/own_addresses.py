"""Which of an organization's own wallets and private keys the addresses in a description are of."""

from __future__ import annotations

import re
from typing import Final

from keystead.chains.addresses.stored_forms import possible_forms
from keystead.describe.description import Fact
from keystead.operations.declare import Reading

_ADDRESS: Final = re.compile(r"[\w:-]{26,120}")

LOOKED_UP_MAX: Final = 8
"""Most addresses of one activity that are looked up."""


async def with_holders(reading: Reading, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts, each that is an address of the organization followed by one that names its wallet or key."""
    found: list[Fact] = []
    looked_up = 0
    for fact in facts:
        found.append(fact)
        if looked_up < LOOKED_UP_MAX and _ADDRESS.fullmatch(fact.text):
            looked_up += 1
            found.extend(await _holder(reading, fact))
    return tuple(found)


async def _holder(reading: Reading, fact: Fact) -> list[Fact]:
    organization = reading.organization
    stored = await reading.store.account_with_address(organization.id, fact.text)
    if stored is not None and (wallet := organization.wallets.get(stored.account.wallet_id)) is not None:
        return [Fact(f"{fact.label} wallet", repr(wallet.wallet_name))]
    for form in possible_forms(fact.text):
        if (key_id := organization.private_keys.oldest_with_address(form)) is not None:
            return [Fact(f"{fact.label} private key", repr(organization.private_keys[key_id].private_key_name))]
    return []
