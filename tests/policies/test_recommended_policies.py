"""The conditions that docs/policies.md recommends for transactions. Each is tried with every movement of the table
of its chain, alone and behind a payment that it allows: it allows what it says, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from btclib.script.script_pub_key import ScriptPubKey
from btclib.tx.tx_out import TxOut
from solders.compute_budget import set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import transfer

from keystead.api.enums import HashFunction, PayloadEncoding
from keystead.chains.addresses.text import decode_base58check
from keystead.chains.bitcoin.transaction import parse_bitcoin
from keystead.chains.ethereum.tempo import parse_tempo
from keystead.chains.ethereum.transaction import parse_ethereum
from keystead.chains.payloads import read_payload
from keystead.chains.solana.interfaces import ProgramIdl
from keystead.chains.solana.transaction import parse_solana
from keystead.chains.tron.transaction import parse_tron
from keystead.policies.authorize import Verdict, authorize
from keystead.policies.language.grammar import parse
from keystead.policies.linting.literals import KnownIds, impossible_literals
from tests.chains.bitcoin.psbts import KEY, OTHER_KEY, Spent, bitcoin_party, key_of, script_for, unsigned_psbt
from tests.chains.ethereum import movers as ethereum
from tests.chains.ethereum.test_ethereum import AUTHORIZATION, BLOB, MARKET_1559, SIGNER, changed, typed
from tests.chains.ethereum.test_tempo import KIND, PLAIN
from tests.chains.solana import movers as solana
from tests.chains.solana.test_solana import SIGNER as SOLANA_SIGNER
from tests.chains.solana.test_solana import legacy, of
from tests.chains.solana.test_solana_interfaces import ROUTE
from tests.chains.tron import movers as tron
from tests.support.policy_fixtures import allow, deny, request

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
CONSOLE = (
    Path(__file__).parents[2] / "src" / "keystead" / "console" / "static" / "api" / "policy_examples.js"
).read_text()
BLOCK = re.compile(r"(?:^<!-- (deny) -->\n)?^```condition\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^<!-- file: \S+\.json -->\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHAIN = re.compile(r"\b(eth\.tx|eth\.eip_712|solana\.tx|tron\.tx|bitcoin\.tx|tempo\.tx)\.")


@dataclass
class Example:
    """A condition of the page. `to`, `asset`, `most`: what it says about payments; None where it says nothing."""

    effect: str
    condition: str

    @property
    def chain(self) -> str:
        (chain,) = set(CHAIN.findall(self.condition))
        return str(chain)

    def literal(self, field: str, operator: str = "==", quote: str = "'") -> str | None:
        found = set(re.findall(rf"each\.{field} {operator} {quote}(\w+){quote}", self.condition))
        assert len(found) < 2
        return found.pop() if found else None

    @property
    def to(self) -> str:
        found = self.literal("to")
        assert found is not None
        return found

    @property
    def asset(self) -> str:
        return self.literal("asset") or "NATIVE"

    @property
    def program(self) -> str | None:
        return self.literal("contract")

    @property
    def most(self) -> int | None:
        found = self.literal("amount", "<=", "")
        return None if found is None else int(found)

    @property
    def chain_id(self) -> int:
        found = re.search(r"chain_id (?:== |in \[)(\d+)", self.condition)
        return int(found[1]) if found else 1

    @property
    def counts_one(self) -> bool:
        return "movements.count() == 1" in self.condition

    def says(self, movements: list[Any]) -> bool:
        """Whether these movements are what the condition is meant to allow: a payment to one address, at most so
        much. Written without the policy language."""
        if self.counts_one and len(movements) != 1:
            return False
        return all(map(self._is_meant, movements))

    def _is_meant(self, movement: Any) -> bool:
        kind, asset, _, to, amount = movement
        if self.program is None and (kind, asset) != ("TRANSFER", self.asset):
            return False
        if kind != "TRANSFER" or to.lower() != self.to.lower():
            return False
        return self.most is None or (isinstance(amount, int) and amount <= self.most)


def console_example() -> str:
    """The condition that the console writes for an address and an amount."""
    (written,) = re.findall(r"transfersTo = .*?`(.*)`;", CONSOLE)
    return (
        str(written).replace("${address}", "0x5FbDB2315678afecb367f032d93F642f64180aa3").replace("${wei}", "1000")
    )


def examples() -> Iterator[Example]:
    yield Example("allow", console_example())
    for mark, condition in BLOCK.findall(PAGE):
        if CHAIN.search(condition):
            yield Example("deny" if mark else "allow", condition.strip())
    for written in FILE.findall(PAGE):
        for policy in msgspec.json.decode(written)["policies"]:
            if CHAIN.search(policy["condition"]):
                yield Example(policy["effect"].removeprefix("EFFECT_").lower(), policy["condition"])


ALL = list(examples())
ALLOWING = [example for example in ALL if example.effect == "allow"]


def test_what_the_page_has_examples_of() -> None:
    assert {example.chain for example in ALLOWING} == {
        "eth.tx",
        "eth.eip_712",
        "solana.tx",
        "tron.tx",
        "bitcoin.tx",
        "tempo.tx",
    }
    assert [example.chain for example in ALL if example.effect == "deny"] == ["eth.tx"] * 3


def verdict(example: Example, keywords: Mapping[str, Any]) -> Verdict:
    if example.effect == "deny":
        policies = [deny(example.condition), allow("activity.action == 'SIGN'")]
    else:
        policies = [allow(example.condition)]
    activity = "SIGN_RAW_PAYLOAD_V2" if example.chain == "eth.eip_712" else "SIGN_TRANSACTION_V2"
    params = {"type": "TRANSACTION_TYPE_ETHEREUM"}
    return authorize(*request("A", activity, policies, params=params, resources=keywords)).verdict


@pytest.mark.parametrize("example", ALL, ids=lambda example: f"{example.effect} {example.chain} {example.asset}")
def test_its_words_and_addresses_are_possible(example: Example) -> None:
    assert list(impossible_literals(parse(example.condition), KnownIds())) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("eth.tx.movements.all(m, m.asset == 'USDC')", "0x and 40 hex digits, or 'NATIVE'"),
        ("solana.tx.movements.all(m, m.asset == '0x00')", "32 to 44 characters of base58, or 'NATIVE'"),
        ("tron.tx.movements.all(m, m.to == '0x00')", "the number of a token of TRC-10, or ''"),
        ("bitcoin.tx.movements.all(m, m.kind == 'TRANSFERS')", "did you mean TRANSFER?"),
        ("eth.eip_712.movements.all(m, m.kind == 'FEE')", "which it never is"),
    ],
)
def test_words_and_addresses_that_no_movement_has(condition: str, expected: str) -> None:
    (warning,) = impossible_literals(parse(condition), KnownIds())
    assert expected in warning


# One chain after the other: each function gives, for an example, transactions with what they move.

Tried = tuple[str, Mapping[str, Any], list[Any]]


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)


def of_ethereum(example: Example) -> Iterator[Tried]:
    def tried(name: str, unsigned: bytes, moves: list[Any]) -> Tried:
        return name, parse_ethereum(unsigned, SIGNER).describe({}).keywords, moves

    def transaction(to: str, data: bytes = b"", value: int = 0, kind: int = 2, more: Any = None) -> bytes:
        items = changed(changed(MARKET_1559, 5, bytes.fromhex(to[2:])), 0, number(example.chain_id))
        items = changed(changed(items, 6, number(value)), 7, data)
        return typed(kind, items if more is None else [*items, *more])

    for amount in (0, 1, example.most or 1, (example.most or 1) + 1):
        moves = [("TRANSFER", "NATIVE", ethereum.ME, example.to, amount)] if amount else []
        yield tried(f"{amount} coins", transaction(example.to, value=amount), moves)
        yield tried(
            f"{amount} coins to somebody else",
            transaction(ethereum.THIEF, value=amount),
            [("TRANSFER", "NATIVE", ethereum.ME, ethereum.THIEF, amount)] if amount else [],
        )
    code = [("AUTHORITY", ethereum.ANY, ethereum.ANY, "0x" + AUTHORIZATION[1].hex(), ethereum.UNLIMITED)]
    paid = [("TRANSFER", "NATIVE", ethereum.ME, example.to, 1)]
    yield tried("a payment, and power for code", transaction(example.to, b"", 1, 4, [[AUTHORIZATION]]), paid + code)
    created = changed(changed(MARKET_1559, 5, b""), 0, number(example.chain_id))
    yield tried("a new contract", typed(2, changed(created, 6, b"\x01")), [("UNKNOWN",) * 5])
    dear = changed(changed(MARKET_1559, 3, number(10**30)), 0, number(example.chain_id))
    dear = changed(changed(dear, 5, bytes.fromhex(example.to[2:])), 6, b"\x01")
    yield tried("a payment with a fee of everything", typed(2, dear), [("FEE",) * 5])
    blobs = changed(changed(BLOB, 9, number(10**30)), 0, number(example.chain_id))
    blobs = changed(changed(blobs, 5, bytes.fromhex(example.to[2:])), 6, b"\x01")
    yield tried("a payment with dear blobs", typed(3, blobs), [("FEE",) * 5])
    elsewhere = changed(changed(MARKET_1559, 5, bytes.fromhex(example.to[2:])), 0, b"\x7f")
    names_chain = "chain_id" in example.condition
    refused: list[Any] = [("UNKNOWN",) * 5]
    unsigned = typed(2, changed(elsewhere, 6, b"\x01"))
    yield tried("a payment on another chain", unsigned, refused if names_chain else paid)
    yield tried("a call of the own code", transaction(ethereum.ME, b"\x01\x02\x03\x04"), [("UNKNOWN",) * 5])
    for name, to, data, value, moves in calls(example):
        yield tried(name, transaction(to, data, value), moves)


def calls(example: Example) -> Iterator[tuple[str, str, bytes, int, list[Any]]]:
    """Calls of every function of the table: of some token and of the example's, for a thief and for who is paid."""
    own = example.asset if example.asset.startswith("0x") else ethereum.TOKEN
    for token in (ethereum.TOKEN, own, example.to):
        for recipient in (ethereum.THIEF, example.to):

            def put(value: Any, token: str = token, recipient: str = recipient) -> Any:
                named = {ethereum.TOKEN: token, ethereum.THIEF: recipient, ethereum.OTHER_TOKEN: own}
                return named.get(value, value) if isinstance(value, str) else value

            for mover in ethereum.FUNCTIONS:
                data = mover.data
                for address in (ethereum.THIEF, ethereum.OTHER_TOKEN, ethereum.TOKEN):
                    data = data.replace(bytes.fromhex(address[2:]), bytes.fromhex(put(address)[2:]))
                moves = [tuple(map(put, each)) for each in mover.moves]
                yield f"{mover.signature} of {token} for {recipient}", token, data, mover.value, moves
        for name, data in ethereum.OTHER_DATA.items():
            yield f"{name} of {token}", token, data, 0, [("UNKNOWN",) * 5]


def of_tempo(example: Example) -> Iterator[Tried]:
    def tried(name: str, moves: list[Any], *tempo_calls: tuple[str, int, bytes], price: int = 2) -> Tried:
        written = [[bytes.fromhex(to[2:]), number(value), data] for to, value, data in tempo_calls]
        unsigned = typed(KIND, changed(changed(PLAIN, 4, written), 2, number(price)))
        return name, parse_tempo(unsigned, SIGNER).describe({}).keywords, moves

    good = next(call for call in calls(example) if example.says(call[-1]))
    _, token, data, _, moved = good
    yield tried("a good payment", moved, (token, 0, data))
    yield tried("a good payment, twice", moved * 2, (token, 0, data), (token, 0, data))
    yield tried("a good payment, with a fee of everything", [("FEE",) * 5], (token, 0, data), price=10**30)
    for name, to, called, value, moves in calls(example):
        yield tried(name, moves, (to, value, called))
        yield tried(f"a good payment, and {name}", [*moved, *moves], (token, 0, data), (to, value, called))


def of_typed_data(example: Example) -> Iterator[Tried]:
    for name, structure in ethereum.STRUCTURES.items():
        for token in (ethereum.TOKEN, example.asset):
            for recipient in (ethereum.THIEF, example.to):
                for chain_id in (example.chain_id, 999, None):
                    text = structure.text(
                        {"verifyingContract": token} | ({} if chain_id is None else {"chainId": chain_id})
                    )
                    for address, put in ((ethereum.THIEF, recipient), (ethereum.OTHER_TOKEN, example.asset)):
                        text = text.replace(address, put)
                    named = {ethereum.TOKEN: token, ethereum.THIEF: recipient, ethereum.OTHER_TOKEN: example.asset}
                    moves = [tuple(named.get(part, part) for part in each) for each in structure.moves]
                    read = read_payload(text, PayloadEncoding.EIP712, HashFunction.NO_OP, "payload")
                    on_chain = chain_id == example.chain_id
                    yield (
                        f"{name} of {token} for {recipient} on {chain_id}",
                        read.keywords,
                        moves if on_chain else [("UNKNOWN",) * 5],
                    )


def of_solana(example: Example) -> Iterator[Tried]:
    idl = ProgramIdl.read(
        '{"instructions": [{"name": "route", "accounts": [], "args": [{"name": "n", "type": "u64"}]}], "types": []}'
    )

    def tried(name: str, moves: list[Any], *instructions: Instruction) -> Tried:
        unsigned = legacy(*instructions).replace(bytes(solana.MINT), bytes(mint))
        interfaces = {example.program: idl} if example.program else {}
        return name, parse_solana(unsigned, of(SOLANA_SIGNER)).describe(interfaces).keywords, moves

    paid = Pubkey.from_string(example.to)
    mint = solana.MINT if example.asset == "NATIVE" else Pubkey.from_string(example.asset)
    good, moved = good_solana(example, paid)
    yield tried("a good payment", moved, *good)
    yield tried("a good payment with a fee of everything", [("FEE",) * 5], set_compute_unit_price(2**60), *good)
    for name, harmless in solana.HARMLESS.items():
        yield tried(f"a good payment, and {name}", moved, *good, harmless)
    for name, mover in solana.MOVERS.items():
        for recipient in (solana.THIEF, paid):
            put = {str(solana.THIEF): str(recipient), str(solana.MINT): str(mint)}
            moves = [tuple(put.get(part, part) for part in each) for each in mover.moves]
            instruction = with_recipient(mover.instruction, recipient)
            # The condition about a program also asks for a call of it.
            alone = moves if example.program is None else [("UNKNOWN",) * 5]
            yield tried(f"{name} for {recipient}", alone, instruction)
            yield tried(f"a good payment, and {name} for {recipient}", [*moved, *moves], *good, instruction)


def good_solana(example: Example, paid: Pubkey) -> tuple[list[Instruction], list[Any]]:
    me = solana.ME
    if example.program is not None:
        # What the program itself moves is allowed.
        called = Instruction(Pubkey.from_string(example.program), ROUTE + bytes(8), [AccountMeta(me, True, True)])
        return [called], []
    if example.asset == "NATIVE":
        pay = transfer({"from_pubkey": me, "to_pubkey": paid, "lamports": 1})
        return [pay], [("TRANSFER", "NATIVE", str(me), str(paid), 1)]
    pay = solana.token(b"\x0c" + solana.u64(1) + b"\x06", solana.MINE, solana.MINT, paid, me)
    return [pay], [("TRANSFER", example.asset, str(solana.MINE), str(paid), 1)]


def with_recipient(instruction: Instruction, recipient: Pubkey) -> Instruction:
    thief = solana.THIEF
    return Instruction(
        instruction.program_id,
        instruction.data.replace(bytes(thief), bytes(recipient)),
        [
            AccountMeta(recipient if meta.pubkey == thief else meta.pubkey, meta.is_signer, meta.is_writable)
            for meta in instruction.accounts
        ],
    )


def of_tron(example: Example) -> Iterator[Tried]:
    token = decode_base58check(example.asset, 21)
    paid = decode_base58check(example.to, 21)
    assert token is not None
    assert paid is not None
    for name, mover in tron.MOVERS.items():
        for called in (tron.TOKEN, token):
            for recipient in (tron.THIEF, paid):
                unsigned = mover.unsigned
                for old, new in ((tron.TOKEN, called), (tron.THIEF, recipient)):
                    unsigned = unsigned.replace(old, new).replace(old[1:], new[1:])
                put = {
                    tron.base58check(old): tron.base58check(new)
                    for old, new in ((tron.TOKEN, called), (tron.THIEF, recipient))
                }
                moves = [tuple(put.get(part, part) for part in each) for each in mover.moves]
                keywords = parse_tron(unsigned, SIGNER).describe({}).keywords
                yield f"{name}, {put}", keywords, moves
    good = next(mover for name, mover in tron.MOVERS.items() if "transfer(address,uint256)" in name)
    dear = good.unsigned.replace(tron.TOKEN, token).replace(tron.THIEF[1:], paid[1:])
    dear += tron.write("raw", fee_limit=10**12)
    yield "a good payment with a fee of everything", parse_tron(dear, SIGNER).describe({}).keywords, [("FEE",) * 5]


def of_bitcoin(example: Example) -> Iterator[Tried]:
    paid = bytes(ScriptPubKey.from_address(example.to).script)
    mine, other = (script_for("P2WPKH", key_of(key)) for key in (KEY, OTHER_KEY))
    most = example.most or 1
    total = 10 * most
    tables: list[tuple[str, list[tuple[bytes, int]]]] = [
        ("a payment", [(paid, 1)]),
        ("the largest payment", [(paid, most)]),
        ("too much", [(paid, most + 1)]),
        ("two payments", [(paid, 1), (paid, 1)]),
        ("a payment to somebody else", [(other, 1)]),
        ("a payment, and one to somebody else", [(paid, 1), (other, 1)]),
        ("a payment to the same key by another script", [(script_for("P2PKH", key_of(KEY)), 1)]),
        ("a payment to no address", [(b"\x6a\x01\x01", 1)]),
        ("nothing but change", []),
    ]
    for name, outputs in tables:
        for fee, dear in ((1_000, False), (most, True)):
            change = total - fee - sum(amount for _, amount in outputs)
            written = [TxOut(amount, script) for script, amount in outputs] + [TxOut(change, mine)]
            unsigned = unsigned_psbt([Spent("P2WPKH", satoshis=total)], written)
            keywords = parse_bitcoin(unsigned, bitcoin_party("P2WPKH")).describe({}).keywords
            moves: list[Any] = [
                ("TRANSFER", "NATIVE", "", str(ScriptPubKey(script).address), amount) for script, amount in outputs
            ]
            yield f"{name}, fee {fee}", keywords, [("FEE",) * 5] if dear else moves


TRANSACTIONS: Mapping[str, Callable[[Example], Iterator[Tried]]] = {
    "eth.tx": of_ethereum,
    "eth.eip_712": of_typed_data,
    "solana.tx": of_solana,
    "tron.tx": of_tron,
    "bitcoin.tx": of_bitcoin,
    "tempo.tx": of_tempo,
}


@pytest.mark.parametrize("example", ALLOWING, ids=lambda example: f"{example.chain} {example.asset}")
def test_it_allows_what_it_says_and_nothing_else(example: Example) -> None:
    allowed = tried = 0
    for name, keywords, moves in TRANSACTIONS[example.chain](example):
        meant = example.says(moves) and (bool(moves) or example.program is not None)
        assert (verdict(example, keywords) is Verdict.ALLOW) is meant, name
        allowed += meant
        tried += 1
    assert allowed > 0
    assert tried > 10 * allowed or example.chain in ("bitcoin.tx", "solana.tx")


@pytest.mark.parametrize("denial", [example for example in ALL if example.effect == "deny"])
def test_a_denial_of_more_than_so_much(denial: Example) -> None:
    limit = int(re.findall(r"amount > (\d+)", denial.condition)[0])
    example = Example("allow", f"eth.tx.chain_id == 1 && each.to == '{ethereum.THIEF}' && each.amount <= {limit}")
    denied = 0
    for name, keywords, _ in of_ethereum(example):
        too_much = any(
            (each["asset"] == "NATIVE" and each["amount"] > limit) or not isinstance(each["asset"], str)
            for each in keywords["eth"]["tx"]["movements"]
        )
        assert (verdict(denial, keywords) is Verdict.DENY_EXPLICIT) is too_much, name
        denied += too_much
    assert denied > 3
