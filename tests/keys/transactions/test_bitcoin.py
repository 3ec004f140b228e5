"""Bitcoin: the vectors."""

from __future__ import annotations

from typing import Any

import coincurve
import pytest

from keystead.activities.ports import Signature, SignatureScheme
from keystead.keys.transactions.bitcoin import parse_bitcoin
from tests.keys.transactions.signing_vectors import SIGNING, account

VECTORS = SIGNING["bitcoinPsbts"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector: dict[str, Any]) -> None:
    private_key, signer = account(vector["signWith"])
    parsed = parse_bitcoin(bytes.fromhex(vector["unsignedTransaction"]), signer)
    if parsed.scheme is SignatureScheme.SCHNORR_KEY_PATH:
        signature = bytes.fromhex(vector["tapKeySig"])
        made = [Signature(signature[:32], signature[32:], 0)]
        assert coincurve.PublicKeyXOnly(bytes.fromhex(vector["xOnlyOutputKey"])).verify(
            signature, parsed.messages[0]
        )
    else:
        key = coincurve.PrivateKey(private_key)
        raw = [key.sign_recoverable(message, hasher=None) for message in parsed.messages]
        made = [Signature(one[:32], one[32:64], one[64]) for one in raw]
    print(parsed.facts({}))
    assert parsed.assemble(made).hex() == vector["signedTransaction"]
