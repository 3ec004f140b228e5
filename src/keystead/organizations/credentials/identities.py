"""What an ID token of an OpenID Connect issuer proves. Not here: verifying a token (`keystead.identities`)."""

from __future__ import annotations

import msgspec


class ProvenIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An identity, from a token whose signature and times were valid.

    `iss`, `sub`, `aud` name it. `nonces` are the claims `nonce` and `tknonce`, those that the token has. `email` is
    in lower case; None unless the token says that the issuer verified it.
    """

    iss: str
    sub: str
    aud: str
    nonces: tuple[str, ...] = ()
    email: str | None = None
