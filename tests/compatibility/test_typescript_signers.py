"""The published signers for ethers, viem and Solana's web3.js against a live server.

The cases are in ethers.mjs, viem.mjs and solana.mjs, where each library verifies what it was given.
Here independent Python libraries verify it once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction, VersionedTransaction

from tests.compatibility.live import Live
from tests.compatibility.scripts import drive
from tests.support import independent_ethereum


def _message(seen: dict[str, Any]) -> None:
    signable = independent_ethereum.encode_defunct(text=seen["text"])
    assert independent_ethereum.Account.recover_message(signable, signature=seen["signature"]) == seen["address"]


def _typed_data(seen: dict[str, Any]) -> None:
    data = seen["data"]
    signable = independent_ethereum.encode_typed_data(data["domain"], data["types"], _integers(data["message"]))
    assert independent_ethereum.Account.recover_message(signable, signature=seen["signature"]) == seen["address"]


def _integers(message: dict[str, Any]) -> dict[str, Any]:
    """`message` with numbers where JSON has their text, being too large for a JavaScript number."""
    return {
        name: int(value) if isinstance(value, str) and value.isdecimal() else value
        for name, value in message.items()
    }


def _transaction(seen: dict[str, Any]) -> None:
    assert independent_ethereum.Account.recover_transaction(seen["signed"]) == seen["address"]


def _ed25519(seen: dict[str, Any]) -> None:
    signature = Signature.from_bytes(bytes.fromhex(seen["signature"]))
    assert signature.verify(Pubkey.from_string(seen["address"]), bytes.fromhex(seen["message"]))


def _solana_legacy(seen: dict[str, Any]) -> None:
    Transaction.from_bytes(bytes.fromhex(seen["signed"])).verify()


def _solana_v0(seen: dict[str, Any]) -> None:
    assert all(VersionedTransaction.from_bytes(bytes.fromhex(seen["signed"])).verify_with_results())


VERIFY: dict[str, Callable[[dict[str, Any]], None]] = {
    "message": _message,
    "typed_data": _typed_data,
    "transaction": _transaction,
    "ed25519": _ed25519,
    "solana_legacy": _solana_legacy,
    "solana_v0": _solana_v0,
}
CASES = {"ethers": 19, "viem": 18, "solana": 12}
"""How many each script reports, so that none gets lost."""


@pytest.mark.parametrize("client", ["sdk-server", "http"])
@pytest.mark.parametrize("signer", CASES)
def test_signer(signer: str, client: str, live: Live, subtests: pytest.Subtests) -> None:
    lines = drive(f"{signer}.mjs", client, live, subtests)
    assert len(lines) == CASES[signer]
    for line in lines:
        with subtests.test(f"{line['case']}, verified"):
            for seen in line["evidence"]:
                VERIFY[seen["kind"]](seen)
