"""Stamps made by published clients, sent to a server: each is accepted or refused as its vector says.

The keys of the vectors belong to a user of an organization whose id the vectors' bodies name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keystead.api.rendering import encode
from keystead.signer.installation_keys import VERIFICATION_KEY
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.storage.store import DatabaseStore
from tests.conftest import MakeDatabase
from tests.support.callers import Caller, api_key_params, now_ms, refusal
from tests.support.servers import Installation, bootstrap_installation, running

pytestmark = pytest.mark.one_engine

FILE = json.loads((Path(__file__).parent.parent / "vectors" / "stamps.json").read_text(encoding="utf-8"))
VECTORS: list[dict[str, Any]] = FILE["vectors"]
ORGANIZATION_ID = json.loads(VECTORS[0]["body"])["organizationId"]
CURVES = {
    "p256": "API_KEY_CURVE_P256",
    "secp256k1": "API_KEY_CURVE_SECP256K1",
    "ed25519": "API_KEY_CURVE_ED25519",
}


@pytest.fixture(scope="module")
def organization(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Holds the keys of the vectors; its server accepts times as old as theirs."""
    installation = bootstrap_installation(make_database(), organization_id=ORGANIZATION_ID)
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "issuers.json").write_text(json.dumps({FILE["oidc"]["issuer"]: FILE["oidc"]["jwks"]}))
    settings = {"timestamp_past_s": now_ms() // 1000, "oidc_keys_file": str(folder / "issuers.json")}
    use_verification_key(installation, bytes.fromhex(FILE["keys"]["verificationTokenSigner"]["privateKey"]))
    with running(installation, folder / "log", settings) as server:
        caller = server.caller
        keys = [api_key_params(FILE["keys"][name]["publicKey"], curveType=CURVES[name]) for name in CURVES]
        registration = FILE["webauthnRegistration"]
        passkey = {
            "authenticatorName": "of the vectors",
            "challenge": registration["challenge"],
            "attestation": registration["attestation"] | {"transports": []},
        }
        (token,) = [token_of(vector) for vector in VECTORS if vector["id"] == "attested-oidc"]
        user = {
            "userName": "vectors",
            "userEmail": "user@example.com",
            "apiKeys": keys,
            "authenticators": [passkey],
            "oauthProviders": [{"providerName": "issuer", "oidcToken": token}],
        }
        caller.submitted("create_users", {"users": [user | {"userTags": []}]})
        # The users of an organization without a parent log in by code only if it says so.
        caller.submitted("set_organization_feature", {"name": "FEATURE_NAME_OTP_EMAIL_AUTH", "value": ""})
        yield caller
    installation.database.close()


def use_verification_key(installation: Installation, private_key: bytes) -> None:
    """Tokens of the vectors are signed by this key."""
    sealed = installation.master_key.seal(private_key, VERIFICATION_KEY.context)

    async def replace_key(store: DatabaseStore) -> bool:
        stored = await store.installation.value(VERIFICATION_KEY.name)
        assert stored is not None
        return await store.installation.replace_value(VERIFICATION_KEY.name, stored, encode(sealed))

    assert installation.database.with_store(replace_key)


def token_of(vector: dict[str, Any]) -> str:
    token: str = json.loads(decode_base64url(vector["value"]))["publicKeyAttestation"]
    return token


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(vector: dict[str, Any], organization: Caller) -> None:
    path, accepted = expectations(json.loads(vector["body"]))
    headers = {vector["header"]: vector["value"]}
    if vector["header"] == "X-Stamp-Attested":
        path = "/public/v1/submit/stamp_login"
    response = organization.http.post(path, content=vector["body"].encode(), headers=headers)
    if vector["header"] == "X-Stamp-Attested" and vector["expected"] == "valid":
        assert response.status_code == 200, response.text
    elif vector["header"] == "X-Stamp-Attested":
        status, message = refusal(response)
        assert (status, REFUSED[vector["id"]] in message) == (401, True), message
    elif vector["expected"] == "invalid":
        assert refusal(response)[0] == 401
    else:
        assert (response.status_code, accepted in response.text) == ACCEPTED[accepted], response.text


_BOUND = (
    "claim `nonce` or `tknonce` of the ID token must be the SHA-256, in lower-case hex, of the stamp's publicKey"
)
REFUSED = {
    "attested-otp-expired-token": "verification token: expired: claim `exp` is",
    "attested-otp-token-of-other-key": "the verification token was issued for another public key",
    "attested-otp-body-changed": "the signature is not this key's over the body",
    "attested-otp-tampered-token": "verification token: the signature is not this server's",
    "attested-oidc-wrong-nonce": _BOUND,
    "attested-oidc-no-nonce": _BOUND,
    "attested-oidc-expired": "field `publicKeyAttestation`: expired: claim `exp` is",
}
"""Why each bad attested stamp is refused: the one thing that is wrong with it, and nothing else."""

ACCEPTED = {
    '"username":"vectors"': (200, True),
    "Invalid activity type": (400, True),
    "sufficient permissions": (403, True),
    "unknown field": (400, True),
}
"""What follows a good stamp, and how that reads: only what is read after the stamp can be refused so."""


def expectations(body: dict[str, Any]) -> tuple[str, str]:
    """Where a vector's body goes, and what shows that its stamp was accepted there."""
    if body.get("type") == "ACTIVITY_TYPE_CREATE_WALLET":
        return "/public/v1/submit/create_wallet", "sufficient permissions"
    if "type" in body:
        return "/public/v1/submit/create_wallet", "Invalid activity type"
    return "/public/v1/query/whoami", '"username":"vectors"' if set(body) == {"organizationId"} else "unknown field"


def test_key_in_upper_case(organization: Caller) -> None:
    """Clients write keys in lower case; an upper-case spelling is the same key."""
    vector = next(vector for vector in VECTORS if vector["id"] == "p256-node-whoami")
    stamp = json.loads(decode_base64url(vector["value"]))
    stamp["publicKey"] = "0x" + stamp["publicKey"].upper()
    headers = {"X-Stamp": encode_base64url(json.dumps(stamp).encode())}
    response = organization.http.post("/public/v1/query/whoami", content=vector["body"].encode(), headers=headers)
    assert response.json()["username"] == "vectors"
