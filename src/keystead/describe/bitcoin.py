"""Bitcoin's transactions in words, from the keywords that policies see."""

from __future__ import annotations

from keystead.chains.addresses.bitcoin import NETWORKS, network_of
from keystead.chains.bitcoin.facts import BitcoinOutput, BitcoinTransaction
from keystead.describe.amounts import SATOSHI_PLACES, in_units, unknown_or
from keystead.describe.description import ActivityDescription, Fact
from keystead.primitives.unreadable import Unreadable, known


def describe_bitcoin(tx: BitcoinTransaction, sign_with: str) -> ActivityDescription:
    """The description of a Bitcoin transaction, from its keywords `bitcoin.tx`. `sign_with`: the address that
    signs; an output to it is change."""
    network = next(name for name, prefixes in NETWORKS.items() if prefixes == network_of(sign_with))
    chain = "Bitcoin" if network == "MAINNET" else f"Bitcoin, {network.lower()}"
    paid = [output for output in tx["outputs"] if output["address"] != sign_with]
    total = _bitcoins(sum(output["value"] for output in paid))
    recipients = list(dict.fromkeys(map(_recipient, paid)))
    if not paid:
        headline, what, recipient, amount = "Send coins back to the address itself", "send to itself", sign_with, ""
    elif len(recipients) == 1:
        headline, what, recipient, amount = f"Send {total} to {recipients[0]}", "send", recipients[0], total
    else:
        headline, what, recipient, amount = f"Send {total} to {len(recipients)} addresses", "send", "", total
    facts = [
        Fact("chain", chain),
        Fact("from", sign_with),
        *(
            Fact(
                f"output {number}",
                f"{_bitcoins(output['value'])} to {_recipient(output)}"
                + (" (comes back)" if output["address"] == sign_with else ""),
            )
            for number, output in enumerate(tx["outputs"], 1)
        ),
        Fact("fee", unknown_or(tx["fee"]) if isinstance(tx["fee"], Unreadable) else _bitcoins(tx["fee"])),
        Fact("inputs", str(len(tx["inputs"]))),
    ]
    if tx["locktime"]["amount"]:
        unit = "block" if tx["locktime"]["type"] == "Blocks" else "Unix time"
        facts.append(Fact("not before", f"{unit} {tx['locktime']['amount']}"))
    return ActivityDescription(
        headline=f"{headline}, on {chain}", what=what, recipient=recipient, amount=amount, facts=tuple(facts)
    )


def _bitcoins(satoshis: int) -> str:
    return in_units(satoshis, SATOSHI_PLACES, "BTC")


def _recipient(output: BitcoinOutput) -> str:
    return known(output["address"]) or f"the script {output['script_pubkey']}"
