"""Finds the addresses of the organization's own wallets and private keys in a description of an activity."""

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
    """The facts. After each fact that is an address of the organization, a fact names its wallet or private key."""
    extended: list[Fact] = []
    looked_up = 0
    for fact in facts:
        extended.append(fact)
        if looked_up < LOOKED_UP_MAX and _ADDRESS.fullmatch(fact.text):
            looked_up += 1
            extended.extend(await _holder_facts(reading, fact))
    return tuple(extended)


async def _holder_facts(reading: Reading, fact: Fact) -> list[Fact]:
    organization = reading.organization
    stored = await reading.store.accounts.with_address(organization.id, fact.text)
    if stored is not None and (wallet := organization.wallets.get(stored.account.wallet_id)) is not None:
        return [Fact(f"{fact.label} wallet", repr(wallet.wallet_name))]
    for form in possible_forms(fact.text):
        if (key_id := organization.private_keys.oldest_with_address(form)) is not None:
            return [Fact(f"{fact.label} private key", repr(organization.private_keys[key_id].private_key_name))]
    return []
