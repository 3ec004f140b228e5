"""Codes, wallets' messages and logins through an authentication proxy. Each request becomes a submission.

Not here: the operations of these submissions, the table of endpoints (`endpoints`).
"""

from __future__ import annotations

from typing import Any

from keystead.api.enums import AuthMethod, Oauth2Provider
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import Wire
from keystead.operations.auth_proxy.accounts import check_audience
from keystead.operations.auth_proxy.calls import ProxyCall, check_allowed, check_oauth_allowed, without_absent
from keystead.operations.logins.google_linking import link_google
from keystead.operations.logins.verification_tokens import ClientSignature
from keystead.operations.logins.wallet_logins import LoginMessage, LoginSignature
from keystead.organizations.kinds.auth_proxies import AuthProxySettings

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


async def otp_init(call: ProxyCall, request: InitOtpRequest) -> InitOtpResponse:
    completed = await call.submit("ACTIVITY_TYPE_INIT_OTP_V2", _otp_parameters(call.settings, request))
    return InitOtpResponse(otp_id=completed.result["otpId"])


async def otp_init_v2(call: ProxyCall, request: InitOtpRequest) -> InitOtpV2Response:
    completed = await call.submit("ACTIVITY_TYPE_INIT_OTP_V3", _otp_parameters(call.settings, request))
    return InitOtpV2Response(
        otp_id=completed.result["otpId"], otp_encryption_target_bundle=completed.result["otpEncryptionTargetBundle"]
    )


def _otp_parameters(settings: AuthProxySettings, request: InitOtpRequest) -> dict[str, Any]:
    method = _METHOD_OF_OTP.get(request.otp_type)
    if method is None:
        raise InvalidRequest(
            f"invalid request body: field `otpType`: {request.otp_type[:64]!r}: expected one of "
            f"{', '.join(_METHOD_OF_OTP)}"
        )
    check_allowed(settings, method)
    custom = request.email_customization
    email = {
        "templateId": (custom.template_id if custom else None) or settings.template_id,
        "logoUrl": settings.logo_url,
        "magicLinkTemplate": settings.magic_link_template,
        "templateVariables": settings.template_variables,
    }
    return without_absent(
        otpType=request.otp_type,
        contact=request.contact,
        appName=settings.app_name,
        otpLength=settings.otp_length,
        alphanumeric=settings.otp_alphanumeric,
        expirationSeconds=str(settings.otp_expiration_seconds),
        emailCustomization=without_absent(**email) or None if method is AuthMethod.EMAIL else None,
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
    encrypted_otp_bundle: TokenText


class VerifyOtpResponse(Wire, frozen=True):
    verification_token: str


async def otp_verify(call: ProxyCall, request: VerifyOtpRequest) -> VerifyOtpResponse:
    parameters = without_absent(
        otpId=request.otp_id,
        otpCode=request.otp_code,
        publicKey=request.public_key,
        expirationSeconds=str(call.settings.verification_token_expiration_seconds),
    )
    completed = await call.submit("ACTIVITY_TYPE_VERIFY_OTP", parameters)
    return VerifyOtpResponse(verification_token=completed.result["verificationToken"])


async def otp_verify_v2(call: ProxyCall, request: VerifyOtpV2Request) -> VerifyOtpResponse:
    parameters = {
        "otpId": request.otp_id,
        "encryptedOtpBundle": request.encrypted_otp_bundle,
        "expirationSeconds": str(call.settings.verification_token_expiration_seconds),
    }
    completed = await call.submit("ACTIVITY_TYPE_VERIFY_OTP_V2", parameters)
    return VerifyOtpResponse(verification_token=completed.result["verificationToken"])


class VerifyWalletRequest(RequestStruct, frozen=True):
    """`message` and `signature` as in verify_wallet_authenticator of the API."""

    message: LoginMessage
    signature: LoginSignature


class VerifyWalletResponse(Wire, frozen=True):
    verification_token: str


async def verify_wallet_authenticator(call: ProxyCall, request: VerifyWalletRequest) -> VerifyWalletResponse:
    check_allowed(call.settings, AuthMethod.WALLET)
    parameters = {
        "message": request.message,
        "signature": request.signature,
        "expirationSeconds": str(call.settings.verification_token_expiration_seconds),
    }
    completed = await call.submit("ACTIVITY_TYPE_VERIFY_WALLET_AUTHENTICATOR", parameters)
    return VerifyWalletResponse(verification_token=completed.result["verificationToken"])


class SessionResponse(Wire, frozen=True):
    session: str


class OtpLoginRequest(RequestStruct, frozen=True):
    """Without `organization_id`, the verified contact finds the sub-organization."""

    verification_token: TokenText
    public_key: ShortText
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None
    client_signature: ClientSignature | None = None


class OtpLoginV2Request(RequestStruct, frozen=True):
    verification_token: TokenText
    public_key: ShortText
    client_signature: ClientSignature
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None


async def otp_login(call: ProxyCall, request: OtpLoginRequest) -> SessionResponse:
    return await _otp_login(call, "ACTIVITY_TYPE_OTP_LOGIN", request)


async def otp_login_v2(call: ProxyCall, request: OtpLoginV2Request) -> SessionResponse:
    return await _otp_login(call, "ACTIVITY_TYPE_OTP_LOGIN_V2", request)


async def _otp_login(
    call: ProxyCall, activity_type: str, request: OtpLoginRequest | OtpLoginV2Request
) -> SessionResponse:
    parameters = without_absent(
        verificationToken=request.verification_token,
        publicKey=request.public_key,
        clientSignature=request.client_signature,
        invalidateExisting=request.invalidate_existing,
        expirationSeconds=str(call.settings.session_expiration_seconds),
    )
    completed = await call.submit(activity_type, parameters, organization_id=request.organization_id)
    return SessionResponse(session=completed.result["session"])


class OauthLoginRequest(RequestStruct, frozen=True):
    """Without `organization_id`, the identity in the token finds the sub-organization."""

    oidc_token: TokenText
    public_key: ShortText
    invalidate_existing: bool | None = None
    organization_id: Uuid | None = None


async def oauth_login(call: ProxyCall, request: OauthLoginRequest) -> SessionResponse:
    check_oauth_allowed(call.settings)
    proven = await call.identities.verify_token(request.oidc_token, "oidcToken")
    check_audience(proven, call.settings, "oidcToken")
    await link_google(call, proven, request.oidc_token, request.public_key)
    parameters = without_absent(
        oidcToken=request.oidc_token,
        publicKey=request.public_key,
        invalidateExisting=request.invalidate_existing,
        expirationSeconds=str(call.settings.session_expiration_seconds),
    )
    completed = await call.submit("ACTIVITY_TYPE_OAUTH_LOGIN", parameters, organization_id=request.organization_id)
    return SessionResponse(session=completed.result["session"])


class Oauth2AuthenticateRequest(RequestStruct, frozen=True):
    provider: Oauth2Provider
    auth_code: ShortText
    redirect_uri: ShortText
    code_verifier: ShortText
    nonce: ShortText
    client_id: ShortText


class Oauth2AuthenticateResponse(Wire, frozen=True):
    oidc_token: str


async def oauth2_authenticate(call: ProxyCall, request: Oauth2AuthenticateRequest) -> Oauth2AuthenticateResponse:
    check_oauth_allowed(call.settings)
    credential = next(
        (
            held
            for held in call.organization.oauth2_credentials.in_order()
            if (held.provider, held.client_id) == (request.provider, request.client_id)
        ),
        None,
    )
    if credential is None:
        raise NotFound(
            f"field `clientId`: the organization has no OAuth 2.0 credential of {request.provider} with this "
            "client id"
        )
    parameters = {
        "oauth2CredentialId": credential.oauth2_credential_id,
        "authCode": request.auth_code,
        "redirectUri": request.redirect_uri,
        "codeVerifier": request.code_verifier,
        "nonce": request.nonce,
    }
    completed = await call.submit("ACTIVITY_TYPE_OAUTH2_AUTHENTICATE", parameters)
    return Oauth2AuthenticateResponse(oidc_token=completed.result["oidcToken"])
