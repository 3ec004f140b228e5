"""Parts of requests that several operations share: credentials to add, accounts to derive, pages.

Every struct refuses unknown members and accepts `null` for an optional one, since clients send it.
Not here: the intents, which are declared with their operations.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api import enums
from keystead.api.decoding import BASE64URL, NO_CONTROLS, NOTHING, PUBLIC_KEY_CREDENTIAL, Label
from keystead.api.identifiers import Uuid
from keystead.api.records import Wire


class RequestStruct(Wire, frozen=True, forbid_unknown_fields=True):
    """Base of every struct that a caller sends."""


class OneOf(RequestStruct, frozen=True):
    """Base of a struct of which exactly one field is given. Every field has the default None."""

    def __post_init__(self) -> None:
        """Raises ValueError, which the decoder turns into InvalidRequest."""
        fields = msgspec.structs.fields(type(self))
        if sum(getattr(self, field.name) is not None for field in fields) != 1:
            raise ValueError(f"expected exactly one of {', '.join(f'`{field.encode_name}`' for field in fields)}")


class QueryRequest(RequestStruct, frozen=True):
    organization_id: Uuid


ShortText = Annotated[str, Meta(max_length=255, pattern=NO_CONTROLS)]
TokenText = Annotated[str, Meta(max_length=16_384)]
"""A JWT or other opaque text."""

Base64Url = Annotated[str, Meta(max_length=65_536, pattern=BASE64URL)]


NotSupported = Annotated[str, Meta(pattern=NOTHING)]
"""A field that published clients know and this server does not support: any text but "" is refused."""


class Pagination(RequestStruct, frozen=True):
    """`limit`: decimal text, 1 to 100; 10 if it is absent. `before` and `after`: ids of items of the same list."""

    limit: Annotated[str, Meta(max_length=10)] | None = None
    before: ShortText | None = None
    after: ShortText | None = None


class ApiKeyParamsV2(RequestStruct, frozen=True):
    """`public_key`: compressed SEC 1 in hex (66 digits), or for ed25519 the 32 bytes in hex (64 digits).

    `curve_type`: P-256 if it is absent. `expiration_seconds`: decimal text; the key never expires if it is absent.
    """

    api_key_name: Label
    public_key: Annotated[str, Meta(max_length=200)]
    curve_type: enums.ApiKeyCurve | None = None
    expiration_seconds: Annotated[str, Meta(max_length=20)] | None = None


class ApiKeyParams(RequestStruct, frozen=True):
    """The older form, without a curve: P-256."""

    api_key_name: Label
    public_key: Annotated[str, Meta(max_length=200)]
    expiration_seconds: Annotated[str, Meta(max_length=20)] | None = None


Transports = Annotated[tuple[enums.AuthenticatorTransport, ...], Meta(max_length=16)]
"""How a browser reaches the authenticator. There are fewer than 16 kinds, but browsers may name one twice."""


class Attestation(RequestStruct, frozen=True):
    credential_id: Base64Url
    client_data_json: Base64Url
    attestation_object: Base64Url
    transports: Transports


class AuthenticatorParamsV2(RequestStruct, frozen=True):
    authenticator_name: Label
    challenge: Annotated[str, Meta(min_length=1, max_length=256)]
    attestation: Attestation


class CredProps(RequestStruct, frozen=True):
    rk: bool | None = None


class SimpleClientExtensionResults(RequestStruct, frozen=True):
    appid: bool | None = None
    appid_exclude: bool | None = None
    cred_props: CredProps | None = None


class AuthenticatorAttestationResponse(RequestStruct, frozen=True):
    client_data_json: Base64Url
    attestation_object: Base64Url
    transports: Transports | None = None
    authenticator_attachment: ShortText | None = None


class PublicKeyCredentialWithAttestation(RequestStruct, frozen=True):
    id: Base64Url
    type: Annotated[str, Meta(pattern=PUBLIC_KEY_CREDENTIAL)]
    raw_id: Base64Url
    response: AuthenticatorAttestationResponse
    client_extension_results: SimpleClientExtensionResults
    authenticator_attachment: ShortText | None = None


class AuthenticatorParams(RequestStruct, frozen=True):
    """The older form, a browser's PublicKeyCredential."""

    authenticator_name: Label
    user_id: ShortText
    attestation: PublicKeyCredentialWithAttestation
    challenge: Annotated[str, Meta(min_length=1, max_length=256)]


class OidcClaims(RequestStruct, frozen=True):
    iss: Annotated[str, Meta(min_length=1, max_length=1024, pattern=NO_CONTROLS)]
    sub: Annotated[str, Meta(min_length=1, max_length=1024, pattern=NO_CONTROLS)]
    aud: Annotated[str, Meta(min_length=1, max_length=1024, pattern=NO_CONTROLS)]


class WalletAuthenticatorParams(RequestStruct, frozen=True):
    """`address`: 0x and hex in any letter case, or base 58. `domain`: a host, without scheme and path.

    `verification_token`: of verify_wallet_authenticator, for this address and domain.
    """

    type: enums.WalletAuthenticatorType
    address: ShortText
    domain: ShortText
    verification_token: TokenText | None = None


class OauthProviderParamsV2(RequestStruct, frozen=True):
    provider_name: Label
    oidc_token: TokenText | None = None
    oidc_claims: OidcClaims | None = None


class OauthProviderParams(RequestStruct, frozen=True):
    """The older form: a token only."""

    provider_name: Label
    oidc_token: TokenText


class AuthenticationMethodParams(RequestStruct, frozen=True):
    type: enums.AuthenticationType
    id: Uuid | None = None


class RequiredAuthenticationMethodParams(RequestStruct, frozen=True):
    any: Annotated[tuple[AuthenticationMethodParams, ...], Meta(min_length=1, max_length=20)]


class WalletAccountParams(RequestStruct, frozen=True):
    curve: enums.Curve
    path_format: enums.PathFormat
    path: Annotated[str, Meta(max_length=2048)]
    address_format: enums.AddressFormat
    name: Label | None = None


def upgraded_api_key(older: ApiKeyParams) -> ApiKeyParamsV2:
    return ApiKeyParamsV2(
        api_key_name=older.api_key_name,
        public_key=older.public_key,
        curve_type=enums.ApiKeyCurve.P256,
        expiration_seconds=older.expiration_seconds,
    )


def upgraded_authenticator(older: AuthenticatorParams) -> AuthenticatorParamsV2:
    return AuthenticatorParamsV2(
        authenticator_name=older.authenticator_name,
        challenge=older.challenge,
        attestation=Attestation(
            credential_id=older.attestation.raw_id,
            client_data_json=older.attestation.response.client_data_json,
            attestation_object=older.attestation.response.attestation_object,
            transports=older.attestation.response.transports or (),
        ),
    )


def upgraded_oauth_provider(older: OauthProviderParams) -> OauthProviderParamsV2:
    return OauthProviderParamsV2(provider_name=older.provider_name, oidc_token=older.oidc_token)
