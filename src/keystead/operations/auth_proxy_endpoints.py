"""What browsers ask an authentication proxy, and the submission that each request becomes.

Here: the endpoints: their requests, which logins the configuration allows, the parameters of the submissions, the
answers. Not here: HTTP and stamping (`server.auth_proxy`), the operations that carry the submissions out, the
configuration's record (`auth_proxies`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from keystead.api.decoding import Decoder, Label, decoder
from keystead.api.enums import AuthMethod
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.api.identifiers import Uuid
from keystead.api.parameters import (
    ApiKeyParamsV2,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    RequestStruct,
    ShortText,
    Token,
)
from keystead.api.records import AppProof, Wire
from keystead.operations.auth_proxy_accounts import (
    AccountLookup,
    GetAccountRequest,
    GetAccountResponse,
    check_audience,
)
from keystead.operations.sibling_credentials import held_by_suborganizations
from keystead.operations.verified_contacts import ClientSignature
from keystead.operations.wallets import CreateWalletIntent
from keystead.organizations.credentials import check_not_held_by_siblings
from keystead.organizations.kinds.auth_proxies import AuthProxySettings
from keystead.organizations.organization import Organization
from keystead.pipeline.ports import Identities
from keystead.pipeline.store import Store


class Submitted(msgspec.Struct, frozen=True):
    """What a completed submission gave: its result's members, its app proofs."""

    result: Mapping[str, Any]
    app_proofs: tuple[AppProof, ...]


class ProxyCall(Protocol):
    """One request to a proxy: its configuration, and what its endpoint may use."""

    @property
    def settings(self) -> AuthProxySettings: ...

    @property
    def organization(self) -> Organization: ...

    @property
    def store(self) -> Store: ...

    @property
    def identities(self) -> Identities: ...

    @property
    def now_ms(self) -> int: ...

    async def verification_public_key(self) -> bytes:
        """The SEC 1 point under which this server's verification tokens verify."""
        ...

    async def submit(
        self,
        activity_type: str,
        parameters: Mapping[str, Any],
        *,
        organization_id: str | None = None,
        app_proofs: bool = False,
    ) -> Submitted:
        """Submit as the proxy's user, in the parent organization unless another is named.

        Raises what refuses the submission; PermissionDenied where it would wait for others' approval.
        """
        ...


Answer = Callable[[ProxyCall, Any], Awaitable[Wire]]


class Endpoint(msgspec.Struct, frozen=True):
    """`is_empty_allowed`: published clients send this request without a body."""

    decoder: Decoder
    answer: Answer
    is_empty_allowed: bool = False


ENDPOINTS: dict[str, Endpoint] = {}
"""By name: POST {prefix}/v1/{name}."""


def _endpoint(
    name: str, request: type[RequestStruct], *, is_empty_allowed: bool = False
) -> Callable[[Answer], Answer]:
    def declare(answer: Answer) -> Answer:
        ENDPOINTS[name] = Endpoint(decoder(request), answer, is_empty_allowed)
        return answer

    return declare


class Nothing(RequestStruct, frozen=True):
    pass


class WalletKitConfigResponse(Wire, frozen=True):
    """`session_expiration_seconds`, `otp_length`: decimal text."""

    enabled_providers: tuple[str, ...]
    session_expiration_seconds: str
    organization_id: str
    oauth_client_ids: dict[str, str]
    otp_alphanumeric: bool
    otp_length: str
    oauth_redirect_url: str | None = None


@_endpoint("wallet_kit_config", Nothing, is_empty_allowed=True)
async def wallet_kit_config(call: ProxyCall, _: Nothing) -> WalletKitConfigResponse:
    settings = call.settings
    methods = [method for method in settings.allowed_auth_methods if method is not AuthMethod.OAUTH]
    has_oauth = AuthMethod.OAUTH in settings.allowed_auth_methods
    return WalletKitConfigResponse(
        enabled_providers=(*methods, *(settings.enabled_social_providers if has_oauth else ())),
        session_expiration_seconds=str(settings.session_expiration_seconds),
        organization_id=call.organization.id,
        oauth_client_ids=dict(settings.oauth_client_ids) if has_oauth else {},
        otp_alphanumeric=settings.otp_alphanumeric,
        otp_length=str(settings.otp_length),
        oauth_redirect_url=settings.oauth_redirect_url,
    )


class WalletKitClientParamsResponse(Wire, frozen=True):
    """Empty: a captcha is the only parameter that clients know, and there is none here."""


@_endpoint("wallet_kit_client_params", Nothing, is_empty_allowed=True)
async def wallet_kit_client_params(_: ProxyCall, __: Nothing) -> WalletKitClientParamsResponse:
    return WalletKitClientParamsResponse()


@_endpoint("account", GetAccountRequest)
async def account(call: ProxyCall, request: GetAccountRequest) -> GetAccountResponse:
    lookup = AccountLookup(
        organization=call.organization,
        settings=call.settings,
        store=call.store,
        identities=call.identities,
        verification_public_key=await call.verification_public_key(),
        now_ms=call.now_ms,
    )
    return GetAccountResponse(organization_id=await lookup.organization_of(request))


# One-time codes.

_METHOD_OF_OTP = {"OTP_TYPE_EMAIL": AuthMethod.EMAIL, "OTP_TYPE_SMS": AuthMethod.SMS}


class ProxyEmailCustomization(RequestStruct, frozen=True):
    template_id: ShortText | None = None


class InitOtpRequest(RequestStruct, frozen=True):
    otp_type: ShortText
    contact: ShortText
    email_customization: ProxyEmailCustomization | None = None


class InitOtpResponse(Wire, frozen=True):
    otp_id: str


class InitOtpV2Response(Wire, frozen=True):
    otp_id: str
    otp_encryption_target_bundle: str


@_endpoint("otp_init", InitOtpRequest)
async def otp_init(call: ProxyCall, request: InitOtpRequest) -> InitOtpResponse:
    made = await call.submit("ACTIVITY_TYPE_INIT_OTP_V2", _otp_parameters(call.settings, request))
    return InitOtpResponse(otp_id=made.result["otpId"])


@_endpoint("otp_init_v2", InitOtpRequest)
async def otp_init_v2(call: ProxyCall, request: InitOtpRequest) -> InitOtpV2Response:
    made = await call.submit("ACTIVITY_TYPE_INIT_OTP_V3", _otp_parameters(call.settings, request))
    return InitOtpV2Response(
        otp_id=made.result["otpId"], otp_encryption_target_bundle=made.result["otpEncryptionTargetBundle"]
    )


def _otp_parameters(settings: AuthProxySettings, request: InitOtpRequest) -> dict[str, Any]:
    method = _METHOD_OF_OTP.get(request.otp_type)
    if method is None:
        raise InvalidRequest(
            f"invalid request body: field `otpType`: {request.otp_type[:64]!r}: expected one of "
            f"{', '.join(_METHOD_OF_OTP)}"
        )
    _check_allowed(settings, method)
    custom = request.email_customization
    email = {
        "templateId": (custom.template_id if custom else None) or settings.template_id,
        "logoUrl": settings.logo_url,
        "magicLinkTemplate": settings.magic_link_template,
        "templateVariables": settings.template_variables,
    }
    return _given(
        otpType=request.otp_type,
        contact=request.contact,
        appName=settings.app_name,
        otpLength=settings.otp_length,
        alphanumeric=settings.otp_alphanumeric,
        expirationSeconds=str(settings.otp_expiration_seconds),
        emailCustomization=_given(**email) or None if method is AuthMethod.EMAIL else None,
        smsCustomization={"template": settings.sms_template}
        if method is AuthMethod.SMS and settings.sms_template
        else None,
        sendFromEmailAddress=settings.send_from_email_address,
        sendFromEmailSenderName=settings.send_from_email_sender_name,
        replyToEmailAddress=settings.reply_to_email_address,
    )


class VerifyOtpRequest(RequestStruct, frozen=True):
    otp_id: ShortText
    otp_code: ShortText
    public_key: ShortText | None = None


class VerifyOtpV2Request(RequestStruct, frozen=True):
    otp_id: ShortText
    encrypted_otp_bundle: Token


class VerifyOtpResponse(Wire, frozen=True):
    verification_token: str


@_endpoint("otp_verify", VerifyOtpRequest)
async def otp_verify(call: ProxyCall, request: VerifyOtpRequest) -> VerifyOtpResponse:
    parameters = _given(
        otpId=request.otp_id,
        otpCode=request.otp_code,
        publicKey=request.public_key,
        expirationSeconds=str(call.settings.verification_token_expiration_seconds),
    )
    made = await call.submit("ACTIVITY_TYPE_VERIFY_OTP", parameters)
    return VerifyOtpResponse(verification_token=made.result["verificationToken"])


@_endpoint("otp_verify_v2", VerifyOtpV2Request)
async def otp_verify_v2(call: ProxyCall, request: VerifyOtpV2Request) -> VerifyOtpResponse:
    parameters = {
        "otpId": request.otp_id,
        "encryptedOtpBundle": request.encrypted_otp_bundle,
        "expirationSeconds": str(call.settings.verification_token_expiration_seconds),
    }
    made = await call.submit("ACTIVITY_TYPE_VERIFY_OTP_V2", parameters)
    return VerifyOtpResponse(verification_token=made.result["verificationToken"])


# Logins.


class SessionResponse(Wire, frozen=True):
    session: str


class OtpLoginRequest(RequestStruct, frozen=True):
    """Without `organization_id`, the verified contact finds the sub-organization."""

    verification_token: Token
    public_key: ShortText
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None
    client_signature: ClientSignature | None = None


class OtpLoginV2Request(RequestStruct, frozen=True):
    verification_token: Token
    public_key: ShortText
    client_signature: ClientSignature
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None


@_endpoint("otp_login", OtpLoginRequest)
async def otp_login(call: ProxyCall, request: OtpLoginRequest) -> SessionResponse:
    return await _otp_login(call, "ACTIVITY_TYPE_OTP_LOGIN", request)


@_endpoint("otp_login_v2", OtpLoginV2Request)
async def otp_login_v2(call: ProxyCall, request: OtpLoginV2Request) -> SessionResponse:
    return await _otp_login(call, "ACTIVITY_TYPE_OTP_LOGIN_V2", request)


async def _otp_login(
    call: ProxyCall, activity_type: str, request: OtpLoginRequest | OtpLoginV2Request
) -> SessionResponse:
    parameters = _given(
        verificationToken=request.verification_token,
        publicKey=request.public_key,
        clientSignature=request.client_signature,
        invalidateExisting=request.invalidate_existing,
        expirationSeconds=str(call.settings.session_expiration_seconds),
    )
    made = await call.submit(activity_type, parameters, organization_id=request.organization_id)
    return SessionResponse(session=made.result["session"])


class OauthLoginRequest(RequestStruct, frozen=True):
    """Without `organization_id`, the identity in the token finds the sub-organization."""

    oidc_token: Token
    public_key: ShortText
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None


@_endpoint("oauth_login", OauthLoginRequest)
async def oauth_login(call: ProxyCall, request: OauthLoginRequest) -> SessionResponse:
    _check_oauth_allowed(call.settings)
    check_audience(await call.identities.proven(request.oidc_token, "oidcToken"), call.settings, "oidcToken")
    parameters = _given(
        oidcToken=request.oidc_token,
        publicKey=request.public_key,
        invalidateExisting=request.invalidate_existing,
        expirationSeconds=str(call.settings.session_expiration_seconds),
    )
    made = await call.submit("ACTIVITY_TYPE_OAUTH_LOGIN", parameters, organization_id=request.organization_id)
    return SessionResponse(session=made.result["session"])


# Sign-ups.

_Few = Meta(max_length=10)


class SignupRequest(RequestStruct, frozen=True):
    """`user_tag` is read and not kept: tags are of the organization that is made, which has none yet."""

    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], _Few]
    authenticators: Annotated[tuple[AuthenticatorParamsV2, ...], _Few]
    oauth_providers: Annotated[tuple[OauthProviderParams, ...], _Few]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None
    user_tag: ShortText | None = None
    user_name: Label | None = None
    organization_name: Label | None = None
    verification_token: Token | None = None
    wallet: CreateWalletIntent | None = None
    client_signature: ClientSignature | None = None


class SignupV2Request(RequestStruct, frozen=True):
    """As SignupRequest."""

    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], _Few]
    authenticators: Annotated[tuple[AuthenticatorParamsV2, ...], _Few]
    oauth_providers: Annotated[tuple[OauthProviderParamsV2, ...], _Few]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None
    user_tag: ShortText | None = None
    user_name: Label | None = None
    organization_name: Label | None = None
    verification_token: Token | None = None
    wallet: CreateWalletIntent | None = None
    client_signature: ClientSignature | None = None


class SignupWallet(Wire, frozen=True):
    wallet_id: str
    addresses: tuple[str, ...]


class SignupResponse(Wire, frozen=True):
    organization_id: str
    user_id: str
    app_proofs: tuple[AppProof, ...]
    wallet: SignupWallet | None = None


@_endpoint("signup", SignupRequest)
async def signup(call: ProxyCall, request: SignupRequest) -> SignupResponse:
    return await _signed_up(call, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7", request)


@_endpoint("signup_v2", SignupV2Request)
async def signup_v2(call: ProxyCall, request: SignupV2Request) -> SignupResponse:
    return await _signed_up(call, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", request)


async def _signed_up(
    call: ProxyCall, activity_type: str, request: SignupRequest | SignupV2Request
) -> SignupResponse:
    await _check_signup(call, request)
    name = request.user_name or request.user_email or request.user_phone_number or "User"
    user = _given(
        userName=name,
        userEmail=request.user_email,
        userPhoneNumber=request.user_phone_number,
        apiKeys=request.api_keys,
        authenticators=request.authenticators,
        oauthProviders=request.oauth_providers,
    )
    parameters = _given(
        subOrganizationName=request.organization_name or f"Sub-organization of {name}",
        rootUsers=[user],
        rootQuorumThreshold=1,
        wallet=request.wallet,
        verificationToken=request.verification_token,
        clientSignature=request.client_signature,
    )
    made = await call.submit(activity_type, parameters, app_proofs=True)
    wallet = made.result.get("wallet")
    return SignupResponse(
        organization_id=made.result["subOrganizationId"],
        user_id=made.result["rootUserIds"][0],
        app_proofs=made.app_proofs,
        wallet=SignupWallet(wallet_id=wallet["walletId"], addresses=tuple(wallet["addresses"])) if wallet else None,
    )


async def _check_signup(call: ProxyCall, request: SignupRequest | SignupV2Request) -> None:
    """Each way to log in later is one that the configuration allows, ID tokens are for its clients, and no other
    sub-organization has one of the credentials: anybody may sign up, with anybody's public key."""
    held = await held_by_suborganizations(
        call.store, call.organization.id, request.api_keys, request.authenticators
    )
    check_not_held_by_siblings(held, sorted(held))
    for given, method in (
        (request.authenticators, AuthMethod.PASSKEY),
        (request.user_email and request.verification_token, AuthMethod.EMAIL),
        (request.user_phone_number and request.verification_token, AuthMethod.SMS),
    ):
        if given:
            _check_allowed(call.settings, method)
    tokens = [provider.oidc_token for provider in request.oauth_providers]
    for index, token in enumerate(tokens):
        _check_oauth_allowed(call.settings)
        if token is not None:
            field = f"oauthProviders[{index}].oidcToken"
            check_audience(await call.identities.proven(token, field), call.settings, field)


def _check_allowed(settings: AuthProxySettings, method: AuthMethod) -> None:
    if method not in settings.allowed_auth_methods:
        allowed = ", ".join(settings.allowed_auth_methods) or "none"
        raise PermissionDenied(f"{method.upper()} disallowed: this application's logins are: {allowed}")


def _check_oauth_allowed(settings: AuthProxySettings) -> None:
    """Published clients match the first two words."""
    _check_allowed(settings, AuthMethod.OAUTH)


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
