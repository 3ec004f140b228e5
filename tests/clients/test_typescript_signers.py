"""The published signers for ethers, viem and Solana's web3.js against a live server.

The cases are in ethers.mjs, viem.mjs and solana.mjs, where each library verifies what it was given.
Here independent Python libraries verify it once more.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction, VersionedTransaction

from tests.clients.live import Live
from tests.clients.test_typescript import HERE, node
from tests.independent_ethereum import Account, encode_defunct, encode_typed_data


def _message(seen: dict[str, Any]) -> None:
    signable = encode_defunct(text=seen["text"])
    assert Account.recover_message(signable, signature=seen["signature"]) == seen["address"]


def _typed_data(seen: dict[str, Any]) -> None:
    data = seen["data"]
    signable = encode_typed_data(data["domain"], data["types"], _integers(data["message"]))
    assert Account.recover_message(signable, signature=seen["signature"]) == seen["address"]


def _integers(message: dict[str, Any]) -> dict[str, Any]:
    """`message` with numbers where JSON has their text, being too large for a JavaScript number."""
    return {
        name: int(value) if isinstance(value, str) and value.isdecimal() else value
        for name, value in message.items()
    }


def _transaction(seen: dict[str, Any]) -> None:
    assert Account.recover_transaction(seen["signed"]) == seen["address"]


def _ed25519(seen: dict[str, Any]) -> None:
    signature = Signature.from_bytes(bytes.fromhex(seen["signature"]))
    assert signature.verify(Pubkey.from_string(seen["address"]), bytes.fromhex(seen["message"]))


def _solana_legacy(seen: dict[str, Any]) -> None:
    Transaction.from_bytes(bytes.fromhex(seen["signed"])).verify()


def _solana_v0(seen: dict[str, Any]) -> None:
    assert all(VersionedTransaction.from_bytes(bytes.fromhex(seen["signed"])).verify_with_results())


def _secp256k1(seen: dict[str, Any]) -> None:
    signature = bytes.fromhex(seen["signature"])
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), bytes.fromhex(seen["publicKey"]))
    digest = Prehashed(hashes.SHA256())
    key.verify(encode_dss_signature(r, s), bytes.fromhex(seen["digest"]), ec.ECDSA(digest))


VERIFY: dict[str, Callable[[dict[str, Any]], None]] = {
    "message": _message,
    "typed_data": _typed_data,
    "transaction": _transaction,
    "ed25519": _ed25519,
    "solana_legacy": _solana_legacy,
    "solana_v0": _solana_v0,
    "secp256k1": _secp256k1,
}
CASES = {"ethers": 19, "viem": 18, "solana": 12}
"""How many each script reports, so that none gets lost."""


@pytest.mark.parametrize("client", ["sdk-server", "http"])
@pytest.mark.parametrize("signer", CASES)
def test_signer(signer: str, client: str, live: Live, subtests: pytest.Subtests) -> None:
    environment = {
        "KEYSTEAD_BASE_URL": live.base_url,
        "KEYSTEAD_ORGANIZATION_ID": live.organization_id,
        "KEYSTEAD_USER_ID": live.user_id,
        "KEYSTEAD_API_PUBLIC_KEY": live.api_public_key,
        "KEYSTEAD_API_PRIVATE_KEY": live.api_private_key,
    }
    driven = subprocess.run(
        [node(), HERE / f"{signer}.mjs", client],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert driven.returncode == 0, driven.stderr
    lines = [json.loads(line) for line in driven.stdout.splitlines()]
    assert len(lines) == CASES[signer], driven.stderr
    for line in lines:
        with subtests.test(line["case"]):
            assert line["error"] is None, line["error"]
            for seen in line["evidence"]:
                VERIFY[seen["kind"]](seen)
