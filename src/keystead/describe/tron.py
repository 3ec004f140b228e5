"""Tron's transactions in words, from the keywords that policies see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keystead.chains.tron.facts import TronTransaction
from keystead.chains.tron.movements import tron_address
from keystead.describe.amounts import SUN_PLACES, in_units
from keystead.describe.description import ActivityDescription, Fact
from keystead.describe.ethereum import shortened_hex
from keystead.describe.fields import facts_of, name_in_words
from keystead.describe.token_calls import TokenCall, token_call
from keystead.primitives.unreadable import Unreadable

_AMOUNTS = ("amount", "call_value", "balance", "frozen_balance", "unfreeze_balance")


def describe_tron(tx: TronTransaction) -> ActivityDescription:
    (declared,) = tx["contract"]
    contract: Mapping[str, Any] = {
        name: value for name, value in declared.items() if not isinstance(value, Unreadable)
    }
    kind = contract["type"].removesuffix("Contract")
    headline, what, recipient, amount = _kind_in_words(kind), _kind_in_words(kind).lower(), "", ""
    cautions: list[str] = []
    match kind:
        case "Transfer":
            recipient, amount = contract["to_address"], _trx(contract["amount"])
            headline, what = f"Send {amount} to {recipient}", "send"
        case "TriggerSmart":
            headline, what, recipient, amount, cautions = _call(contract)
        case "AccountPermissionUpdate":
            headline, what = (
                f"Change who may sign for the account {contract['owner_address']}",
                "change permissions",
            )
            cautions = ["the keys of the new permissions control the account from then on"]
        case _:
            recipient = contract.get("receiver_address", "")
            amounts = [contract[name] for name in _AMOUNTS if name in contract]
            amount = _trx(amounts[0]) if amounts else ""
            headline = f"{_kind_in_words(kind)}: {amount}" + (f", for {recipient}" if recipient else "")
    shown = {
        name_in_words(name).replace("_", " "): _trx(value) if name in _AMOUNTS else value
        for name, value in contract.items()
        if name not in ("type", "data", "permission_id")
    }
    facts = [Fact("chain", "Tron"), *facts_of(shown)]
    if kind == "TriggerSmart" and (token := _token_call(contract)) is not None:
        facts.extend(token.details)
    if contract.get("data"):
        facts.append(Fact("data", shortened_hex(bytes.fromhex(contract["data"]))))
    facts.append(Fact("fee", f"at most {_trx(tx['fee_limit'])}"))
    return ActivityDescription(
        headline=f"{headline}, on Tron",
        what=what,
        recipient=recipient,
        amount=amount,
        facts=tuple(facts),
        cautions=tuple(cautions),
    )


def _call(contract: Mapping[str, Any]) -> tuple[str, str, str, str, list[str]]:
    """Headline, short form, recipient, amount, cautions."""
    address, data = contract["contract_address"], bytes.fromhex(contract["data"])
    value = f", and send it {_trx(contract['call_value'])}" if contract["call_value"] else ""
    token = _token_call(contract)
    if token is None:
        caution = f"what the contract {address} does with these {len(data)} bytes cannot be shown"
        return f"Call the contract {address}{value}", "call a contract", address, "", [caution]
    return (
        token.headline + value,
        token.what,
        token.recipient,
        token.amount,
        [token.caution] if token.caution else [],
    )


def _token_call(contract: Mapping[str, Any]) -> TokenCall | None:
    data = bytes.fromhex(contract["data"])
    return token_call(contract["contract_address"], data, contract["owner_address"], tron_address)


def _trx(sun: int) -> str:
    return in_units(sun, SUN_PLACES, "TRX")


def _kind_in_words(kind: str) -> str:
    """The words of a kind of contract: "Freeze balance V2" for FreezeBalanceV2."""
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in kind).split()
    return " ".join([words[0], *(word if word[:1] == "V" else word.lower() for word in words[1:])])
