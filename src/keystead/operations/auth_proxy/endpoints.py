"""The table of the endpoints of an authentication proxy, with the endpoints for its configuration and accounts.

Not here: HTTP and stamping (`server.auth_proxy`), codes, logins and sign-ups (`logins`,
`signups`), the record of the configuration (`auth_proxies`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from keystead.api.decoding import Decoder, decoder
from keystead.api.enums import AuthMethod
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.operations.auth_proxy import logins, signups
from keystead.operations.auth_proxy.accounts import AccountLookup, GetAccountRequest, GetAccountResponse
from keystead.operations.auth_proxy.calls import ProxyCall

AnswerProxyCall = Callable[[ProxyCall, Any], Awaitable[Wire]]


class Endpoint(msgspec.Struct, frozen=True):
    """`is_empty_allowed`: the body may be empty, because published clients send this request without a body."""

    decoder: Decoder
    answer: AnswerProxyCall
    is_empty_allowed: bool = False


class EmptyRequest(RequestStruct, frozen=True):
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


async def wallet_kit_config(call: ProxyCall, _: EmptyRequest) -> WalletKitConfigResponse:
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
    """Empty, because the only parameter that clients know is for a captcha, which this server does not have."""


async def wallet_kit_client_params(_: ProxyCall, __: EmptyRequest) -> WalletKitClientParamsResponse:
    return WalletKitClientParamsResponse()


async def account(call: ProxyCall, request: GetAccountRequest) -> GetAccountResponse:
    lookup = AccountLookup(
        organization=call.organization,
        settings=call.settings,
        store=call.store,
        identities=call.identities,
        verification_public_key=await call.verification_public_key(),
        now_ms=call.now_ms,
    )
    return await lookup.answer(request)


ENDPOINTS: Mapping[str, Endpoint] = {
    "wallet_kit_config": Endpoint(decoder(EmptyRequest), wallet_kit_config, is_empty_allowed=True),
    "wallet_kit_client_params": Endpoint(decoder(EmptyRequest), wallet_kit_client_params, is_empty_allowed=True),
    "account": Endpoint(decoder(GetAccountRequest), account),
    "otp_init": Endpoint(decoder(logins.InitOtpRequest), logins.otp_init),
    "otp_init_v2": Endpoint(decoder(logins.InitOtpRequest), logins.otp_init_v2),
    "otp_verify": Endpoint(decoder(logins.VerifyOtpRequest), logins.otp_verify),
    "otp_verify_v2": Endpoint(decoder(logins.VerifyOtpV2Request), logins.otp_verify_v2),
    "otp_login": Endpoint(decoder(logins.OtpLoginRequest), logins.otp_login),
    "otp_login_v2": Endpoint(decoder(logins.OtpLoginV2Request), logins.otp_login_v2),
    "oauth_login": Endpoint(decoder(logins.OauthLoginRequest), logins.oauth_login),
    "verify_wallet_authenticator": Endpoint(
        decoder(logins.VerifyWalletRequest), logins.verify_wallet_authenticator
    ),
    "oauth2_authenticate": Endpoint(decoder(logins.Oauth2AuthenticateRequest), logins.oauth2_authenticate),
    "signup": Endpoint(decoder(signups.SignupRequest), signups.signup),
    "signup_v2": Endpoint(decoder(signups.SignupV2Request), signups.signup_v2),
    "signup_v3": Endpoint(decoder(signups.SignupV3Request), signups.signup_v3),
}
"""By name: POST {prefix}/v1/{name}."""
