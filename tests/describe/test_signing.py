"""What transactions and raw payloads ask, in words: every signing vector, and what approvers overlook."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from keystead.api.enums import SmartContractInterfaceType
from keystead.chains.contract_interfaces import read_interface
from keystead.chains.ethereum import rlp
from keystead.chains.parsers import parse_transaction, view_transaction
from keystead.describe.description import ActivityDescription, Names
from keystead.describe.payloads import describe_payloads
from keystead.describe.transactions import describe_transaction
from tests.chains.ethereum.movers import STRUCTURES, THIEF
from tests.chains.ethereum.movers import TOKEN as STRUCTURE_TOKEN
from tests.chains.signing_vectors import SIGNING, TRANSACTIONS, account

TO, TOKEN = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SIGNER = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
SOLANA_TO, SOLANA_FROM = (
    "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu",
    "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
)
PAID = "bc1q2vfxp232rx0z9rzn0hay9jptagk8c86d9w4l7k"
BITCOIN = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"
EVERY_CHAIN = "on every chain: the transaction names none"

HEADLINES = {
    "legacy-eip155": f"Send 1 ETH to {TO}, on Ethereum (chain 1)",
    "legacy-eip155-large-chain": f"Send 0 ETH to {TO}, on Sepolia, a test network (chain 11155111)",
    "legacy-no-chain-id": f"Send 1 wei to {TO}, {EVERY_CHAIN}",
    "eip2930": f"Call the function 0xa9059cbb of the contract {TO}, and send it 5 wei, on Ethereum (chain 1)",
    "eip1559": f"Send 123 wei to {TO}, on Ethereum (chain 1)",
    "eip1559-contract-creation": "Deploy a contract of 5 bytes, on Base (chain 8453)",
    "eip1559-access-list": f"Send 0 ETH to {TO}, on OP Mainnet (chain 10)",
    "eip4844": f"Send 0 ETH to {TO}, on Ethereum (chain 1)",
    "eip7702": f"Send 0 ETH to {SIGNER}, on Ethereum (chain 1)",
    "legacy-transfer": f"Send 0.000001 SOL to {SOLANA_TO}, on Solana",
    "v0-transfer": f"Send 0.000002 SOL to {SOLANA_TO}, on Solana",
    "two-signers-second-slot": f"Send 0.000000003 SOL to {SOLANA_TO}, on Solana",
    "two-signers-other-missing": f"Send 0.000000004 SOL to {SOLANA_FROM}, on Solana",
    "p2pkh": f"Send 0.0009 BTC to {BITCOIN}, on Bitcoin",
    "p2tr-key-path": f"Send 0.0009 BTC to {BITCOIN}, on Bitcoin",
    "p2wpkh with both records": f"Send 0.00049 BTC to {PAID}, on Bitcoin",
    "p2wpkh behind inputs of others": f"Send 0.00065 BTC to {PAID}, on Bitcoin",
    "p2tr with both records": f"Send 0.00059 BTC to {PAID}, on Bitcoin",
    "p2tr beside an input that is not Taproot": f"Send 0.00068 BTC to {PAID}, on Bitcoin",
    "trx-transfer": "Send 0.0001 TRX to TY1jfzP3s94oSzYECC89EFn17iA8S4imVZ, on Tron",
    "tempo-single-call": f"Call the function 0xa9059cbb of {TO}, with 4 bytes of data, on Tempo (chain 42431)",
    "tempo-two-calls-fee-token": "Make 2 calls, on Tempo (chain 42431)",
    "tempo-fee-payer-digest": f"Call the function 0xa9059cbb of {TO}, with 4 bytes of data, on Tempo (chain 42431)",
}
VECTORS = [
    pytest.param(vector, kind, id=vector["id"]) for kind, vectors in TRANSACTIONS.items() for vector in vectors
]


@pytest.mark.parametrize(("vector", "kind"), VECTORS)
def test_headline(vector: dict[str, Any], kind: str) -> None:
    sign_with = vector.get("signWith", SIGNER)
    described = describe_transaction(vector["unsignedTransaction"], kind, sign_with, Names())
    assert described.headline == HEADLINES[vector["id"]]
    assert all(fact.label and fact.text for fact in described.facts)


@pytest.mark.parametrize(("vector", "kind"), VECTORS)
def test_people_see_what_policies_see(vector: dict[str, Any], kind: str) -> None:
    sign_with = vector.get("signWith", SIGNER)
    unsigned = bytes.fromhex(vector["unsignedTransaction"])
    signed = parse_transaction(kind, unsigned, account(sign_with)[1])  # type: ignore[arg-type]
    shown = view_transaction(kind, unsigned, sign_with)  # type: ignore[arg-type]
    assert _lower(shown.describe({}).keywords) == _lower(signed.describe({}).keywords)
    assert (shown.contracts, shown.valid_on_every_chain) == (signed.contracts, signed.valid_on_every_chain)


def _lower(keywords: Any) -> bytes:
    return msgspec.json.encode(keywords).lower()


def ethereum(data: str = "", *, to: str = TOKEN, value: int = 0, chain_id: int = 1) -> str:
    numbers = [rlp.integer(each) for each in (chain_id, 0, 10**9, 30 * 10**9, 90_000)]
    return "02" + rlp.encode([*numbers, bytes.fromhex(to[2:]), rlp.integer(value), bytes.fromhex(data), []]).hex()


def word(value: int | str) -> str:
    return (value if isinstance(value, str) else f"{value:x}").removeprefix("0x").rjust(64, "0").lower()


def described(data: str, names: Names | None = None, **members: Any) -> ActivityDescription:
    return describe_transaction(ethereum(data, **members), "TRANSACTION_TYPE_ETHEREUM", SIGNER, names or Names())


OWNER = "0x" + "11" * 20


@pytest.mark.parametrize(
    ("data", "what", "recipient", "amount", "caution"),
    [
        ("a9059cbb" + word(TO) + word(2_500_000), "send tokens", TO, "2500000 units", ""),
        ("095ea7b3" + word(TO) + word(7), "permit spending", TO, "7 units", ""),
        ("095ea7b3" + word(TO) + "f" * 64, "permit spending", TO, "without limit", "may take every token"),
        ("23b872dd" + word(OWNER) + word(TO) + word(9), "move tokens", TO, "9 units", ""),
        ("42842e0e" + word(OWNER) + word(TO) + word(9), "move tokens", TO, "1 units", ""),
        ("a22cb465" + word(TO) + word(1), "permit spending", TO, "without limit", "may take every token"),
        ("a22cb465" + word(TO) + word(0), "end a permission", TO, "", ""),
        ("deadbeef", "call 0xdeadbeef", TOKEN, "", "cannot be shown"),
        ("a9059cbb" + word(TO), "call 0xa9059cbb", TOKEN, "", "cannot be shown"),
    ],
)
def test_calls(data: str, what: str, recipient: str, amount: str, caution: str) -> None:
    found = described(data)
    assert (found.what, found.recipient, found.amount) == (what, recipient, amount)
    assert caution in "\n".join(found.cautions)
    assert bool(found.cautions) == bool(caution)


@pytest.mark.parametrize(
    ("data", "details"),
    [
        ("a9059cbb" + word(TO) + word(2_500_000), {"tokens to": TO, "amount": "2500000 units"}),
        ("095ea7b3" + word(TO) + "f" * 64, {"spender": TO, "amount": "without limit"}),
        ("23b872dd" + word(OWNER) + word(TO) + word(9), {"tokens of": OWNER, "tokens to": TO}),
        ("a22cb465" + word(TO) + word(1), {"spender": TO}),
    ],
)
def test_who_gets_tokens_is_a_fact_of_its_own(data: str, details: dict[str, str]) -> None:
    facts = {fact.label: fact.text for fact in described(data).facts}
    assert details.items() <= facts.items()


ABI = msgspec.json.encode(
    [
        {
            "type": "function",
            "name": "lock",
            "inputs": [{"type": "uint256", "name": "days"}, {"type": "address[]", "name": "for"}],
        }
    ]
).decode()
INTERFACES = Names(interfaces={TOKEN.lower(): read_interface(SmartContractInterfaceType.ETHEREUM, ABI)})
LOCK = "4a60172e"


def test_a_call_of_an_uploaded_interface() -> None:
    found = described(LOCK + word(3) + word(64) + word(1) + word(TO), INTERFACES, value=10**18)
    assert found.headline == f"Call lock of the contract {TOKEN}, and send it 1 ETH, on Ethereum (chain 1)"
    facts = {fact.label: fact.text for fact in found.facts}
    assert facts["argument days"] == "3"
    assert facts["argument for"] == TO.lower()
    assert not found.cautions


def test_a_call_that_does_not_fit_the_uploaded_interface() -> None:
    found = described(LOCK + word(3), INTERFACES)
    assert "the call does not fit the uploaded interface" in found.cautions[0]


def test_requests_that_cannot_be_read() -> None:
    found = describe_transaction("02c0", "TRANSACTION_TYPE_ETHEREUM", SIGNER, Names())
    assert found.headline == "Sign a transaction that cannot be read"
    assert found.cautions[0].startswith("failed to parse transaction")


CAUTIONS = {
    "legacy-no-chain-id": "it names no chain",
    "eip7702": "it carries an authorization (EIP-7702), which gives the account that signed it the code of 0x63c0",
    "tempo-two-calls-fee-token": "it sends 5 of the native coin to 0x20c0",
}


@pytest.mark.parametrize(("vector", "kind"), [each for each in VECTORS if each.id in CAUTIONS])
def test_cautions(vector: dict[str, Any], kind: str) -> None:
    found = describe_transaction(vector["unsignedTransaction"], kind, SIGNER, Names())
    assert CAUTIONS[vector["id"]] in "\n".join(found.cautions)


def payload(text: str, encoding: str = "HEXADECIMAL", hashed: str = "NO_OP") -> ActivityDescription:
    return describe_payloads([text], f"PAYLOAD_ENCODING_{encoding}", f"HASH_FUNCTION_{hashed}", SIGNER)


CALLS = {each["id"]: each["parameters"] for each in SIGNING["clientCalls"]}
PERSONAL = b"\x19Ethereum Signed Message:\n"


@pytest.mark.parametrize(
    ("found", "headline", "caution"),
    [
        (payload("ab" * 32), "Sign 32 raw bytes", "the digest of a transaction looks the same"),
        (payload("hello", "TEXT_UTF8", "SHA256"), "Sign a text of 5 characters", ""),
        (payload((PERSONAL + b"5hello").hex(), hashed="KECCAK256"), "Sign a message of 5 bytes", ""),
        (payload((PERSONAL + b"111").hex(), hashed="KECCAK256"), "Sign 29 raw bytes", "looks the same"),
        (payload((PERSONAL + b"211").hex(), hashed="KECCAK256"), "Sign a message of 2 bytes", ""),
        (payload((PERSONAL + b"1" * 5_000).hex(), hashed="KECCAK256"), "Sign 5026 raw bytes", "looks the same"),
        (
            payload(ethereum(to=TO, value=10**18), hashed="KECCAK256"),
            f"Send 1 ETH to {TO}, on Ethereum (chain 1)",
            "policies about transactions do not see it",
        ),
        (payload("{}", "EIP712"), "Sign typed data (EIP-712) that cannot be read", "invalid request body"),
        (
            payload(CALLS["viem-signTypedData-bigints"]["payload"], "EIP712"),
            "Sign typed data 'Permit' for 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 on Base (chain 8453)",
            "permits somebody to take tokens",
        ),
        (
            payload(CALLS["viem-account-signTypedData-domain-dropped"]["payload"], "EIP712"),
            "Sign typed data 'Mail'",
            "every contract on every chain",
        ),
        (
            payload(CALLS["viem-signAuthorization-zero"]["payload"], "EIP7702_AUTHORIZATION"),
            "Give the account the code of 0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B, on every chain",
            "may then move everything",
        ),
    ],
    ids=lambda value: value.headline if isinstance(value, ActivityDescription) else "",
)
def test_payloads(found: ActivityDescription, headline: str, caution: str) -> None:
    assert found.headline == f"{headline}, with {SIGNER}"
    assert caution in "\n".join(found.cautions)
    assert bool(found.cautions) == bool(caution)


def test_typed_data_says_who_may_take_how_much() -> None:
    permit = payload(CALLS["viem-signTypedData-bigints"]["payload"], "EIP712")
    assert (permit.recipient, permit.amount) == ("0x000000000022D473030F116dDEE9F6B43aC78BA3", "without limit")
    payment = payload(STRUCTURES["EIP-3009, TransferWithAuthorization"].text(), "EIP712")
    assert (payment.recipient.lower(), payment.amount) == (THIEF, "5 units")
    several = payload(STRUCTURES["Permit2, several allowances"].text(), "EIP712")
    assert (several.recipient.lower(), several.amount) == (STRUCTURE_TOKEN, "")


def test_several_payloads() -> None:
    found = describe_payloads(["ab" * 32] * 3, "PAYLOAD_ENCODING_HEXADECIMAL", "HASH_FUNCTION_NO_OP", SIGNER)
    assert found.headline == f"Sign 3 raw payloads, with {SIGNER}"
    assert found.cautions
