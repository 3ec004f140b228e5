"""The settings for logins to the console by one-time code or at an OpenID Connect issuer.

Not here: the logins themselves. The authentication proxy (`auth_proxy`) carries them out.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

from keystead.api.identifiers import UUID_PATTERN
from keystead.console import ConsoleLogins, OidcLogin
from keystead.server.settings.settings import Settings, SettingsError

_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_EXPECTED: Final = "expected NAME=AUTHORIZATION-ENDPOINT?client_id=ID, such as " + (
    "Google=https://accounts.google.com/o/oauth2/v2/auth?client_id=123.apps.googleusercontent.com"
)


def console_logins(settings: Settings, auth_proxy_id: str = "") -> ConsoleLogins:
    """The logins of these settings. `auth_proxy_id`: the proxy to use if the settings name none. Raises
    SettingsError."""
    proxy_id = settings.console_auth_proxy or auth_proxy_id
    if proxy_id and not re.match(UUID_PATTERN, proxy_id):
        raise SettingsError(
            "setting KEYSTEAD_CONSOLE_AUTH_PROXY: expected the id of an authentication proxy, as keystead "
            "auth-proxy list prints it"
        )
    issuers = tuple(_issuer(text.strip()) for text in settings.console_oidc.split(",") if text.strip())
    if issuers and not proxy_id:
        raise SettingsError(
            "setting KEYSTEAD_CONSOLE_OIDC: it needs an authentication proxy: set KEYSTEAD_CONSOLE_AUTH_PROXY too"
        )
    sends_email = settings.mode == "dev" or bool(settings.smtp_host or settings.message_hook_url)
    invites_by_email = sends_email and bool(settings.console_url)
    return ConsoleLogins(auth_proxy_id=proxy_id, oidc=issuers, invites_by_email=invites_by_email)


def _issuer(text: str) -> OidcLogin:
    name, _, url = text.partition("=")
    try:
        parts = urlsplit(url.strip())
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS)
        has_client = bool(parse_qs(parts.query).get("client_id"))
    except ValueError:
        is_safe = has_client = False
    if not (name.strip() and is_safe and has_client):
        raise SettingsError(f"setting KEYSTEAD_CONSOLE_OIDC: {text[:200]!r}: {_EXPECTED}")
    return OidcLogin(name=name.strip(), url=url.strip())
