"""An ID token: its header and issuer, and the identity that it proves after its signature was verified. Pure.

Here: form, limits, times and claims (OpenID Connect Core 1.0, section 3.1.3.7). Not here: keys and signatures
(`key_sets`), fetching keys (`discovery`).
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from keystead.api.parameters import OidcClaims
from keystead.api.validation_text import in_json_words
from keystead.identities.bounds import ID_TOKEN_CHARACTERS_MAX
from keystead.organizations.credentials.identities import ProvenIdentity

CLOCK_SKEW_S = 60
"""Seconds that the issuer's clock may be ahead of this server's clock. The expiry of a token gets no such
tolerance."""

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""The algorithms that may sign a token (RFC 7518, RFC 8037). None of them uses a shared secret."""

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_TYPES = ("JWT", "APPLICATION/JWT")


class BadToken(Exception):
    """A token is refused. The message says why and never holds the token."""


class UnverifiedToken(msgspec.Struct, frozen=True):
    """What a token states before its signature is verified: what is needed to find the key that signed it."""

    algorithm: str
    key_id: str | None
    issuer: str


class _TokenHeader(msgspec.Struct, frozen=True):
    alg: str
    kid: str | None = None
    typ: str | None = None
    crit: Any = msgspec.UNSET


class _Issuer(msgspec.Struct, frozen=True):
    iss: str


_Time = Annotated[float, Meta(ge=0, le=253_402_300_799)]
"""Seconds since the epoch, before the year 10,000: milliseconds are refused."""


class _Claims(msgspec.Struct, frozen=True):
    iss: str
    sub: str
    aud: str | list[str]
    exp: _Time
    nbf: _Time | None = None
    iat: _Time | None = None
    # Of any type, because a valid token may be sent to operations for which these claims do not matter.
    nonce: Any = None
    tknonce: Any = None
    email: Any = None
    email_verified: Any = None


def read_unverified(token: str) -> UnverifiedToken:
    """Header and issuer of a token in compact form (RFC 7515, section 7.1). Raises BadToken."""
    if len(token) > ID_TOKEN_CHARACTERS_MAX:
        raise BadToken(f"expected at most {ID_TOKEN_CHARACTERS_MAX} characters, got {len(token)}")
    if _COMPACT.fullmatch(token) is None:
        raise BadToken("expected a JWT: three parts of base64url without padding, separated by dots")
    first, second, _ = token.split(".")
    header = _read(_part(first, "header"), _TokenHeader, "header", "member")
    if header.alg not in ALGORITHMS:
        raise BadToken(f"header: algorithm {header.alg[:32]!r}: expected one of {', '.join(ALGORITHMS)}")
    if header.crit is not msgspec.UNSET:
        raise BadToken("header: `crit` requires extensions, and this server supports none")
    if header.typ is not None and header.typ.upper() not in _TYPES:
        raise BadToken(f"header: type {header.typ[:32]!r}: expected JWT")
    issuer = _read(_part(second, "payload"), _Issuer, "payload", "claim").iss
    return UnverifiedToken(header.alg, header.kid, issuer)


def claimed_identity(token: str) -> OidcClaims | None:
    """The identity that a token names, without any proof, for a search for its user. None if the token is
    malformed."""
    try:
        read_unverified(token)
        claims = _read(_part(token.split(".")[1], "payload"), _Claims, "payload", "claim")
    except BadToken:
        return None
    audience = claims.aud[0] if isinstance(claims.aud, list) and len(claims.aud) == 1 else claims.aud
    return OidcClaims(iss=claims.iss, sub=claims.sub, aud=audience) if isinstance(audience, str) else None


def proven_identity(payload: bytes, now_ms: int) -> ProvenIdentity:
    """The identity in the payload of a token with a verified signature, at `now_ms`. Raises BadToken."""
    claims = _read(payload, _Claims, "payload", "claim")
    now_s = now_ms / 1000
    if claims.exp <= now_s:
        raise BadToken(f"expired: claim `exp` is {claims.exp:.15g}, the server's time {now_ms // 1000}")
    for name, since in (("nbf", claims.nbf), ("iat", claims.iat)):
        if since is not None and since > now_s + CLOCK_SKEW_S:
            raise BadToken(f"not valid yet: claim `{name}` is {since:.15g}, the server's time {now_ms // 1000}")
    audience = claims.aud
    if isinstance(audience, list):
        if len(audience) != 1:
            raise BadToken(f"claim `aud`: expected one audience, got {len(audience)}")
        (audience,) = audience
    try:
        named = msgspec.convert({"iss": claims.iss, "sub": claims.sub, "aud": audience}, OidcClaims)
    except msgspec.ValidationError as refused:
        what, _, where = str(refused).partition(" - at `$.")
        rule = "expected text without control characters" if "regex" in what else in_json_words(what)
        raise BadToken(f"claim `{where.rstrip('`')}`: {rule}") from None
    # Some issuers write email_verified as text.
    has_verified_email = isinstance(claims.email, str) and claims.email_verified in (True, "true")
    return ProvenIdentity(
        iss=named.iss,
        sub=named.sub,
        aud=named.aud,
        nonces=tuple(nonce for nonce in (claims.nonce, claims.tknonce) if isinstance(nonce, str)),
        email=claims.email.lower() if has_verified_email else None,
    )


def _part(text: str, name: str) -> bytes:
    try:
        return a2b_base64(text.translate(_TO_BASE64) + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:
        raise BadToken(f"{name}: not base64url") from None


_TO_BASE64 = str.maketrans("-_", "+/")


def _read(encoded: bytes, kind: Any, part: str, member: str) -> Any:
    try:
        return msgspec.json.decode(encoded, type=kind)
    except msgspec.ValidationError as refused:
        what, _, where = str(refused).partition(" - at `$.")
        if where:
            raise BadToken(f"{part}: {member} `{where.rstrip('`')}`: {in_json_words(what)}") from None
        what = what.replace("Object missing required field", f"missing {member}")
        raise BadToken(f"{part}: {in_json_words(what)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadToken(f"{part}: not JSON") from None
