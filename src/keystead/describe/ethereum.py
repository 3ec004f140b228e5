"""Ethereum's transactions and Tempo's in words, from the keywords that policies see."""

from __future__ import annotations

from collections.abc import Iterator

from keystead.chains.ethereum.facts import AuthorizationFacts, EthereumTransaction, TempoCall, TempoTransaction
from keystead.chains.ethereum.interfaces import SELECTOR_BYTES
from keystead.chains.movements import NATIVE
from keystead.describe.amounts import GWEI_PLACES, coin_amount, in_units, network_name, unknown_or
from keystead.describe.description import ActivityDescription, Fact
from keystead.describe.fields import facts_of
from keystead.describe.token_calls import TokenCall, to_checksum_address, token_call
from keystead.primitives.unreadable import Unreadable, known


def describe_ethereum(tx: EthereumTransaction) -> ActivityDescription:
    chain_id = known(tx["chain_id"])
    value = coin_amount(tx["value"], chain_id)
    to, data = to_checksum_address(known(tx["to"]) or ""), bytes.fromhex(tx["data"][2:])
    token = token_call(to, data, to_checksum_address(tx["from"])) if to else None
    headline, what, cautions = _headline(tx, to, data, value, token)
    recipient, amount = to, value if tx["value"] or not data else ""
    if token is not None:
        recipient, amount = token.recipient, token.amount
    return ActivityDescription(
        headline=f"{headline}, on {network_name(chain_id)}",
        what=what,
        recipient=recipient,
        amount=amount,
        facts=tuple(_facts(tx, to, value, data, token)),
        cautions=(*cautions, *map(_authorization, tx["authorization_list"])),
    )


def _authorization(authorization: AuthorizationFacts) -> str:
    return (
        "it carries an authorization (EIP-7702), which gives the account that signed it the code of "
        f"{to_checksum_address(authorization['address'])}, on {chain_of_authorization(authorization['chain_id'])}"
    )


def chain_of_authorization(chain_id: int | Unreadable) -> str:
    return "every chain" if isinstance(chain_id, Unreadable) else network_name(chain_id)


def _headline(
    tx: EthereumTransaction, to: str, data: bytes, value: str, token: TokenCall | None
) -> tuple[str, str, list[str]]:
    """Headline, short form, cautions."""
    and_sends = f", and send it {value}" if tx["value"] else ""
    if not to:
        return f"Deploy a contract of {len(data)} bytes{and_sends}", "deploy a contract", []
    if not data:
        return f"Send {value} to {to}", "send", []
    if token is not None:
        return token.headline + and_sends, token.what, [token.caution] if token.caution else []
    function = tx["function_name"]
    if not isinstance(function, Unreadable):
        return f"Call {function} of the contract {to}{and_sends}", f"call {function}", []
    if len(data) < SELECTOR_BYTES:
        return f"Send {value} to {to}, with {len(data)} bytes of data", "send", []
    selector = "0x" + data[:SELECTOR_BYTES].hex()
    return (
        f"Call the function {selector} of the contract {to}{and_sends}",
        f"call {selector}",
        [f"what the function does and its arguments cannot be shown: {function.reason}"],
    )


def _facts(tx: EthereumTransaction, to: str, value: str, data: bytes, token: TokenCall | None) -> Iterator[Fact]:
    chain_id, function = known(tx["chain_id"]), known(tx["function_name"])
    yield Fact("chain", network_name(chain_id))
    yield Fact("from", to_checksum_address(tx["from"]))
    yield Fact("to", to or "no address: it creates a contract")
    yield Fact("value", value)
    if function is not None:
        yield Fact("function", f"{function} ({tx['function_signature']})")
        yield from facts_of(tx["contract_call_args"], "argument")
    elif data:
        yield from token.details if token else ()
        yield Fact("data", f"{len(data)} bytes: {shortened_hex(data)}")
    price = tx["gas_price"]
    most = coin_amount(tx["fee"], chain_id)
    yield Fact("fee", f"at most {most} ({tx['gas']} gas at {in_units(price, GWEI_PLACES, 'gwei')})")
    yield Fact("nonce", str(tx["nonce"]))
    if tx["type"] != "LEGACY":
        yield Fact("type", tx["type"].removeprefix("TYPE_"))


def describe_tempo(tx: TempoTransaction) -> ActivityDescription:
    calls = [_tempo_call(call, to_checksum_address(tx["from"])) for call in tx["calls"]]
    values = [moved for moved in tx["movements"] if moved["asset"] == NATIVE]
    facts = [
        Fact("chain", f"Tempo (chain {tx['chain_id']})"),
        Fact("from", to_checksum_address(tx["from"])),
        *(Fact(f"call {number}", headline) for number, (headline, _) in enumerate(calls, 1)),
        Fact("fee token", to_checksum_address(known(tx["fee_token"]) or "the network's default")),
        Fact("nonce", str(tx["nonce"])),
    ]
    headline, token = calls[0]
    if len(calls) > 1:
        headline, token = f"Make {len(calls)} calls", None
    return ActivityDescription(
        headline=f"{headline}, on Tempo (chain {tx['chain_id']})",
        what=token.what if token else f"{len(calls)} call{'s' if len(calls) > 1 else ''}",
        recipient=token.recipient
        if token
        else to_checksum_address(known(tx["calls"][0]["to"]) or "")
        if len(calls) == 1
        else "",
        amount=token.amount if token else "",
        facts=tuple(facts),
        cautions=(
            *(token.caution for _, token in calls if token and token.caution),
            *(f"it sends {moved['amount']} of the native coin to {unknown_or(moved['to'])}" for moved in values),
        ),
    )


def _tempo_call(call: TempoCall, sender: str) -> tuple[str, TokenCall | None]:
    to, data = to_checksum_address(known(call["to"]) or ""), bytes.fromhex(call["input"][2:])
    token = token_call(to, data, sender) if to else None
    if token is not None:
        return token.headline, token
    if not to:
        return f"Deploy a contract of {len(data)} bytes", None
    function = known(call["function_signature"])
    return f"Call {f'the function {function} of ' if function else ''}{to}, with {len(data)} bytes of data", None


def shortened_hex(data: bytes) -> str:
    text = "0x" + data[:34].hex()
    return text + "…" if len(data) > 34 else text
