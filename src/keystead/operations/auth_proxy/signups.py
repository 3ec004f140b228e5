"""Sign-ups through an authentication proxy: each becomes the creation of a sub-organization.

Not here: creating one (`organizations.sub_organizations`), the table of endpoints (`endpoints`).
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AuthMethod
from keystead.api.parameters import (
    ApiKeyParamsV2,
    AuthenticatorParamsV2,
    OauthProviderParams,
    OauthProviderParamsV2,
    RequestStruct,
    ShortText,
    TokenText,
    WalletAuthenticatorParams,
)
from keystead.api.records import AppProof, Wire
from keystead.operations.auth_proxy.accounts import check_audience
from keystead.operations.auth_proxy.calls import ProxyCall, check_allowed, check_oauth_allowed, without_absent
from keystead.operations.logins.verification_tokens import ClientSignature
from keystead.operations.wallets.wallets import CreateWalletIntent

_AtMostTen = Meta(max_length=10)


class SignupRequest(RequestStruct, frozen=True):
    """`user_tag` is ignored: the new organization has no tags yet."""

    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], _AtMostTen]
    authenticators: Annotated[tuple[AuthenticatorParamsV2, ...], _AtMostTen]
    oauth_providers: Annotated[tuple[OauthProviderParams, ...], _AtMostTen]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None
    user_tag: ShortText | None = None
    user_name: Label | None = None
    organization_name: Label | None = None
    verification_token: TokenText | None = None
    wallet: CreateWalletIntent | None = None
    client_signature: ClientSignature | None = None


class SignupV2Request(RequestStruct, frozen=True):
    """See SignupRequest. OAuth providers have the form of version 2."""

    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], _AtMostTen]
    authenticators: Annotated[tuple[AuthenticatorParamsV2, ...], _AtMostTen]
    oauth_providers: Annotated[tuple[OauthProviderParamsV2, ...], _AtMostTen]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None
    user_tag: ShortText | None = None
    user_name: Label | None = None
    organization_name: Label | None = None
    verification_token: TokenText | None = None
    wallet: CreateWalletIntent | None = None
    client_signature: ClientSignature | None = None


class SignupV3Request(RequestStruct, frozen=True):
    """See SignupRequest. Each wallet authenticator needs a verification token."""

    api_keys: Annotated[tuple[ApiKeyParamsV2, ...], _AtMostTen]
    authenticators: Annotated[tuple[AuthenticatorParamsV2, ...], _AtMostTen]
    oauth_providers: Annotated[tuple[OauthProviderParamsV2, ...], _AtMostTen]
    user_email: ShortText | None = None
    user_phone_number: ShortText | None = None
    user_tag: ShortText | None = None
    user_name: Label | None = None
    organization_name: Label | None = None
    verification_token: TokenText | None = None
    wallet: CreateWalletIntent | None = None
    client_signature: ClientSignature | None = None
    wallet_authenticators: Annotated[tuple[WalletAuthenticatorParams, ...], _AtMostTen] = ()


AnySignup = SignupRequest | SignupV2Request | SignupV3Request


class SignupWallet(Wire, frozen=True):
    wallet_id: str
    addresses: tuple[str, ...]


class SignupResponse(Wire, frozen=True):
    organization_id: str
    user_id: str
    app_proofs: tuple[AppProof, ...]
    wallet: SignupWallet | None = None


async def signup(call: ProxyCall, request: SignupRequest) -> SignupResponse:
    return await _sign_up(call, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7", request)


async def signup_v2(call: ProxyCall, request: SignupV2Request) -> SignupResponse:
    return await _sign_up(call, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", request)


async def signup_v3(call: ProxyCall, request: SignupV3Request) -> SignupResponse:
    return await _sign_up(
        call,
        "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V9",
        request,
        walletAuthenticators=request.wallet_authenticators,
    )


async def _sign_up(call: ProxyCall, activity_type: str, request: AnySignup, **credentials: Any) -> SignupResponse:
    """Create the sub-organization. `credentials`: members of the root user that only newer versions have."""
    await _check_signup(call, request)
    name = request.user_name or request.user_email or request.user_phone_number or "User"
    user = without_absent(
        userName=name,
        userEmail=request.user_email,
        userPhoneNumber=request.user_phone_number,
        apiKeys=request.api_keys,
        authenticators=request.authenticators,
        oauthProviders=request.oauth_providers,
        **credentials,
    )
    parameters = without_absent(
        subOrganizationName=request.organization_name or f"Sub-organization of {name}",
        rootUsers=[user],
        rootQuorumThreshold=1,
        wallet=request.wallet,
        verificationToken=request.verification_token,
        clientSignature=request.client_signature,
    )
    completed = await call.submit(activity_type, parameters, app_proofs=True)
    wallet = completed.result.get("wallet")
    return SignupResponse(
        organization_id=completed.result["subOrganizationId"],
        user_id=completed.result["rootUserIds"][0],
        app_proofs=completed.app_proofs,
        wallet=SignupWallet(wallet_id=wallet["walletId"], addresses=tuple(wallet["addresses"])) if wallet else None,
    )


async def _check_signup(call: ProxyCall, request: AnySignup) -> None:
    """Raise PermissionDenied for a credential of a method that the configuration does not allow, InvalidRequest for
    an ID token of another application."""
    for credential, method in (
        (request.authenticators, AuthMethod.PASSKEY),
        (isinstance(request, SignupV3Request) and request.wallet_authenticators, AuthMethod.WALLET),
        (request.user_email and request.verification_token, AuthMethod.EMAIL),
        (request.user_phone_number and request.verification_token, AuthMethod.SMS),
    ):
        if credential:
            check_allowed(call.settings, method)
    tokens = [provider.oidc_token for provider in request.oauth_providers]
    for index, token in enumerate(tokens):
        check_oauth_allowed(call.settings)
        if token is not None:
            field = f"oauthProviders[{index}].oidcToken"
            check_audience(await call.identities.verify_token(token, field), call.settings, field)
