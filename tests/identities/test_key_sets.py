"""Which keys of a JWK Set are usable, which of them may have signed a token, and the file of pinned keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keystead.identities.bounds import ISSUER_KEYS_MAX
from keystead.identities.key_sets import BadKeySet, KeySet, pinned_key_sets
from keystead.identities.tokens import BadToken, read_unverified
from tests.support.issuers import Issuer, base64url, integer, rsa_key, write_keys_file

NOW_S = 1_800_000_000
ISSUER = Issuer()
RSA, EC, OKP = (ISSUER.jwk(key_type) for key_type in ("RSA", "EC", "OKP"))


def key_set(*keys: Any) -> KeySet:
    return KeySet(json.dumps({"keys": keys}).encode())


def _without(jwk: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in jwk.items() if name not in names}


BAD_SETS: dict[str, bytes] = {
    "no JSON": b"{",
    "not UTF-8": b'{"keys": "\xff"}',
    "a list": b"[]",
    "no keys": b"{}",
    "an empty list": b'{"keys": []}',
    "many brackets": b'{"keys": [' + b"[" * 10_000,
    "too many": json.dumps({"keys": [RSA] * (ISSUER_KEYS_MAX + 1)}).encode(),
}


@pytest.mark.parametrize("jwks", BAD_SETS.values(), ids=BAD_SETS.keys())
def test_no_set_of_keys(jwks: bytes) -> None:
    with pytest.raises(BadKeySet):
        KeySet(jwks)


SMALL = rsa_key(1024).public_key().public_numbers()
OF_NO_USE: dict[str, Any] = {
    "not an object": 1,
    "no type": _without(RSA, "kty"),
    "a shared secret": {"kty": "oct", "kid": "k", "k": base64url(b"secret")},
    "for encryption": RSA | {"use": "enc"},
    "for signing only": RSA | {"key_ops": ["sign"]},
    "for another algorithm": RSA | {"alg": "RS512"},
    "for the algorithm of another type": RSA | {"alg": "ES256"},
    "RSA of 1024 bits": {"kty": "RSA", "n": integer(SMALL.n), "e": integer(SMALL.e)},
    "RSA of 16384 bits": {"kty": "RSA", "n": integer((1 << 16_383) + 1), "e": "AQAB"},
    "RSA with an even exponent": RSA | {"e": "Ag"},
    "RSA without a modulus": _without(RSA, "n"),
    "RSA whose modulus is not base64": RSA | {"n": "!"},
    "a curve of no type": RSA | {"crv": "P-256"},
    "P-384": EC | {"crv": "P-384"},
    "secp256k1": EC | {"crv": "secp256k1"},
    "a point off the curve": EC | {"x": EC["y"]},
    "half a point": _without(EC, "y"),
    "X25519": OKP | {"crv": "X25519"},
    "Ed448": OKP | {"crv": "Ed448"},
    "Ed25519 of 31 bytes": OKP | {"x": base64url(bytes(31))},
}


@pytest.mark.parametrize("jwk", OF_NO_USE.values(), ids=OF_NO_USE.keys())
def test_an_unusable_key_is_ignored(jwk: Any) -> None:
    with pytest.raises(BadKeySet, match="no key in it verifies"):
        key_set(jwk)
    token = ISSUER.token(NOW_S, "EdDSA")
    assert key_set(jwk, OKP).verify(token, read_unverified(token))


def test_members_that_say_more() -> None:
    further_members = {
        "use": "sig",
        "alg": "PS256",
        "key_ops": ["verify"],
        "x5t": "x",
        "d": "a private part, not read",
    }
    keys = key_set(RSA | further_members)
    good, other = ISSUER.token(NOW_S, "PS256"), ISSUER.token(NOW_S, "RS256")
    assert keys.verify(good, read_unverified(good))
    with pytest.raises(BadToken, match=r"no such key for RS256 \(RSA: 2048 to 8192 bits\)"):
        keys.verify(other, read_unverified(other))


def test_a_token_without_kid_among_several_keys() -> None:
    """Is refused, whichever signed it: trying each is not what a `kid` is for."""
    token = ISSUER.token(NOW_S, "RS256", header={"kid": None})
    second = Issuer(generation=2).jwk("RSA")
    assert key_set(RSA, EC).verify(token, read_unverified(token))
    with pytest.raises(BadToken, match="2 keys for RS256"):
        key_set(RSA, second).verify(token, read_unverified(token))


def test_two_keys_of_one_kid() -> None:
    """They are tried in turn. RFC 7517 does not forbid it, and issuers publish such sets."""
    token = ISSUER.token(NOW_S, "RS256")
    second, third = (Issuer(generation=number).jwk("RSA") | {"kid": RSA["kid"]} for number in (2, 3))
    for keys in ((RSA, RSA), (RSA, second), (second, RSA), (second, third, RSA), (EC | {"kid": RSA["kid"]}, RSA)):
        assert key_set(*keys).verify(token, read_unverified(token))
    for keys in ((second, third), (second, RSA | {"kid": "another"})):
        with pytest.raises(BadToken, match="the signature is not the issuer's"):
            key_set(*keys).verify(token, read_unverified(token))


def test_the_file_of_pinned_keys(tmp_path: Path) -> None:
    other = Issuer(url="http://localhost:8180/realms/tests", generation=2)
    pinned = pinned_key_sets(write_keys_file(tmp_path / "keys.json", ISSUER, other))
    assert set(pinned) == {ISSUER.url, other.url}
    token = other.token(NOW_S)
    assert pinned[other.url].verify(token, read_unverified(token))


BAD_FILES: dict[str, tuple[str, str]] = {
    "no JSON": ("keys", "expected a JSON object with a JWK Set by issuer"),
    "a JWK Set": (json.dumps(ISSUER.jwks()), "issuer 'keys': expected a JWK Set"),
    "an issuer without keys": (json.dumps({ISSUER.url: {"keys": []}}), f"issuer '{ISSUER.url}': no key in it"),
}


@pytest.mark.parametrize(("text", "why"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="^" + why.replace("'", ".")):
        pinned_key_sets(file)
