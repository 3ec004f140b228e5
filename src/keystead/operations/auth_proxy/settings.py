"""The parameters of update_auth_proxy_config, and the settings that they lead to.

Not here: the operation (`auth_proxies`), what the settings are (`organizations.kinds.auth_proxies`).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import NO_CONTROLS, NO_CONTROLS_BUT_LINES, Label
from keystead.api.enums import AuthMethod
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText
from keystead.organizations.contacts.contacts import check_email
from keystead.organizations.kinds.auth_proxies import ANY_ORIGIN, AuthProxySettings
from keystead.sessions.bounds import CODE_LENGTH_MAX, CODE_LENGTH_MIN, CODE_LIFE_MAX_S

SettingUrl = Annotated[str, Meta(max_length=2048, pattern=NO_CONTROLS)]
LongText = Annotated[str, Meta(max_length=10_000, pattern=NO_CONTROLS_BUT_LINES)]


class EmailCustomization(RequestStruct, frozen=True):
    app_name: Label | None = None
    logo_url: SettingUrl | None = None
    magic_link_template: SettingUrl | None = None
    template_variables: LongText | None = None
    template_id: ShortText | None = None


class SmsCustomization(RequestStruct, frozen=True):
    template: Annotated[str, Meta(max_length=1000, pattern=NO_CONTROLS_BUT_LINES)] | None = None


ShortTexts = Annotated[tuple[ShortText, ...], Meta(max_length=50)]


class WalletKitSettings(RequestStruct, frozen=True):
    """`enabled_social_providers`: such as google, apple, facebook, x, discord."""

    enabled_social_providers: ShortTexts | None = None
    oauth_client_ids: Annotated[dict[Label, ShortText], Meta(max_length=50)] | None = None
    oauth_redirect_url: SettingUrl | None = None


class UpdateAuthProxyConfigIntent(RequestStruct, frozen=True):
    """Absent fields do not change; an empty text removes a text. Times are in seconds.

    `config_id` is needed if the organization has several proxies.
    """

    config_id: Uuid | None = None
    allowed_origins: Annotated[tuple[SettingUrl, ...], Meta(max_length=100)] | None = None
    allowed_auth_methods: Annotated[tuple[AuthMethod, ...], Meta(max_length=20)] | None = None
    send_from_email_address: ShortText | None = None
    send_from_email_sender_name: ShortText | None = None
    reply_to_email_address: ShortText | None = None
    email_auth_template_id: ShortText | None = None
    otp_template_id: ShortText | None = None
    email_customization_params: EmailCustomization | None = None
    sms_customization_params: SmsCustomization | None = None
    wallet_kit_settings: WalletKitSettings | None = None
    otp_expiration_seconds: Annotated[int, Meta(ge=1, le=CODE_LIFE_MAX_S)] | None = None
    verification_token_expiration_seconds: Annotated[int, Meta(ge=1, le=86_400)] | None = None
    session_expiration_seconds: Annotated[int, Meta(ge=1, le=30 * 86_400)] | None = None
    otp_alphanumeric: bool | None = None
    otp_length: Annotated[int, Meta(ge=CODE_LENGTH_MIN, le=CODE_LENGTH_MAX)] | None = None
    verification_token_required_for_get_account_pii: bool | None = None
    social_linking_client_ids: ShortTexts | None = None
    captcha_enabled: bool | None = None


def changed_settings(settings: AuthProxySettings, intent: UpdateAuthProxyConfigIntent) -> AuthProxySettings:
    """The settings after the request. Raises InvalidRequest, naming the field."""
    if intent.captcha_enabled:
        raise InvalidRequest(
            "invalid request body: field `parameters.captchaEnabled`: this server checks no captchas; "
            "leave the field out, and check captchas in a reverse proxy before this server"
        )
    if intent.email_auth_template_id:
        raise InvalidRequest(
            "invalid request body: field `parameters.emailAuthTemplateId`: a proxy sends no messages of "
            "email_auth; use `otpTemplateId`"
        )
    for index, origin in enumerate(intent.allowed_origins or ()):
        _check_origin(origin, f"parameters.allowedOrigins[{index}]")
    email = intent.email_customization_params or EmailCustomization()
    kit = intent.wallet_kit_settings or WalletKitSettings()
    given = {
        "allowed_origins": intent.allowed_origins,
        "allowed_auth_methods": intent.allowed_auth_methods,
        "app_name": email.app_name,
        "logo_url": email.logo_url,
        "magic_link_template": email.magic_link_template,
        "template_variables": email.template_variables,
        "template_id": intent.otp_template_id if intent.otp_template_id is not None else email.template_id,
        "sms_template": intent.sms_customization_params.template if intent.sms_customization_params else None,
        "send_from_email_address": _checked_address(intent.send_from_email_address, "sendFromEmailAddress"),
        "send_from_email_sender_name": intent.send_from_email_sender_name,
        "reply_to_email_address": _checked_address(intent.reply_to_email_address, "replyToEmailAddress"),
        "otp_expiration_seconds": intent.otp_expiration_seconds,
        "verification_token_expiration_seconds": intent.verification_token_expiration_seconds,
        "session_expiration_seconds": intent.session_expiration_seconds,
        "otp_alphanumeric": intent.otp_alphanumeric,
        "otp_length": intent.otp_length,
        "verification_token_required_for_get_account_pii": intent.verification_token_required_for_get_account_pii,
        "social_linking_client_ids": intent.social_linking_client_ids,
        "enabled_social_providers": kit.enabled_social_providers,
        "oauth_client_ids": kit.oauth_client_ids,
        "oauth_redirect_url": kit.oauth_redirect_url,
    }
    changed = {name: value if value != "" else None for name, value in given.items() if value is not None}
    return replace(settings, **changed)


def _check_origin(origin: str, field: str) -> None:
    scheme, separator, host = origin.partition("://")
    is_origin = scheme in ("http", "https") and separator and host and not set("/?#@ ") & set(host)
    if origin != ANY_ORIGIN and not is_origin:
        raise InvalidRequest(
            f"invalid request body: field `{field}`: {origin[:100]!r}: expected an origin such as "
            f"https://app.example, or {ANY_ORIGIN} for any"
        )


def _checked_address(address: str | None, field: str) -> str | None:
    return check_email(address, f"parameters.{field}") if address else address
