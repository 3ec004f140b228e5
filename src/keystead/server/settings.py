"""What an operator can set: each setting once, as an environment variable KEYSTEAD_… with its default.

Command-line flags set the same variables. Not here: the limits of organizations' defaults (`organizations.limits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

PREFIX = "KEYSTEAD_"

CLIENT_VARIABLES = frozenset(
    f"{PREFIX}{name}"
    for name in ("BASE_URL", "ORGANIZATION_ID", "API_PUBLIC_KEY", "API_PRIVATE_KEY", "CREDENTIALS", "USER_ID")
)
"""Variables of the same prefix that the client and the commands read, not the server."""


class SettingsError(Exception):
    """A setting that is unknown, missing or malformed; its message is one line for the operator."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Times end in their unit; sizes are bytes. `mode` keeps development data and production data apart."""

    database_url: str
    mode: Literal["dev", "serve"] = "serve"
    master_key_file: str = ""
    master_key: str = ""
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    answer_form: Literal["auto", "documented", "sdk"] = "auto"
    cors_origins: str = "*"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_requests: bool = True
    body_bytes_max: int = 1_048_576
    header_bytes_max: int = 32_768
    header_timeout_s: int = 15
    body_timeout_s: int = 15
    idle_timeout_s: int = 75
    shutdown_timeout_s: int = 30
    timestamp_past_s: int = 3_600
    timestamp_future_s: int = 300
    organizations_cached: int = 10_000
    organization_bytes_cached: int = 268_435_456
    limit_users: int = 10_000
    limit_wallets: int = 10_000
    limit_contract_interfaces: int = 1_000
    limit_tags: int = 1_000
    limit_authenticators_per_user: int = 10
    limit_long_lived_api_keys_per_user: int = 10
    limit_expiring_api_keys_per_user: int = 10
    limit_oauth_providers_per_user: int = 10
    limit_mfa_policies_per_user: int = 10

    def __repr__(self) -> str:
        return f"Settings(mode={self.mode!r})"


NAMES = frozenset(PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings))


def from_environment(environment: Mapping[str, str]) -> Settings:
    """The settings in these variables. Raises SettingsError for an unknown or malformed one."""
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    if unknown := sorted(given.keys() - NAMES - CLIENT_VARIABLES):
        raise SettingsError(f"unknown setting {unknown[0]}; docs/configuration.md lists all")
    values: dict[str, Any] = {
        name.removeprefix(PREFIX).lower(): value for name, value in given.items() if name in NAMES
    }
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as refused:
        if "missing required field" in str(refused):
            raise SettingsError("no database: give --database-url or KEYSTEAD_DATABASE_URL") from None
        raise SettingsError(_named(refused)) from None


def _named(refused: msgspec.ValidationError) -> str:
    what, _, place = str(refused).partition(" - at `$.")
    return f"setting {PREFIX}{place.rstrip('`').upper()}: {what[:1].lower()}{what[1:]}"
