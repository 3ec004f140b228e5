"""Which tokens prove an identity, and the refusal of every other token, all at one time."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.errors import InvalidRequest
from keystead.identities.bounds import ID_TOKEN_CHARACTERS_MAX
from keystead.identities.issuers import KnownIssuers
from keystead.identities.key_sets import KeySet
from keystead.identities.tokens import CLOCK_SKEW_S
from keystead.organizations.credentials.identities import ProvenIdentity
from tests.support.issuers import ALGORITHMS, AUDIENCE, HOUR_S, Issuer, base64url, compact

NOW_S = 1_800_000_000
FIELD = "parameters.oauthProviders[0].oidcToken"
ISSUER = Issuer()
OTHER = Issuer(url="https://other.example", generation=2)


class ManualClock:
    def now_ms(self) -> int:
        return NOW_S * 1000


KNOWN = KnownIssuers(ManualClock(), {one.url: one.key_set() for one in (ISSUER, OTHER)})


def proven(token: str, known: KnownIssuers = KNOWN) -> ProvenIdentity:
    return asyncio.run(known.verify_token(token, FIELD))


def refusal(token: str, known: KnownIssuers = KNOWN) -> str:
    """Why a token is refused, after the words that every refusal begins with."""
    with pytest.raises(InvalidRequest) as refused:
        proven(token, known)
    assert refused.value.machine_code == "INVALID_OIDC_TOKEN"
    start = f"invalid OIDC token: field `{FIELD}`: "
    assert refused.value.message.startswith(start)
    why = refused.value.message.removeprefix(start)
    assert len(why) < 400
    assert not any(len(part) > 3 and part in why for part in token.split(".")), "the token is not told again"
    return why


def good(algorithm: str = "RS256", header: dict[str, Any] | None = None, **claims: Any) -> str:
    return ISSUER.token(NOW_S, algorithm, header, **claims)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_good_token_of_each_algorithm(algorithm: str) -> None:
    assert proven(good(algorithm)) == ProvenIdentity(iss=ISSUER.url, sub="somebody", aud=AUDIENCE)


@pytest.mark.parametrize(
    ("claims", "nonces", "email"),
    [
        ({}, (), None),
        ({"nonce": "n"}, ("n",), None),
        ({"tknonce": "t"}, ("t",), None),
        ({"nonce": "n", "tknonce": "t"}, ("n", "t"), None),
        ({"nonce": 1}, (), None),
        ({"email": "Ann@Example.com", "email_verified": True}, (), "ann@example.com"),
        ({"email": "ann@example.com", "email_verified": "true"}, (), "ann@example.com"),
        ({"email": "ann@example.com", "email_verified": False}, (), None),
        ({"email": "ann@example.com", "email_verified": 2}, (), None),
        ({"email": "ann@example.com"}, (), None),
        ({"email": ["ann@example.com"], "email_verified": True}, (), None),
    ],
)
def test_nonces_and_a_verified_address(claims: dict[str, Any], nonces: tuple[str, ...], email: str | None) -> None:
    found = proven(good(**claims))
    assert (found.nonces, found.email) == (nonces, email)


GOOD: dict[str, str] = {
    "one audience in a list": good(aud=[AUDIENCE]),
    "claims that are not needed": good(email="a@example.com", nonce="n", azp=AUDIENCE, address={"a": [1]}),
    "the last second": good(exp=NOW_S + 1),
    "times in fractions": good(exp=NOW_S + 0.5, nbf=NOW_S - 0.5),
    "an issuer whose clock is ahead": good(iat=NOW_S + CLOCK_SKEW_S, nbf=NOW_S + CLOCK_SKEW_S),
    "no time of issue": good(iat=None),
    "no type": good(header={"typ": None}),
    "a type in lower case": good(header={"typ": "jwt"}),
    "the longest subject": good(sub="s" * 1024),
    "another issuer's": OTHER.token(NOW_S),
    "no kid, and one key for the algorithm": good("ES256", header={"kid": None}),
}


@pytest.mark.parametrize("token", GOOD.values(), ids=GOOD.keys())
def test_good(token: str) -> None:
    assert proven(token).aud == AUDIENCE


def changed(part: int, change: Callable[[dict[str, Any]], dict[str, Any]], algorithm: str = "RS256") -> str:
    """A good token, with its header (0) or payload (1) changed after it was signed."""
    from base64 import urlsafe_b64decode

    parts = good(algorithm).split(".")
    whole = json.loads(urlsafe_b64decode(parts[part] + "=="))
    parts[part] = base64url(json.dumps(change(whole)).encode())
    return ".".join(parts)


def flipped(algorithm: str) -> str:
    """A good token with one bit of its signature changed."""
    signed, _, signature = good(algorithm).rpartition(".")
    second = "B" if signature[1] != "B" else "C"
    return f"{signed}.{signature[0]}{second}{signature[2:]}"


def keyed_by_the_public_key(form: PublicFormat, encoding: Encoding) -> str:
    """HS256 whose secret is what everybody knows of the issuer."""
    secret = ISSUER.rsa.public_key().public_bytes(encoding, form)
    header = {"alg": "HS256", "typ": "JWT", "kid": ISSUER.kid("RSA")}
    return compact(header, ISSUER.claims(NOW_S), lambda signed: hmac.digest(secret, signed, hashlib.sha256))


def signed_as(algorithm: str, *, kid: str, by: str) -> str:
    """A header that says one algorithm and names one key, a signature by another algorithm and its key."""
    header = {"alg": algorithm, "typ": "JWT", "kid": kid}
    return compact(header, ISSUER.claims(NOW_S), lambda signed: ISSUER.sign(by, signed))


def in_der() -> str:
    """An ES256 signature in the form that JWS does not have."""
    return compact(
        {"alg": "ES256", "kid": ISSUER.kid("EC")},
        ISSUER.claims(NOW_S),
        lambda signed: ISSUER.ec_key.sign(signed, ec.ECDSA(SHA256())),
    )


def payload(encoded: bytes) -> str:
    """Well signed, and whatever it is."""
    return compact({"alg": "EdDSA", "kid": ISSUER.kid("OKP")}, encoded, ISSUER.ed_key.sign)


WELL_SIGNED_HEADER = {"kid": ISSUER.kid("RSA")}
NOT_THE_ISSUERS = "the signature is not the issuer's"
REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "expected a JWT"),
    "two parts": ("a.b", "expected a JWT"),
    "four parts": (good() + ".AAAA", "expected a JWT"),
    "five parts, encrypted": ("a.b.c.d.e", "expected a JWT"),
    "no signature": (good().rpartition(".")[0] + ".", "expected a JWT"),
    "a line break": (good() + "\n", "expected a JWT"),
    "a blank": (" " + good(), "expected a JWT"),
    "padding": (good().replace(".", "=.", 1), "expected a JWT"),
    "not ASCII": (good()[:-1] + "é", "expected a JWT"),
    "too long": (
        good(filler="x" * ID_TOKEN_CHARACTERS_MAX),
        f"expected at most {ID_TOKEN_CHARACTERS_MAX} characters",
    ),
    "header that is not base64": ("aaaaa.YQ.YQ", "header: not base64url"),
    "header that is not JSON": ("YWJj.YWJj.YWJj", "header: not JSON"),
    "header that is a list": (f"{base64url(b'[]')}.YQ.YQ", "header: expected an object, got a list"),
    "payload that is not JSON": (payload(b"{"), "payload: not JSON"),
    "payload that is not UTF-8": (payload(b'{"iss":"\xff"}'), "payload: not JSON"),
    "payload of many brackets": (payload(b'{"iss":' + b"[" * 5000), "payload: "),
    "header without an algorithm": (good(header={"alg": None}), "header: missing member `alg`"),
    "algorithm none": (good(header={"alg": "none"}), "algorithm 'none': expected one of RS256, PS256"),
    "algorithm none, nothing signed": (
        compact({"alg": "none"}, ISSUER.claims(NOW_S), lambda _: b"x"),
        "algorithm 'none'",
    ),
    "algorithm nOnE": (good(header={"alg": "nOnE"}), "algorithm 'nOnE'"),
    "HS256 by the public key in PEM": (
        keyed_by_the_public_key(PublicFormat.SubjectPublicKeyInfo, Encoding.PEM),
        "algorithm 'HS256'",
    ),
    "HS256 by the public key in DER": (
        keyed_by_the_public_key(PublicFormat.PKCS1, Encoding.DER),
        "algorithm 'HS256'",
    ),
    "RS512": (good(header={"alg": "RS512"}), "algorithm 'RS512'"),
    "algorithm in lower case": (good(header={"alg": "rs256"}), "algorithm 'rs256'"),
    "kid that is a number": (good(header={"kid": 1}), "header: member `kid`: expected text or null, got a number"),
    "unknown kid": (good(header={"kid": "RSA-9"}), "key 'RSA-9': the issuer has no such key for RS256"),
    "kid of another key type": (good(header={"kid": ISSUER.kid("EC")}), "the issuer has no such key for RS256"),
    "key in the header": (good(header={"kid": "mine", "jwk": OTHER.jwk("RSA")}), "the issuer has no such key"),
    "critical extension": (good(header={"crit": ["exp"], "exp": 1}), "`crit` requires extensions"),
    "critical extensions, none": (good(header={"crit": []}), "`crit` requires extensions"),
    "critical extensions, null": (
        compact({"alg": "EdDSA", "crit": None}, ISSUER.claims(NOW_S), ISSUER.ed_key.sign),
        "`crit` requires extensions",
    ),
    "payload that is not encoded": (good(header={"b64": False}), "malformed"),
    "access token": (good(header={"typ": "at+jwt"}), "type 'at+jwt': expected JWT"),
    "header changed": (changed(0, lambda header: {**header, "typ": "jwt"}), NOT_THE_ISSUERS),
    "subject changed": (changed(1, lambda claims: {**claims, "sub": "root"}), NOT_THE_ISSUERS),
    "claim added": (changed(1, lambda claims: {**claims, "email_verified": True}), NOT_THE_ISSUERS),
    "expiry changed": (changed(1, lambda claims: {**claims, "exp": NOW_S + 10 * HOUR_S}), NOT_THE_ISSUERS),
    "issuer changed": (
        changed(1, lambda claims: {**claims, "iss": OTHER.url}),
        "key 'RSA-1': the issuer has no such key for RS256",
    ),
    **{f"signature changed, {algorithm}": (flipped(algorithm), NOT_THE_ISSUERS) for algorithm in ALGORITHMS},
    "signature cut short": (good()[:-2], NOT_THE_ISSUERS),
    "signature of no length": (good("EdDSA").rpartition(".")[0] + ".AA", NOT_THE_ISSUERS),
    "signature in DER": (in_der(), NOT_THE_ISSUERS),
    "PS256 signed as RS256": (signed_as("PS256", kid=ISSUER.kid("RSA"), by="RS256"), NOT_THE_ISSUERS),
    "RS256 signed as PS256": (signed_as("RS256", kid=ISSUER.kid("RSA"), by="PS256"), NOT_THE_ISSUERS),
    "EdDSA by the key of ES256": (signed_as("EdDSA", kid=ISSUER.kid("EC"), by="ES256"), "no such key for EdDSA"),
    "another issuer's signature": (
        OTHER.token(NOW_S, iss=ISSUER.url, header=WELL_SIGNED_HEADER),
        NOT_THE_ISSUERS,
    ),
    "unknown issuer": (
        Issuer(url="https://unknown.example").token(NOW_S),
        "this server does not accept issuer 'https://unknown.example'; an operator names issuers in "
        "KEYSTEAD_OIDC_KEYS_FILE or KEYSTEAD_OIDC_ISSUERS",
    ),
    "issuer with a slash more": (good(iss=ISSUER.url + "/"), "does not accept"),
    "issuer of great length": (good(iss="https://" + "x" * 9000), "does not accept"),
    "no issuer": (good(iss=None), "payload: missing claim `iss`"),
    "no subject": (good(sub=None), "payload: missing claim `sub`"),
    "no audience": (good(aud=None), "payload: missing claim `aud`"),
    "no expiry": (good(exp=None), "payload: missing claim `exp`"),
    "subject empty": (good(sub=""), "claim `sub`: expected text of at least 1 character"),
    "subject too long": (good(sub="s" * 1025), "claim `sub`: expected text of at most 1024 characters"),
    "subject with a control character": (good(sub="a\nb"), "claim `sub`: expected text without control characters"),
    "subject that is a number": (good(sub=1), "claim `sub`: expected text, got a number"),
    "audience too long": (good(aud="a" * 1025), "claim `aud`: expected text of at most 1024 characters"),
    "audience empty": (good(aud=""), "claim `aud`"),
    "two audiences": (good(aud=[AUDIENCE, "another"]), "claim `aud`: expected one audience, got 2"),
    "no audience in a list": (good(aud=[]), "claim `aud`: expected one audience, got 0"),
    "audience that is a number": (good(aud=[1]), "claim `aud[0]`: expected text, got a number"),
    "expired": (good(exp=NOW_S - 1), f"expired: claim `exp` is {NOW_S - 1}, the server's time {NOW_S}"),
    "expired just now": (good(exp=NOW_S), "expired"),
    "expired before time began": (good(exp=-1), "claim `exp`: expected a number of at least 0"),
    "expiry in milliseconds": (good(exp=NOW_S * 1000), "claim `exp`: expected a number of at most 253402300799"),
    "expiry of many digits": (good(exp=10**4000), "claim `exp`"),
    "expiry of more digits than Python reads": (
        payload(b'{"iss":"%b","exp":1%b}' % (ISSUER.url.encode(), b"0" * 9000)),
        "",
    ),
    "expiry beyond all numbers": (good(exp=float("inf")), "payload: not JSON"),
    "expiry as text": (good(exp=str(NOW_S + 60)), "claim `exp`: expected a number, got text"),
    "expiry true": (good(exp=True), "claim `exp`: expected a number, got true or false"),
    "not valid yet": (good(nbf=NOW_S + CLOCK_SKEW_S + 1), "not valid yet: claim `nbf`"),
    "issued in the future": (good(iat=NOW_S + CLOCK_SKEW_S + 1), "not valid yet: claim `iat`"),
}


@pytest.mark.parametrize(("token", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(token: str, why: str) -> None:
    assert why in refusal(token)


def test_a_server_without_issuers_names_the_settings() -> None:
    assert "KEYSTEAD_OIDC_KEYS_FILE" in refusal(good(), KnownIssuers(ManualClock()))


def test_a_key_of_another_curve_does_not_verify_es256() -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    point = key.public_key().public_numbers()
    jwk = {"kty": "EC", "kid": "k", "x": base64url(point.x.to_bytes(48)), "y": base64url(point.y.to_bytes(48))}

    def sign(signed: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(SHA384())))
        return r.to_bytes(48) + s.to_bytes(48)

    token = compact({"alg": "ES256", "kid": "k"}, ISSUER.claims(NOW_S), sign)
    for curve in ("P-384", "P-256"):
        jwks = {"keys": [jwk | {"crv": curve}, ISSUER.jwk("RSA")]}
        known = KnownIssuers(ManualClock(), {ISSUER.url: KeySet(json.dumps(jwks).encode())})
        assert "no such key for ES256" in refusal(token, known)
