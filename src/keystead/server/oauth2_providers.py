"""The OAuth 2.0 providers that the settings name. Not here: requests to them (`identities.oauth2`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from keystead.api.enums import Oauth2Provider
from keystead.pipeline.ports import AuthorizationCode, OAuth2, OAuth2Person
from keystead.server.settings.settings import Settings, SettingsError

if TYPE_CHECKING:  # slow to import, and few servers need it
    from keystead.identities.oauth2 import OAuth2Providers


class SettingsProviders:
    """Implements `pipeline.ports.OAuth2`. Providers are loaded when the first person logs in."""

    def __init__(self, settings: Settings) -> None:
        self.own_issuer = settings.oauth2_issuer
        self._settings = settings
        self._providers: OAuth2Providers | None = None

    async def person(self, provider: Oauth2Provider, code: AuthorizationCode) -> OAuth2Person:
        return await self.load().person(provider, code)

    def load(self) -> OAuth2Providers:
        """The providers. Raises SettingsError for an address that is not allowed."""
        if self._providers is None:
            from keystead.identities.oauth2 import OAuth2Providers, ProviderAddresses

            settings = self._settings
            try:
                self._providers = OAuth2Providers(
                    self.own_issuer,
                    {
                        Oauth2Provider.X: ProviderAddresses(
                            settings.oauth2_x_exchange_url, settings.oauth2_x_user_url
                        ),
                        Oauth2Provider.DISCORD: ProviderAddresses(
                            settings.oauth2_discord_exchange_url, settings.oauth2_discord_user_url
                        ),
                    },
                )
            except ValueError as refused:
                raise SettingsError(f"settings KEYSTEAD_OAUTH2_…_URL: {refused}") from None
        return self._providers


def oauth2_of(settings: Settings) -> OAuth2:
    """The providers of these settings. Raises SettingsError for an address that is not allowed."""
    providers = SettingsProviders(settings)
    if any(
        getattr(settings, field.name) != field.default
        for field in msgspec.structs.fields(Settings)
        if field.name.startswith("oauth2_") and field.name.endswith("_url")
    ):
        providers.load()
    return providers
