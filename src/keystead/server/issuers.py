"""The issuers of ID tokens that the settings name. Not here: verifying tokens (`identities`)."""

from __future__ import annotations

from pathlib import Path

from keystead.identities.issuers import KnownIssuers
from keystead.pipeline.ports import Clock
from keystead.server.settings.settings import Settings, SettingsError


def identities_of(settings: Settings, clock: Clock) -> KnownIssuers:
    """The issuers whose tokens are accepted. Raises SettingsError for a malformed or unreadable list of issuers."""
    pinned, discovery = None, None
    if settings.oidc_keys_file:
        from keystead.identities.pinned import pinned_key_sets  # slow to import, and few servers need it

        try:
            pinned = pinned_key_sets(Path(settings.oidc_keys_file))
        except OSError as refused:
            raise SettingsError(f"setting KEYSTEAD_OIDC_KEYS_FILE: cannot read it: {refused.strerror}") from None
        except ValueError as refused:
            raise SettingsError(f"setting KEYSTEAD_OIDC_KEYS_FILE: {refused}") from None
    if issuers := [name.strip() for name in settings.oidc_issuers.split(",") if name.strip()]:
        from keystead.identities.discovery import Discovery  # as above

        try:
            discovery = Discovery(issuers)
        except ValueError as refused:
            raise SettingsError(f"setting KEYSTEAD_OIDC_ISSUERS: {refused}") from None
    return KnownIssuers(clock, pinned, discovery)
