"""What the signature of a webhook covers, against the vectors of the published verifier, with one change each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keystead.keys.proof_key import WebhookKey
from keystead.sessions.webhook_signatures import headers, key_id, key_set
from keystead.stamps.base64url import decode_base64url
from tests.support.webhook_receiver import is_genuine

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tokens.json").read_bytes())["vectors"]
WEBHOOKS = [row for row in VECTORS if row["kind"] == "webhook"]

SEED = bytes(range(32))
PUBLIC_KEY = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()
KID = key_id(PUBLIC_KEY)
BODY, EVENT_ID, NOW_MS = b'{"id":"a"}', "event", 1_766_000_000_000


@pytest.mark.parametrize("row", WEBHOOKS, ids=lambda row: row["id"])
def test_the_vectors(row: dict[str, Any]) -> None:
    key = row["verificationKey"]
    lower = {name.lower(): value for name, value in row["headers"].items()}
    verdict = is_genuine(
        lower,
        row["body"].encode(),
        {key["keyId"]: bytes.fromhex(key["publicKey"])},
        row["nowMs"],
        row["maxTimestampAgeMs"],
    )
    assert verdict == row.get("reason", "")


def test_there_are_vectors() -> None:
    assert len(WEBHOOKS) == 5


def signed(body: bytes = BODY) -> dict[str, str]:
    signature = WebhookKey(SEED).sign(timestamp_ms=NOW_MS, event_id=EVENT_ID, body=body)
    made = headers(
        organization_id="o",
        event_type="ACTIVITY_UPDATES",
        event_id=EVENT_ID,
        kid=KID,
        timestamp_ms=NOW_MS,
        signature=signature,
    )
    return {name.lower(): value for name, value in made.items()}


def test_the_headers() -> None:
    made = signed()
    assert is_genuine(made, BODY, {KID: PUBLIC_KEY}, NOW_MS) == ""
    signature = made.pop("x-turnkey-signature")
    assert len(bytes.fromhex(signature)) == 64
    assert made == {
        "content-type": "application/json",
        "x-turnkey-organization-id": "o",
        "x-turnkey-event-type": "ACTIVITY_UPDATES",
        "x-turnkey-timestamp": "1766000000000",
        "x-turnkey-webhook-version": "1",
        "x-turnkey-event-id": "event",
        "x-turnkey-signature-key-id": KID,
        "x-turnkey-signature-algorithm": "ed25519",
        "x-turnkey-signature-version": "v1",
    }


ALTERED = {
    "x-turnkey-timestamp": ("1766000000001", "invalid_signature"),
    "x-turnkey-event-id": ("evens", "invalid_signature"),
    "x-turnkey-signature-key-id": ("other", "invalid_signature"),
    "x-turnkey-signature-algorithm": ("ED25519", "unsupported_signature_algorithm"),
    "x-turnkey-signature-version": ("v2", "unsupported_signature_version"),
    "x-turnkey-signature": ("00" * 64, "invalid_signature"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_header(name: str) -> None:
    value, why = ALTERED[name]
    assert is_genuine(signed() | {name: value}, BODY, {KID: PUBLIC_KEY, "other": PUBLIC_KEY}, NOW_MS) == why
    assert is_genuine(signed() | {name: ""}, BODY, {KID: PUBLIC_KEY}, NOW_MS).startswith("missing_header")


@pytest.mark.parametrize("body", [b'{"id":"b"}', BODY + b" ", b"", b"." + BODY])
def test_an_altered_body(body: bytes) -> None:
    assert is_genuine(signed(), body, {KID: PUBLIC_KEY}, NOW_MS) == "invalid_signature"


def test_no_part_can_be_moved_into_the_next() -> None:
    """A dot in an event's id would do that; ids are UUIDs."""
    moved = signed(b"x." + BODY) | {"x-turnkey-event-id": f"{EVENT_ID}.x"}
    assert is_genuine(moved, BODY, {KID: PUBLIC_KEY}, NOW_MS) == "", "the verifier cannot tell; the sender must not"
    assert "." not in KID


def test_the_key_set() -> None:
    """The thumbprint of RFC 8037, appendix A.3."""
    public_key = decode_base64url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
    (key,) = key_set(public_key)["keys"]
    assert key == {
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        "kty": "OKP",
        "crv": "Ed25519",
        "alg": "EdDSA",
        "use": "sig",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "turnkey_signature_algorithm": "ed25519",
        "turnkey_signature_version": "v1",
    }
