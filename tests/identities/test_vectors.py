"""Tokens and signatures of others: the examples of the RFCs, and the tokens in a published client's stamps."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from keystead.api.errors import InvalidRequest
from keystead.identities.issuers import KnownIssuers
from keystead.identities.key_sets import KeySet
from keystead.identities.tokens import BadToken, UnverifiedToken
from keystead.organizations.credentials.identities import ProvenIdentity

FILE = json.loads((Path(__file__).parent.parent / "vectors" / "stamps.json").read_bytes())
MADE_AT_S = 1_766_000_000


class ManualClock:
    def now_ms(self) -> int:
        return MADE_AT_S * 1000


def _token(vector: dict[str, Any]) -> str:
    value: str = vector["value"]
    stamp = json.loads(urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    token: str = stamp["publicKeyAttestation"]
    return token


TOKENS = {vector["id"]: _token(vector) for vector in FILE["vectors"] if vector["id"].startswith("attested-oidc")}
ISSUER = FILE["oidc"]["issuer"]


def _proven(token: str) -> ProvenIdentity:
    keys = KeySet(json.dumps(FILE["oidc"]["jwks"]).encode())
    return asyncio.run(KnownIssuers(ManualClock(), {ISSUER: keys}).verify_token(token, "place"))


@pytest.mark.parametrize("name", [name for name in TOKENS if name != "attested-oidc-expired"])
def test_tokens_of_a_published_clients_stamps(name: str) -> None:
    """The nonce binds a login's key; adding an identity asks for none."""
    proven = _proven(TOKENS[name])
    assert (proven.iss, proven.sub, proven.aud) == (ISSUER, "118121659617646047510", "client-id-1")


def test_the_expired_one() -> None:
    with pytest.raises(InvalidRequest, match="expired"):
        _proven(TOKENS["attested-oidc-expired"])


EXAMPLES = {
    "RFC 7515, appendix A.3": (
        "ES256",
        {
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        },
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
        "Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        b'{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}',
    ),
    "RFC 8037, appendix A.4": (
        "EdDSA",
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        b"Example of Ed25519 signing",
    ),
}


@pytest.mark.parametrize(("algorithm", "jwk", "token", "payload"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_rfcs_signatures(algorithm: str, jwk: dict[str, str], token: str, payload: bytes) -> None:
    keys = KeySet(json.dumps({"keys": [jwk]}).encode())
    assert keys.verify(token, UnverifiedToken(algorithm, None, "")) == payload
    signed, _, signature = token.rpartition(".")
    with pytest.raises(BadToken, match="the signature is not the issuer's"):
        keys.verify(f"{signed}.A{signature[1:]}", UnverifiedToken(algorithm, None, ""))
