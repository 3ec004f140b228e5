"""The description of an activity, and the names that belong to ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.chains.contract_interfaces import ParsedInterface


class Fact(msgspec.Struct, frozen=True):
    """One detail. `text` may have several lines. Both may hold text that other people wrote."""

    label: str
    text: str


class ActivityDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What an activity asks.

    - `headline`: one sentence without full stop.
    - `what`: a few words for a table.
    - `recipient`: the address that is paid, permitted or called; "" if there is none, or more than one.
    - `amount`: the amount with its unit; "" if nothing is moved, or more than one amount.
    - `cautions`: sentences about what people easily overlook, and about what the request does not say.
    """

    headline: str
    what: str
    recipient: str = ""
    amount: str = ""
    facts: tuple[Fact, ...] = ()
    cautions: tuple[str, ...] = ()


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the organization; all of it may be empty.

    `of_ids`: names of users, tags, wallets, private keys and policies, by id. `policies`: policies in force by id,
    as the API shows them. `interfaces`: uploaded interfaces by the contract's address, as written in
    `TransactionView.contracts`.
    """

    of_ids: Mapping[str, str] = msgspec.field(default_factory=dict)
    policies: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    interfaces: Mapping[str, ParsedInterface] = msgspec.field(default_factory=dict)

    def with_name(self, text: str) -> str:
        """An id with the name that it stands for; any other text as it is."""
        return f"{self.of_ids[text]!r} ({text})" if text in self.of_ids else text
