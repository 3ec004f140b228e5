"""Sessions in tests: a login, a caller with the session's key, and the claims of its token."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from keystead.sessions.compact_jwt import is_signed_by, read_compact
from keystead.sessions.session_tokens import session_message
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.support import bundles
from tests.support.callers import Caller


def installation_key(caller: Caller, name: str) -> bytes:
    """The public key that the server publishes under this name: 65 bytes."""
    keys = caller.http.get("/installation-keys").json()["keys"]
    return bytes.fromhex(next(key["publicKey"] for key in keys if key["name"] == name))


def claims_of(caller: Caller, token: str) -> dict[str, Any]:
    """The claims of a session token, whose signature must be the server's."""
    read = read_compact(token, characters_max=20_000)
    assert is_signed_by(
        installation_key(caller, "session_key"), read.signature, session_message(read.signing_input)
    )
    claims: dict[str, Any] = json.loads(read.payload)
    return claims


def attested(key: ApiKeyPair, scheme: str, token: str, body: bytes) -> dict[str, str]:
    """The header of an attested stamp over these bytes. `scheme`: VERIFICATION_TOKEN or OIDC."""
    private_key = bundles.private_key(bytes.fromhex(key.private_key))
    stamp = {
        "publicKey": key.public_key,
        "scheme": f"STAMP_ATTESTED_SCHEME_P256_{scheme}",
        "signature": private_key.sign(body, ec.ECDSA(hashes.SHA256())).hex(),
        "publicKeyAttestation": token,
    }
    return {"X-Stamp-Attested": encode_base64url(json.dumps(stamp).encode())}


def logged_in(caller: Caller, **parameters: Any) -> Caller:
    """The caller with the key of a new session, begun by stamp_login."""
    key = generate_api_key()
    token = caller.result("stamp_login", {"publicKey": key.public_key, **parameters})["session"]
    claims = claims_of(caller, token)
    assert claims["public_key"] == key.public_key
    return caller.with_key(key, claims["user_id"], claims["organization_id"])
