"""An issuer's public keys (RFC 7517), and the verification of a token's signature. Pure.

Here: reading a JWK Set, the operator's file of pinned sets, the choice of the key, the signature. Not here: claims
(`tokens`), fetching a set (`discovery`). Slow to import, so only servers that accept an issuer import it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from keystead.identities.bounds import ISSUER_KEYS_MAX, ISSUER_RSA_BITS_MAX, ISSUER_RSA_BITS_MIN
from keystead.identities.tokens import BadToken, UnverifiedToken


class BadKeySet(Exception):
    """These bytes are not a usable key set. The message says why."""


class _Jwk(msgspec.Struct, frozen=True, omit_defaults=True):
    """The members of public keys. Private members are not read."""

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


_RSA = ("RS256", "PS256")
_ALGORITHMS_OF = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""The algorithms that a key can verify, by key type and curve."""


class _JsonWebKey(msgspec.Struct, frozen=True):
    key_id: str | None
    by_algorithm: dict[str, jwt.PyJWK]


class KeySet:
    """The keys of one issuer that can verify signatures here. Other keys in the set are ignored."""

    def __init__(self, jwks: bytes | msgspec.Raw) -> None:
        """Raises BadKeySet if this is not a JWK Set, has more than KEYS_MAX keys, or no usable one."""
        try:
            raw_keys = msgspec.json.decode(jwks, type=_JwkSet).keys
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BadKeySet("expected a JWK Set, an object with a list `keys`") from None
        if len(raw_keys) > ISSUER_KEYS_MAX:
            raise BadKeySet(f"expected at most {ISSUER_KEYS_MAX} keys, got {len(raw_keys)}")
        self._keys = [key for raw in raw_keys if (key := _read_key(raw)) is not None]
        if not self._keys:
            raise BadKeySet("no key in it verifies RS256, PS256, ES256 or EdDSA signatures")

    def has_key_for(self, unverified: UnverifiedToken) -> bool:
        """Whether the set has a key with the token's `kid`; for a token without `kid`, any key for its
        algorithm."""
        return bool(self._candidates(unverified))

    def verify(self, token: str, unverified: UnverifiedToken) -> bytes:
        """The payload of a token that one of the keys signed. Raises BadToken.

        A token that names no key is accepted if the set has exactly one key for its algorithm (OpenID Connect Core
        1.0, section 10.1). Several keys may have the `kid` that a token names (RFC 7517, section 4.5): they are
        tried in turn.
        """
        candidates = self._candidates(unverified)
        if not candidates:
            named = "header without `kid`" if unverified.key_id is None else f"key {unverified.key_id[:100]!r}"
            sizes = (
                f" (RSA: {ISSUER_RSA_BITS_MIN} to {ISSUER_RSA_BITS_MAX} bits)"
                if unverified.algorithm in _RSA
                else ""
            )
            raise BadToken(f"{named}: the issuer has no such key for {unverified.algorithm}{sizes}")
        if len(candidates) > 1 and unverified.key_id is None:
            raise BadToken(
                f"the issuer has {len(candidates)} keys for {unverified.algorithm}: expected the `kid` of "
                "one of them"
            )
        for candidate in candidates:
            try:
                decoded = jwt.PyJWS(algorithms=[unverified.algorithm]).decode_complete(
                    token, candidate, algorithms=[unverified.algorithm]
                )
            except jwt.InvalidSignatureError:
                continue
            except jwt.PyJWTError:
                raise BadToken("malformed: a part is not base64url, or not what its header says") from None
            payload: bytes = decoded["payload"]
            return payload
        raise BadToken("the signature is not the issuer's")

    def _candidates(self, unverified: UnverifiedToken) -> list[jwt.PyJWK]:
        return [
            key.by_algorithm[unverified.algorithm]
            for key in self._keys
            if unverified.algorithm in key.by_algorithm
            and (unverified.key_id is None or key.key_id == unverified.key_id)
        ]


def _read_key(raw: msgspec.Raw) -> _JsonWebKey | None:
    """The key if it is for signatures and of an accepted type and size; otherwise None."""
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
        if isinstance(key.key, RSAPublicKey) and not ISSUER_RSA_BITS_MIN <= key.key.key_size <= ISSUER_RSA_BITS_MAX:
            return None
    return _JsonWebKey(jwk.kid, by_algorithm) if by_algorithm else None


def pinned_key_sets(file: Path) -> dict[str, KeySet]:
    """The keys of each issuer in the file. Raises ValueError, naming the issuer, or OSError."""
    try:
        by_issuer = msgspec.json.decode(file.read_bytes(), type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("expected a JSON object with a JWK Set by issuer") from None
    key_sets = {}
    for issuer, jwks in by_issuer.items():
        try:
            key_sets[issuer] = KeySet(jwks)
        except BadKeySet as bad:
            raise ValueError(f"issuer {issuer[:200]!r}: {bad}") from None
    return key_sets
