"""An OpenID Connect issuer of the tests' own: its keys, their public halves, and ID tokens that it signs.

The tokens are put together from the RFCs and signed by `cryptography`, not by the library that verifies them.
"""

from __future__ import annotations

import functools
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.identities.key_sets import KeySet
from tests.support.oauth2_provider import provider_settings

AUDIENCE = "client-of-the-tests"
HOUR_S = 3_600

_KEY_TYPES = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}
ALGORITHMS = tuple(_KEY_TYPES)


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(header: Mapping[str, Any], payload: Any, sign: Callable[[bytes], bytes]) -> str:
    """A JWS in compact form; `payload` as bytes, or as what becomes JSON."""
    encoded = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    signed = f"{base64url(json.dumps(header).encode())}.{base64url(encoded)}"
    return f"{signed}.{base64url(sign(signed.encode()))}"


@functools.cache
def rsa_key(bits: int = 2048, number: int = 0) -> rsa.RSAPrivateKey:
    """One of the tests' RSA keys. They are cached, because creating one takes time."""
    return rsa.generate_private_key(65537, bits)


def integer(number: int) -> str:
    return base64url(number.to_bytes((number.bit_length() + 7) // 8))


@dataclass(frozen=True)
class Issuer:
    """`generation` tells apart the keys before and after a rotation."""

    url: str = "https://issuer.example"
    generation: int = 1
    ec_key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    ed_key: ed25519.Ed25519PrivateKey = field(default_factory=ed25519.Ed25519PrivateKey.generate)

    @property
    def rsa(self) -> rsa.RSAPrivateKey:
        return rsa_key(2048, self.generation)

    def jwk(self, key_type: str) -> dict[str, Any]:
        """The public key of type RSA, EC or OKP."""
        named = {"kty": key_type, "kid": self.kid(key_type), "use": "sig"}
        if key_type == "RSA":
            numbers = self.rsa.public_key().public_numbers()
            return {**named, "n": integer(numbers.n), "e": integer(numbers.e)}
        if key_type == "EC":
            point = self.ec_key.public_key().public_numbers()
            x, y = (base64url(one.to_bytes(32)) for one in (point.x, point.y))
            return {**named, "crv": "P-256", "x": x, "y": y}
        return {**named, "crv": "Ed25519", "x": base64url(self.ed_key.public_key().public_bytes_raw())}

    def kid(self, key_type: str) -> str:
        return f"{key_type}-{self.generation}"

    def jwks(self) -> dict[str, Any]:
        return {"keys": [self.jwk(key_type) for key_type in ("RSA", "EC", "OKP")]}

    def key_set(self) -> KeySet:
        return KeySet(json.dumps(self.jwks()).encode())

    def sign(self, algorithm: str, message: bytes) -> bytes:
        match algorithm:
            case "RS256":
                return self.rsa.sign(message, padding.PKCS1v15(), SHA256())
            case "PS256":
                return self.rsa.sign(message, padding.PSS(padding.MGF1(SHA256()), 32), SHA256())
            case "ES256":
                r, s = decode_dss_signature(self.ec_key.sign(message, ec.ECDSA(SHA256())))
                return r.to_bytes(32) + s.to_bytes(32)
            case _:
                return self.ed_key.sign(message)

    def claims(self, now_s: int, **claims: Any) -> dict[str, Any]:
        """Those of a token that is good for an hour. A claim given as None is left out."""
        whole = {"iss": self.url, "sub": "somebody", "aud": AUDIENCE, "iat": now_s, "exp": now_s + HOUR_S} | claims
        return {name: value for name, value in whole.items() if value is not None}

    def token(
        self, now_s: int, algorithm: str = "RS256", header: Mapping[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token made at `now_s`. `header` adds to it or, with None, leaves out."""
        whole = {"alg": algorithm, "typ": "JWT", "kid": self.kid(_KEY_TYPES[algorithm])} | dict(header or {})
        given = {name: value for name, value in whole.items() if value is not None}
        return compact(given, self.claims(now_s, **claims), functools.partial(self.sign, algorithm))


ISSUER = Issuer()
"""The issuer whose tokens the tests' servers accept."""


def write_keys_file(path: Path, *issuers: Issuer) -> Path:
    """Write the file for KEYSTEAD_OIDC_KEYS_FILE."""
    path.write_text(json.dumps({issuer.url: issuer.jwks() for issuer in issuers}))
    return path


def taking_tokens(folder: Path) -> dict[str, str]:
    """The settings of a server that takes ISSUER's tokens; its file is made in this folder. It asks a provider of
    OAuth 2.0 of the tests' own."""
    return {"oidc_keys_file": str(write_keys_file(folder / "issuers.json", ISSUER)), **provider_settings()}
