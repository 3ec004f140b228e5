"""The rules of API keys: form, uniqueness, expiry, how many. Pure.

Here: from the request's parameters to the record. Not here: which user a key proves (`principals`).
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from keystead.api.enums import ApiKeyCurve, CredentialType
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import ApiKey, Credential, Timestamp
from keystead.organizations.kinds import users
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.stamps.ed25519 import check_public_key

API_KEY_TYPES: Final = {
    ApiKeyCurve.P256: CredentialType.API_KEY_P256,
    ApiKeyCurve.SECP256K1: CredentialType.API_KEY_SECP256K1,
    ApiKeyCurve.ED25519: CredentialType.API_KEY_ED25519,
}

_LATEST_EXPIRATION_SECONDS = 100 * 365 * 24 * 3600


def new_api_key(params: ApiKeyParamsV2, api_key_id: str, now: Timestamp, field: str) -> ApiKey:
    """The record of an API key. Raises InvalidRequest for a malformed key or expiration.

    Length, prefix and hex of the key are checked. Whether the point is on its curve is not checked: if it is not,
    no stamp verifies with the key.
    """
    curve = params.curve_type or ApiKeyCurve.P256
    return ApiKey(
        credential=Credential(
            public_key=_checked_public_key(params.public_key, curve, f"{field}.publicKey"),
            type=API_KEY_TYPES[curve],
        ),
        api_key_id=api_key_id,
        api_key_name=params.api_key_name,
        created_at=now,
        updated_at=now,
        expiration_seconds=_checked_expiration(params.expiration_seconds, f"{field}.expirationSeconds"),
    )


def _checked_public_key(public_key: str, curve: ApiKeyCurve, field: str) -> str:
    text = normalized_public_key(public_key)
    try:
        raw = unhexlify(text)
    except ValueError:
        raw = b""
    match curve:
        case ApiKeyCurve.ED25519:
            if len(raw) != 32:
                raise InvalidRequest(f"invalid api public key: field `{field}`: expected 64 hex digits for {curve}")
            try:
                check_public_key(raw)
            except ValueError as weak:
                raise InvalidRequest(f"invalid api public key: field `{field}`: {weak}") from None
        case ApiKeyCurve.P256 | ApiKeyCurve.SECP256K1:
            if len(raw) != 33 or raw[0] not in (2, 3):
                raise InvalidRequest(
                    f"invalid api public key: field `{field}`: expected a compressed key for {curve}: 66 hex "
                    "digits that begin with 02 or 03"
                )
        case _:
            assert_never(curve)
    return raw.hex()


def _checked_expiration(seconds: str | None, field: str) -> str | None:
    if seconds is None:
        return None
    if not (seconds.isascii() and seconds.isdigit() and 0 < int(seconds) <= _LATEST_EXPIRATION_SECONDS):
        raise InvalidRequest(
            f"invalid api key expiration: field `{field}`: {seconds!r}: expected a positive number of seconds "
            f"as decimal text, at most {_LATEST_EXPIRATION_SECONDS}"
        )
    return str(int(seconds))


def with_api_keys(
    held: Sequence[ApiKey], added: Sequence[ApiKey], limits: Limits, now_ms: int
) -> tuple[ApiKey, ...]:
    """A user's API keys after the addition.

    A long-lived key beyond the limit is refused (LimitReached); an expiring one takes the place of an expired
    key, else of the oldest expiring one.
    """
    keys = list(held)
    for key in added:
        expiring = [other for other in keys if other.expires_at_ms is not None]
        if key.expires_at_ms is None:
            if len(keys) - len(expiring) >= limits[users.LONG_LIVED_API_KEYS]:
                raise LimitReached(
                    "user has exceeded maximum long-lived api keys: "
                    f"{limits[users.LONG_LIVED_API_KEYS]} are allowed per user"
                )
        elif len(expiring) >= limits[users.EXPIRING_API_KEYS]:
            if limits[users.EXPIRING_API_KEYS] < 1:
                raise LimitReached("user has exceeded maximum short-lived api keys: none are allowed per user")
            keys.remove(min(expiring, key=lambda other: _eviction_order(other, now_ms)))
        keys.append(key)
    return tuple(keys)


def _eviction_order(key: ApiKey, now_ms: int) -> tuple[bool, int, str]:
    assert key.expires_at_ms is not None
    return key.expires_at_ms > now_ms, key.created_at.epoch_ms, key.api_key_id


def check_public_keys_free(organization: Organization, keys: Iterable[ApiKey]) -> None:
    """Raise InvalidRequest if one of these keys exists in the organization already, or twice among them. Its stamps
    would not identify one user."""
    seen: set[str] = set()
    for key in keys:
        public_key = key.credential.public_key
        if public_key in organization.users.by_public_key or public_key in seen:
            raise InvalidRequest(f"invalid api public key: {public_key} is already an API key in this organization")
        seen.add(public_key)


def normalized_public_key(text: str) -> str:
    """A public key from a request in the form of the records: lower-case hex without 0x."""
    return text.lower().removeprefix("0x")
