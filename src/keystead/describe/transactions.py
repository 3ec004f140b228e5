"""Transactions in words: read strictly by their chain's parser, then described: Bitcoin, Solana, Tron, Ethereum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

from msgspec.structs import replace

from keystead.api.enums import TransactionType
from keystead.api.errors import ServiceError
from keystead.chains.addresses.bitcoin import NETWORKS, network_of
from keystead.chains.bitcoin.facts import BitcoinOutput, BitcoinTransaction
from keystead.chains.facts import TextMovement
from keystead.chains.movements import NATIVE, MovementKind
from keystead.chains.parsers import view_transaction
from keystead.chains.payloads import hex_bytes
from keystead.chains.solana.facts import SolanaTransaction
from keystead.chains.solana.movements import ASSOCIATED_ACCOUNTS, COMPUTE_BUDGET, MEMOS
from keystead.chains.transaction import TransactionView
from keystead.chains.tron.facts import TronTransaction
from keystead.chains.tron.movements import tron_address
from keystead.describe.amounts import LAMPORT_PLACES, SATOSHI_PLACES, SUN_PLACES, in_units, unknown_or
from keystead.describe.description import ActivityDescription, Fact, Names
from keystead.describe.ethereum import describe_ethereum, describe_tempo, shortened_hex
from keystead.describe.fields import facts_of, name_in_words
from keystead.describe.payloads import unreadable
from keystead.describe.token_calls import TokenCall, token_call
from keystead.primitives.unreadable import Unreadable, known

_PROGRAMS: Final[Mapping[str, str]] = {
    "11111111111111111111111111111111": "System",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": "Token",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": "Token-2022",
    ASSOCIATED_ACCOUNTS: "Associated Token Account",
    COMPUTE_BUDGET: "Compute Budget",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr": "Memo",
    "Stake11111111111111111111111111111111111111": "Stake",
}
_IN_THE_MARGIN: Final = frozenset({COMPUTE_BUDGET, ASSOCIATED_ACCOUNTS, *MEMOS})
"""Programs that transfers come with. What they move, rent, is a detail."""


def describe_solana(tx: SolanaTransaction) -> ActivityDescription:
    moves = [moved for moved in tx["movements"] if moved["contract"] not in _IN_THE_MARGIN]
    transfers = [_transfer(moved) for moved in moves if moved["kind"] == MovementKind.TRANSFER]
    others = [
        _program(instruction["program_key"])
        for instruction in tx["instructions"]
        if instruction["program_key"] not in _IN_THE_MARGIN
    ]
    only_transfers = bool(transfers) and len(others) == len(moves) == len(transfers)
    if len(transfers) == 1 and only_transfers:
        what, recipient, amount = transfers[0]
        headline = f"Send {amount} to {recipient}"
    elif only_transfers:
        headline, what, recipient, amount = f"Make {len(transfers)} transfers", "transfers", "", ""
    else:
        programs = ", ".join(dict.fromkeys(others))
        also = f", with {len(transfers)} transfer{'s' if len(transfers) > 1 else ''}" if transfers else ""
        count = len(tx["instructions"])
        headline = f"Run {count} instruction{'s' if count > 1 else ''} of {programs}{also}"
        what, recipient, amount = "run programs", "", ""
    cautions = []
    if any(moved["kind"] == MovementKind.UNKNOWN for moved in moves):
        cautions.append(
            "programs may move coins and tokens of the accounts that sign, beyond the transfers that are listed"
        )
    cautions += [_power(moved) for moved in moves if moved["kind"] in _POWER]
    if tx["address_table_lookups"]:
        cautions.append("some accounts are in lookup tables on chain: which ones cannot be shown")
    return ActivityDescription(
        headline=f"{headline}, on Solana",
        what=what,
        recipient=recipient,
        amount=amount,
        facts=tuple(_facts(tx)),
        cautions=tuple(cautions),
    )


_POWER: Final[Mapping[str, str]] = {
    MovementKind.ALLOWANCE: "may take tokens of",
    MovementKind.AUTHORITY: "gets power over",
}


def _power(moved: TextMovement) -> str:
    who, whose = unknown_or(moved["to"]) or "nobody", unknown_or(moved["from"])
    return f"{moved['name']}: {who} {_POWER[moved['kind']]} {whose}"


def _transfer(moved: TextMovement) -> tuple[str, str, str]:
    """Short form, recipient, amount."""
    return "send" if moved["asset"] == NATIVE else "send tokens", unknown_or(moved["to"]), _amount(moved)


def _amount(moved: TextMovement) -> str:
    asset, amount = moved["asset"], moved["amount"]
    if asset != NATIVE:
        token = "a token" if isinstance(asset, Unreadable) else asset
        return f"{unknown_or(amount)} units of {token}"
    return unknown_or(amount) if isinstance(amount, Unreadable) else in_units(amount, LAMPORT_PLACES, "SOL")


def _program(key: str) -> str:
    return f"the {_PROGRAMS[key]} program" if key in _PROGRAMS else f"program {key}"


def _facts(tx: SolanaTransaction) -> Iterator[Fact]:
    yield Fact("chain", "Solana")
    yield Fact("fee payer", unknown_or(tx["account_keys"][0]))
    transfers = [moved for moved in tx["movements"] if moved["kind"] == MovementKind.TRANSFER]
    for number, moved in enumerate(transfers, 1):
        yield Fact(f"transfer {number}", f"{_amount(moved)} to {unknown_or(moved['to'])}")
    for number, instruction in enumerate(tx["instructions"], 1):
        label, parsed = f"instruction {number}", instruction["parsed_instruction_data"]
        program, size = instruction["program_key"], len(instruction["instruction_data_hex"]) // 2
        if not isinstance(parsed, Unreadable):
            yield Fact(label, f"{parsed['instruction_name']} of {_program(program)}")
            yield from facts_of(parsed["program_call_args"], f"{label}:")
        else:
            why = "" if program in _PROGRAMS else f": {parsed.reason}"
            yield Fact(label, f"{_program(program)}, {size} bytes of data{why}")
    yield Fact("fee", f"at most {in_units(tx['fee'], LAMPORT_PLACES, 'SOL')}")


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


_EVERY_CHAIN = "it names no chain: anybody can send it on every chain of Ethereum's kind"


def view_of_request(unsigned: str, kind: str, sign_with: str) -> TransactionView:
    """The transaction of a request. `unsigned`: hex. `kind`: a value of TransactionType. Raises InvalidRequest if
    the transaction cannot be read, ValueError for an unknown kind."""
    return view_transaction(TransactionType(kind), hex_bytes(unsigned) or b"", sign_with)


def describe_transaction(unsigned: str, kind: str, sign_with: str, names: Names) -> ActivityDescription:
    """The description of a transaction, also of one that cannot be read.

    `unsigned`: hex. `kind`: a value of TransactionType. `sign_with`: the address or id that the request names.
    """
    try:
        view = view_of_request(unsigned, kind, sign_with)
    except ServiceError as refused:
        return unreadable("a transaction", unsigned, refused)
    seen = view.describe(names.interfaces)
    described = _by_chain(TransactionType(kind), seen.keywords, sign_with)
    cautions = list(described.cautions)
    if view.valid_on_every_chain:
        cautions.append(_EVERY_CHAIN)
    return replace(described, cautions=tuple(cautions))


def _by_chain(kind: TransactionType, keywords: Mapping[str, Any], sign_with: str) -> ActivityDescription:
    match kind:
        case TransactionType.ETHEREUM:
            return describe_ethereum(keywords["eth"]["tx"])
        case TransactionType.SOLANA:
            return describe_solana(keywords["solana"]["tx"])
        case TransactionType.TRON:
            return describe_tron(keywords["tron"]["tx"])
        case TransactionType.BITCOIN:
            return describe_bitcoin(keywords["bitcoin"]["tx"], sign_with)
        case TransactionType.TEMPO:
            return describe_tempo(keywords["tempo"]["tx"])
        case _:
            assert_never(kind)
