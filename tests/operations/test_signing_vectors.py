"""Signatures as published clients expect them, byte for byte, through HTTP and under the keys of the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from keystead.api.enums import Curve
from keystead.chains.curves import GROUP_ORDERS
from tests.chains.signing_vectors import CLAIMED_AMOUNTS, TRANSACTIONS
from tests.support import secp256k1
from tests.support.callers import SDK_FORM, Caller, refusal
from tests.support.known_keys import SIGNING, add_known_wallet
from tests.support.servers import Server

pytestmark = pytest.mark.one_engine

ETHEREUM = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
SIGN_WITH = {
    "CURVE_SECP256K1": ETHEREUM,
    "CURVE_ED25519": "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
    "CURVE_P256": "03d4786ec264e14733f1f529562cf8566af8864de46479002cdababaf93c6c04cb",
}


@pytest.fixture(scope="module", autouse=True)
def known_wallet(server: Server) -> None:
    add_known_wallet(server.installation)


def named(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", SIGNING[name], ids=lambda vector: vector["id"])


def payload_params(vector: Any) -> dict[str, Any]:
    return {
        "signWith": vector.get("signWith", SIGN_WITH[vector["curve"]]),
        "payload": vector["payload"],
        "encoding": vector["encoding"],
        "hashFunction": vector["hashFunction"],
    }


@named("rawPayloads")
def test_raw_payload(vector: Any, caller: Caller) -> None:
    made = caller.result("sign_raw_payload", payload_params(vector))
    if "Schnorr" in vector["algorithm"]:  # with fresh randomness each time
        key = vector["verifyWith"].get("xOnlyOutputKey") or vector["verifyWith"]["xOnlyPublicKey"]
        signature = bytes.fromhex(made["r"] + made["s"])
        assert secp256k1.verifies_schnorr(bytes.fromhex(key), signature, bytes.fromhex(vector["digest"]))
        assert made["v"] == "00"
        return
    expected = vector["signature"]
    if vector["curve"] == "CURVE_P256":
        assert made["v"] in ("00", "01")
        expected = expected | {"s": vector["lowS"], "v": made["v"]}
    assert made == expected


def test_several_payloads_in_their_order(caller: Caller) -> None:
    vectors = [
        vector
        for vector in SIGNING["rawPayloads"]
        if vector["signWith"] == ETHEREUM and vector["hashFunction"] == "HASH_FUNCTION_KECCAK256"
        if vector["encoding"] == "PAYLOAD_ENCODING_TEXT_UTF8"
    ]
    assert len(vectors) > 2
    shared = payload_params(vectors[0])
    del shared["payload"]
    made = caller.result("sign_raw_payloads", shared | {"payloads": [vector["payload"] for vector in vectors]})
    assert made == {"signatures": [vector["signature"] for vector in vectors]}


@named("rawPayloadsInvalid")
def test_raw_payload_refused(vector: Any, caller: Caller) -> None:
    status, message = refusal(caller.submit("sign_raw_payload", payload_params(vector)))
    assert status == 400
    named = vector["basis"].partition("documented error: ")[2] or "invalid "
    assert message.startswith(named)


SIGNED = [
    (kind, vector)
    for kind, vectors in TRANSACTIONS.items()
    for vector in vectors
    if vector["id"] != "legacy-no-chain-id"  # refused by default: tests/server/test_transaction_attacks
]


@pytest.mark.parametrize(("kind", "vector"), SIGNED, ids=[vector["id"] for _, vector in SIGNED])
@pytest.mark.parametrize("prefix", ["", "0x"])
def test_transaction(kind: str, vector: Any, prefix: str, caller: Caller) -> None:
    params = {
        "signWith": vector.get("signWith", ETHEREUM),
        "unsignedTransaction": prefix + vector["unsignedTransaction"],
        "type": kind,
    }
    signed = caller.result("sign_transaction", params)["signedTransaction"]
    expected = vector.get("signedTransaction") or vector.get("signedTransactionRecid")
    if vector["id"].startswith("p2tr"):  # Schnorr, with fresh randomness each time: 64 bytes behind 0113 and 40
        before, mark, after = expected.partition("011340")
        assert signed.startswith(before + mark)
        assert signed.endswith(after[128:])
        assert len(signed) == len(expected)
    elif expected:
        assert signed == expected
    else:
        assert signed.startswith("76")


@pytest.mark.parametrize("vector", CLAIMED_AMOUNTS, ids=lambda vector: vector["id"])
def test_a_claimed_amount_is_not_signed(vector: Any, caller: Caller) -> None:
    params = {
        "signWith": vector["signWith"],
        "unsignedTransaction": vector["unsignedTransaction"],
        "type": "TRANSACTION_TYPE_BITCOIN",
    }
    status, message = refusal(caller.submit("sign_transaction", params))
    assert (status, "needs non_witness_utxo" in message) == (400, True)


@named("transactionsInvalid")
def test_transaction_refused(vector: Any, caller: Caller) -> None:
    solana = vector["type"] == "TRANSACTION_TYPE_SOLANA"
    params = {
        "signWith": vector.get("signWith", SIGN_WITH["CURVE_ED25519"] if solana else ETHEREUM),
        "unsignedTransaction": vector["unsignedTransaction"],
        "type": vector["type"],
    }
    response = caller.submit("sign_transaction", params, SDK_FORM)
    status, message = refusal(response)
    assert status == 400
    assert message.startswith("failed to parse transaction")
    assert response.json()["details"][0]["turnkeyErrorCode"] == "INVALID_TRANSACTION"


@pytest.mark.parametrize("kind", ["TRANSACTION_TYPE_DOGE", ""])
def test_a_chain_that_is_not_signed(kind: str, caller: Caller) -> None:
    response = caller.submit(
        "sign_transaction", {"signWith": ETHEREUM, "unsignedTransaction": "00", "type": kind}, SDK_FORM
    )
    status, message = refusal(response)
    assert (status, response.json()["details"][0]["turnkeyErrorCode"]) == (400, "UNSUPPORTED_TRANSACTION_TYPE")
    assert "`parameters.type`" in message


@named("clientCalls")
def test_what_clients_make_of_it(vector: Any, caller: Caller) -> None:
    """The very parameters that published clients sent, and what they returned to their users."""
    made = caller.result(vector["path"].rpartition("/")[2], vector["parameters"], type=vector["type"])
    returned = vector.get("clientReturns")
    if "signedTransaction" in made:
        assert "0x" + made["signedTransaction"] == returned
    elif isinstance(returned, str) and returned.startswith("0x"):
        assert made["r"] + made["s"] == returned[2:130]
        assert 27 + int(made["v"]) == int(returned[130:], 16)
    elif isinstance(returned, str):
        assert made["r"] + made["s"] == returned
    elif isinstance(returned, dict):
        assert int(made["r"], 16) == int(returned["r"], 16)
        assert int(made["v"]) == returned["yParity"]
    else:
        assert vector["id"] in ("solana-addSignature", "solana-signAllTransactions")


def test_s_is_always_in_the_lower_half(caller: Caller) -> None:
    for curve in (Curve.SECP256K1, Curve.P256):
        params = {
            "signWith": SIGN_WITH[curve],
            "payloads": [str(number) for number in range(1, 41)],
            "encoding": "PAYLOAD_ENCODING_TEXT_UTF8",
            "hashFunction": "HASH_FUNCTION_SHA256",
        }
        for signature in caller.result("sign_raw_payloads", params)["signatures"]:
            assert 0 < int(signature["s"], 16) <= GROUP_ORDERS[curve] // 2
            assert [len(signature[part]) for part in ("r", "s", "v")] == [64, 64, 2]
