"""The rules of API keys, passkeys and OAuth identities: form, uniqueness, expiry, how many.

Here: from the request's parameters to the record. Not here: whether a passkey's attestation (`stamps.attestation`)
or a token (`identities`) is valid, and which user a credential proves (`principals`).
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from keystead.api.enums import ApiKeyCurve, CredentialType
from keystead.api.errors import AlreadyExists, InvalidRequest, LimitReached
from keystead.api.parameters import ApiKeyParamsV2, AuthenticatorParamsV2, OauthProviderParamsV2
from keystead.api.records import ApiKey, Authenticator, Credential, OauthProvider, Timestamp, User
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.kinds.passkeys import Passkey
from keystead.organizations.kinds.users import (
    AUTHENTICATORS,
    EXPIRING_API_KEYS,
    LONG_LIVED_API_KEYS,
    OAUTH_PROVIDERS,
)
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.ed25519 import check_public_key

_API_KEY_TYPES = {
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
            type=_API_KEY_TYPES[curve],
        ),
        api_key_id=api_key_id,
        api_key_name=params.api_key_name,
        created_at=now,
        updated_at=now,
        expiration_seconds=_checked_expiration(params.expiration_seconds, f"{field}.expirationSeconds"),
    )


def _checked_public_key(public_key: str, curve: ApiKeyCurve, field: str) -> str:
    text = looked_up_public_key(public_key)
    try:
        raw = unhexlify(text)
    except ValueError:
        raw = b""
    if curve is ApiKeyCurve.ED25519:
        if len(raw) != 32:
            raise InvalidRequest(f"invalid api public key: field `{field}`: expected 64 hex digits for {curve}")
        try:
            check_public_key(raw)
        except ValueError as weak:
            raise InvalidRequest(f"invalid api public key: field `{field}`: {weak}") from None
    elif len(raw) != 33 or raw[0] not in (2, 3):
        raise InvalidRequest(
            f"invalid api public key: field `{field}`: expected a compressed key for {curve}: 66 hex digits "
            "that begin with 02 or 03"
        )
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
            if len(keys) - len(expiring) >= limits[LONG_LIVED_API_KEYS]:
                raise LimitReached(
                    "user has exceeded maximum long-lived api keys: "
                    f"{limits[LONG_LIVED_API_KEYS]} are allowed per user"
                )
        elif len(expiring) >= limits[EXPIRING_API_KEYS]:
            if limits[EXPIRING_API_KEYS] < 1:
                raise LimitReached("user has exceeded maximum short-lived api keys: none are allowed per user")
            keys.remove(min(expiring, key=lambda other: _eviction_order(other, now_ms)))
        keys.append(key)
    return tuple(keys)


def _eviction_order(key: ApiKey, now_ms: int) -> tuple[bool, int, str]:
    assert key.expires_at_ms is not None
    return key.expires_at_ms > now_ms, key.created_at.epoch_ms, key.api_key_id


def check_public_keys_free(organization: Organization, keys: Iterable[ApiKey]) -> None:
    """Raise InvalidRequest if a key exists in the organization already, or twice among these: its stamps could not
    name one user."""
    seen: set[str] = set()
    for key in keys:
        public_key = key.credential.public_key
        if public_key in organization.users.by_public_key or public_key in seen:
            raise InvalidRequest(f"invalid api public key: {public_key} is already an API key in this organization")
        seen.add(public_key)


def new_authenticator(
    params: AuthenticatorParamsV2, authenticator_id: str, now: Timestamp, field: str
) -> tuple[Authenticator, Passkey]:
    """The records of a passkey. Raises InvalidRequest unless its attestation is valid for the challenge."""
    from keystead.stamps.attestation import verify_attestation  # slow to import, and needed by few requests

    attestation = params.attestation
    try:
        registered = verify_attestation(
            params.challenge,
            attestation.credential_id,
            attestation.client_data_json,
            attestation.attestation_object,
        )
    except InvalidRequest as refused:
        raise InvalidRequest(f"{refused.message} (field `{field}.attestation`)") from None
    authenticator = Authenticator(
        transports=attestation.transports,
        attestation_type=registered.attestation_type,
        aaguid=registered.aaguid,
        credential_id=registered.credential_id,
        model=registered.model,
        credential=Credential(
            public_key=registered.credential_public_key, type=CredentialType.WEBAUTHN_AUTHENTICATOR
        ),
        authenticator_id=authenticator_id,
        authenticator_name=params.authenticator_name,
        created_at=now,
        updated_at=now,
    )
    return authenticator, Passkey(authenticator_id=authenticator_id, rp_id_hash=registered.rp_id_hash)


def check_room_for_authenticators(held: int, adding: int, limits: Limits) -> None:
    """Raise LimitReached if a user with `held` passkeys may not have so many more.

    Checked before any is verified: an attestation takes up to a millisecond.
    """
    if held + adding > limits[AUTHENTICATORS]:
        raise LimitReached(
            f"user has exceeded maximum authenticators: {limits[AUTHENTICATORS]} are allowed per user"
        )


def check_credential_ids_free(organization: Organization, authenticators: Iterable[Authenticator]) -> None:
    """Raise InvalidRequest if a credential id exists in the organization already, or twice among these."""
    seen: set[str] = set()
    for authenticator in authenticators:
        credential_id = authenticator.credential_id
        if credential_id in organization.users.by_credential_id or credential_id in seen:
            raise InvalidRequest(
                f"invalid authenticator attestation: credential ID {credential_id} is already an authenticator "
                "in this organization"
            )
        seen.add(credential_id)


def tokens_of(providers: Iterable[OauthProviderParamsV2], field: str) -> dict[str, str]:
    """The ID tokens among these, by the field of each; `field` is the field of the list."""
    return {
        _token_field(f"{field}[{index}]"): params.oidc_token
        for index, params in enumerate(providers)
        if params.oidc_token is not None
    }


def _token_field(field: str) -> str:
    return f"{field}.oidcToken"


def new_oauth_providers(
    providers: Sequence[OauthProviderParamsV2],
    identities: Mapping[str, ProvenIdentity],
    new_id: Callable[[], str],
    now: Timestamp,
    field: str,
    *,
    claims_vouched: bool = False,
) -> list[OauthProvider]:
    """The records of the OAuth identities that one user gets by one request; `field` is the field of their list.

    An ID token stands for the identity that it proved (`identities`, by field). Bare claims need a proof too: a
    verified token of the same issuer and subject in the same list. With `claims_vouched` they need no proof: a user
    of the parent creates a sub-organization and is responsible for the identities of its users.

    Raises InvalidRequest if a provider has both or neither of token and claims, if a token was not verified, and
    if nothing proves the claims.
    """
    proven = [identities.get(_token_field(f"{field}[{index}]")) for index in range(len(providers))]
    subjects = {(one.iss, one.sub) for one in proven if one is not None}
    added = []
    for index, (params, of_token) in enumerate(zip(providers, proven, strict=True)):
        place = f"{field}[{index}]"
        if (params.oidc_token is None) == (params.oidc_claims is None):
            raise InvalidRequest(f"invalid request: field `{place}`: one of `oidcToken` and `oidcClaims` is needed")
        claims = params.oidc_claims or of_token
        if claims is None:
            raise InvalidRequest(
                f"invalid OIDC token: field `{_token_field(place)}`: it was not verified when it was submitted",
                machine_code="INVALID_OIDC_TOKEN",
            )
        if of_token is None and not claims_vouched and (claims.iss, claims.sub) not in subjects:
            raise InvalidRequest(
                f"invalid OIDC claims: field `{place}.oidcClaims`: nothing proves them; send an `oidcToken` of the "
                f"same issuer and subject beside them in `{field}`, or let a user of the parent organization name "
                "them when it creates the sub-organization",
                machine_code="INVALID_OIDC_TOKEN",
            )
        added.append(
            OauthProvider(
                provider_id=new_id(),
                provider_name=params.provider_name,
                issuer=claims.iss,
                audience=claims.aud,
                subject=claims.sub,
                created_at=now,
                updated_at=now,
            )
        )
    return added


def with_oauth_providers(
    held: Sequence[OauthProvider], added: Sequence[OauthProvider], limits: Limits
) -> tuple[OauthProvider, ...]:
    """A user's OAuth identities after the addition. Raises LimitReached."""
    if len(held) + len(added) > limits[OAUTH_PROVIDERS]:
        raise LimitReached(
            f"user has exceeded maximum oauth providers: {limits[OAUTH_PROVIDERS]} are allowed per user"
        )
    return (*held, *added)


def check_identities_free(organization: Organization, providers: Iterable[OauthProvider]) -> None:
    """Raise AlreadyExists if an (issuer, audience, subject) is attached in the organization already."""
    taken = {
        (held.issuer, held.audience, held.subject)
        for user in organization.users.values()
        for held in user.oauth_providers
    }
    for provider in providers:
        identity = (provider.issuer, provider.audience, provider.subject)
        if identity in taken:
            raise AlreadyExists(
                f"oauth provider already exists: issuer {provider.issuer!r}, audience {provider.audience!r}, "
                f"subject {provider.subject!r} is attached to a user of this organization",
                machine_code="OAUTH_PROVIDER_ALREADY_EXISTS",
            )
        taken.add(identity)


def user_with_identity(organization: Organization, identity: ProvenIdentity) -> tuple[User, OauthProvider] | None:
    """The user who has this OAuth identity, and its record: at most one user has it (`check_identities_free`)."""
    for user in organization.users.values():
        for held in user.oauth_providers:
            if (held.issuer, held.audience, held.subject) == (identity.iss, identity.aud, identity.sub):
                return user, held
    return None


def looked_up_public_key(text: str) -> str:
    """The public key that a caller sent, in the form of its record: lower-case hex without 0x."""
    return text.lower().removeprefix("0x")


def looked_up_credential_id(text: str) -> str:
    """The credential id that a caller sent, in the form of its record: base64url without padding.

    Written anew, since several texts decode to one id. A text that is not base64url is no credential's.
    """
    try:
        return encode_base64url(decode_base64url(text))
    except ValueError:
        return ""


def check_not_held_by_siblings(held: Container[str], values: Iterable[str]) -> None:
    """Raise InvalidRequest if one of these public keys and credential ids is in `held`: another sub-organization
    of the same parent has it.

    Two sub-organizations with one key make every look-up by that key ambiguous (`whoami`, log-in), so a user who
    registers a stranger's key could lock its owner out. A user of the parent may give one key to several
    sub-organizations by creating them with it; the users of a sub-organization may not.
    """
    for value in values:
        if value in held:
            raise InvalidRequest(
                f"credential {value} is held in another sub-organization of the same parent: only a user of the "
                "parent can give it to this one, in create_sub_organization",
                machine_code="CREDENTIAL_CONFLICT",
            )


def has_lasting_credential(user: User) -> bool:
    """Whether the user can authenticate at any later time: an expiring API key alone does not count."""
    return bool(
        user.authenticators or user.oauth_providers or any(key.expiration_seconds is None for key in user.api_keys)
    )
