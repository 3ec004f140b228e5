"""An issuer's public keys (RFC 7517): which one a token must be signed with, and whether it is. Pure.

Here: reading a JWK Set, choosing among its keys, the signature. Not here: claims (`tokens`), fetching a set.
Slow to import: only servers that know an issuer do.
"""

from __future__ import annotations

from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from keystead.identities.tokens import Announced, BadToken

KEYS_MAX = 100
"""Most keys of a set."""

RSA_BITS_MIN, RSA_BITS_MAX = 2048, 8192
"""RFC 7518 asks for the lower; the upper bounds the time that a verification takes."""


class BadKeySet(Exception):
    """Why these bytes are not a usable key set."""


class _Jwk(msgspec.Struct, frozen=True, omit_defaults=True):
    """The members that public keys have; private ones are not read."""

    kty: str
    kid: str | None = None
    alg: str | None = None
    use: str | None = None
    key_ops: list[str] | None = None
    crv: str | None = None
    n: str | None = None
    e: str | None = None
    x: str | None = None
    y: str | None = None


class _JwkSet(msgspec.Struct, frozen=True):
    keys: list[msgspec.Raw]


_ALGORITHMS_OF = {
    ("RSA", None): ("RS256", "PS256"),
    ("EC", "P-256"): ("ES256",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""By key type and curve: what a key can verify."""


class _Key(msgspec.Struct, frozen=True):
    key_id: str | None
    by_algorithm: dict[str, jwt.PyJWK]


class KeySet:
    """The keys of one issuer that can verify signatures here; others in the set are passed over."""

    def __init__(self, jwks: bytes | msgspec.Raw) -> None:
        """Raises BadKeySet if this is not a JWK Set, has more than KEYS_MAX keys, or no usable one."""
        try:
            found = msgspec.json.decode(jwks, type=_JwkSet).keys
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadKeySet("expected a JWK Set, an object with a list `keys`") from None
        if len(found) > KEYS_MAX:
            raise BadKeySet(f"expected at most {KEYS_MAX} keys, got {len(found)}")
        self._keys = [key for each in found if (key := _usable(each)) is not None]
        if not self._keys:
            raise BadKeySet("no key in it verifies RS256, PS256, ES256 or EdDSA signatures")

    def has_key_for(self, announced: Announced) -> bool:
        """Whether a key of the token's `kid` is here; for a token without one, any key for its algorithm."""
        return bool(self._candidates(announced))

    def verified(self, token: str, announced: Announced) -> bytes:
        """The payload of a token that one of the keys signed. Raises BadToken.

        A token that names no key is taken where there is one key for its algorithm only (OpenID Connect Core 1.0,
        section 10.1).
        """
        candidates = self._candidates(announced)
        if not candidates:
            named = "header without `kid`" if announced.key_id is None else f"key {announced.key_id[:100]!r}"
            raise BadToken(f"{named}: the issuer has no such key for {announced.algorithm}")
        if len(candidates) > 1:
            raise BadToken(
                f"the issuer has {len(candidates)} keys that this may be: expected a `kid` of one of them"
            )
        try:
            decoded = jwt.PyJWS(algorithms=[announced.algorithm]).decode_complete(
                token, candidates[0], algorithms=[announced.algorithm]
            )
        except jwt.InvalidSignatureError:
            raise BadToken("the signature is not the issuer's") from None
        except jwt.PyJWTError:
            raise BadToken("malformed: a part is not base64url, or not what its header says") from None
        payload: bytes = decoded["payload"]
        return payload

    def _candidates(self, announced: Announced) -> list[jwt.PyJWK]:
        return [
            key.by_algorithm[announced.algorithm]
            for key in self._keys
            if announced.algorithm in key.by_algorithm
            and (announced.key_id is None or key.key_id == announced.key_id)
        ]


def _usable(raw: msgspec.Raw) -> _Key | None:
    """The key, if it is one for signatures, of a type and size that are taken here."""
    try:
        jwk = msgspec.json.decode(raw, type=_Jwk)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    algorithms = _ALGORITHMS_OF.get((jwk.kty, jwk.crv), ())
    is_for_signatures = jwk.use in (None, "sig") and (jwk.key_ops is None or "verify" in jwk.key_ops)
    members: dict[str, Any] = msgspec.to_builtins(jwk)
    try:
        by_algorithm = {
            algorithm: jwt.PyJWK(members, algorithm)
            for algorithm in algorithms
            if is_for_signatures and jwk.alg in (None, algorithm)
        }
    except (jwt.PyJWTError, ValueError):
        return None
    for key in by_algorithm.values():
        if isinstance(key.key, RSAPublicKey) and not RSA_BITS_MIN <= key.key.key_size <= RSA_BITS_MAX:
            return None
    return _Key(jwk.kid, by_algorithm) if by_algorithm else None
