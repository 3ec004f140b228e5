"""The ID token that this server issues for people of OAuth 2.0 providers that issue no ID tokens.

Here: the claims, in their order. Not here: requests to a provider (`identities.oauth2`), the signature (`signer`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.sessions import compact_jwt

_HEADER = {"alg": "ES256", "typ": "JWT"}


_ClaimText = Annotated[str, Meta(max_length=1_024)]
_ClaimSeconds = Annotated[int, Meta(ge=0, le=253_402_300_799)]


class OauthTokenClaims(msgspec.Struct, frozen=True, kw_only=True):
    """Times are in seconds since the epoch. `subject` looks like x:123. `audience` is the client id at the
    provider.

    `nonce`: lower-case hex of SHA-256 over the text of the key that the token is bound to.
    """

    issuer: _ClaimText
    audience: _ClaimText
    subject: _ClaimText
    nonce: _ClaimText
    issued_at_s: _ClaimSeconds
    expires_at_s: _ClaimSeconds


def oauth_token_signing_input(claims: OauthTokenClaims, encrypted_bearer_token: str | None) -> bytes:
    """The text `header.payload`, in ASCII, that ES256 signs. `encrypted_bearer_token`: the provider's token for the
    client; without one the claim is left out."""
    members: dict[str, str | int] = {
        "iss": claims.issuer,
        "aud": claims.audience,
        "sub": claims.subject,
        "nonce": claims.nonce,
        "iat": claims.issued_at_s,
        "exp": claims.expires_at_s,
    }
    if encrypted_bearer_token is not None:
        members["encrypted_bearer_token"] = encrypted_bearer_token
    return compact_jwt.signing_input(_HEADER, members)
