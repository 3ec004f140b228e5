"""What a backend gets when it logs people in, verified as published clients verify it: TypeScript's and Go's.

The cases of TypeScript are in sessions.mjs and run the packages themselves. Go's `crypto.VerifySessionJwtSignature`
(github.com/tkhq/go-sdk, crypto/verify.go, commit 821d4ee) is not run, since a machine that tests need not have Go:
`verified_as_by_go` checks what that function checks and nothing else, with another library than the server's.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import ecdsa
import httpx
import pytest

from keystead.client import Client
from keystead.stamps.signing import generate_api_key
from tests.compatibility.live import Live
from tests.compatibility.scripts import drive
from tests.support.hanging import PATIENCE_S

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tokens.json").read_text())
SESSIONS = [one for one in VECTORS["vectors"] if one["kind"] == "session-jwt"]


def test_a_backend_with_sdk_server(live: Live, subtests: pytest.Subtests) -> None:
    assert len(drive("sessions.mjs", "sdk-server", live, subtests)) == 3


def verified_as_by_go(jwt: str, public_key: str) -> bool:
    """Three parts; a key of 65 bytes that begins with 04, in hex; a signature of 64 bytes in base64url without
    padding; ECDSA on P-256 over SHA-256 of SHA-256 of the first two parts. No claim and no expiry is looked at."""
    parts = jwt.split(".")
    if len(parts) != 3:
        return False
    key = bytes.fromhex(public_key)
    if len(key) != 65 or key[0] != 4:
        return False
    signature = _raw_url_decoded(parts[2])
    if signature is None or len(signature) != 64:
        return False
    digest = sha256(sha256(f"{parts[0]}.{parts[1]}".encode()).digest()).digest()
    verifying = ecdsa.VerifyingKey.from_string(key[1:], ecdsa.NIST256p)
    try:
        return bool(verifying.verify_digest(signature, digest))
    except ecdsa.BadSignatureError:
        return False


def _raw_url_decoded(text: str) -> bytes | None:
    """As Go's base64.RawURLEncoding: padding and other alphabets are errors."""
    if "=" in text or len(text) % 4 == 1:
        return None
    try:
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None


@pytest.mark.parametrize("vector", SESSIONS, ids=lambda vector: vector["id"])
def test_the_reading_of_go_agrees_with_published_verdicts(vector: dict[str, Any]) -> None:
    """The verdicts are those of @turnkey/crypto, which checks the same bytes."""
    key = VECTORS["keys"]["notarizer"]["publicKeyUncompressed"]
    assert verified_as_by_go(vector["jwt"], key) == (vector["expected"] == "valid")


NOT_ACCEPTED: dict[str, Callable[[str], str]] = {
    "two parts": lambda jwt: jwt.rpartition(".")[0],
    "four parts": lambda jwt: f"{jwt}.x",
    "no base64": lambda jwt: f"{jwt.rpartition('.')[0]}.invalid!!!signature",
    "a padded signature": lambda jwt: f"{jwt}==",
    "a short signature": lambda jwt: jwt[:-4],
    "another payload": lambda jwt: jwt.replace(".", ".e", 1),
    "nothing": lambda jwt: "",
}


def test_sessions_are_what_go_clients_verify(live: Live) -> None:
    published = httpx.get(f"{live.base_url}/installation-keys", timeout=PATIENCE_S).json()["keys"]
    (key,) = [one["publicKey"] for one in published if one["name"] == "session_key"]
    other = generate_api_key()
    with Client(live.base_url, live.api_public_key, live.api_private_key, live.organization_id) as client:
        profile = client.submit(
            "create_session_profile",
            {"sessionProfileName": f"read? {other.public_key}", "scope": "activity.resource == 'WALLET'"},
        )
        profile_id = profile["activity"]["result"]["createSessionProfileResult"]["sessionProfileId"]
        for named in ({}, {"sessionProfileId": profile_id}):
            asked = {"publicKey": generate_api_key().public_key, **named}
            login = client.submit("stamp_login", asked)["activity"]["result"]
            jwt = login["stampLoginResult"]["session"]
            assert json.loads(urlsafe_b64decode(jwt.split(".")[1] + "=="))["public_key"] == asked["publicKey"]
            assert verified_as_by_go(jwt, key)
            assert not verified_as_by_go(jwt, VECTORS["keys"]["notarizer"]["publicKeyUncompressed"])
            assert [name for name, change in NOT_ACCEPTED.items() if verified_as_by_go(change(jwt), key)] == []
