"""Opens an installation: its database and its signer, if these settings may run it.

Here: the conditions for the start of a server. Not here: the running server (`service`), the first organization
(`installation.bootstrap`).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from keystead.api.enums import Oauth2Provider
from keystead.api.errors import Unavailable
from keystead.api.rendering import encode
from keystead.identities.issuers import KnownIssuers
from keystead.organizations.credentials.published_keys import NO_PUBLISHED_KEYS, PublishedKeys
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.ports import AuthorizationCode, Clock, Identities, OAuth2, OAuth2Person
from keystead.pipeline.signer_port import Signer
from keystead.server.development.published import published_keys
from keystead.server.installation.master_keys import master_key_sources
from keystead.server.senders import Senders, senders_of
from keystead.server.settings.settings import Settings, SettingsError
from keystead.server.sources import SYSTEM_SOURCES, Sources
from keystead.signer import installation_keys
from keystead.signer.client import Channel, remote_signer
from keystead.signer.local import open_signer
from keystead.signer.master_keys import MasterKeyError, MasterKeyMissing, SealBroken, open_master_keys
from keystead.storage.cache import CacheLimits
from keystead.storage.migrations import is_usable
from keystead.storage.open import open_store, sqlite_path
from keystead.storage.operator_messages import operator_message
from keystead.storage.store import DatabaseStore

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


def identities_of(settings: Settings, clock: Clock) -> KnownIssuers:
    """The issuers whose tokens are accepted. Raises SettingsError for a malformed or unreadable list of issuers."""
    pinned, discovery = None, None
    if settings.oidc_keys_file:
        from keystead.identities.key_sets import pinned_key_sets  # slow to import, and few servers need it

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


MODE = "mode"
"""The name of the instance value with the command that made the installation: dev or serve. The other instance
values are sealed under the master key (`signer.installation_keys`)."""


class NotReady(Exception):
    """The server may not start. The message is one line for the operator."""


class Opened(msgspec.Struct, frozen=True):
    """The opened parts. `channel`: the channel to the signer's process; None if the signer is in this process.
    `master_key_ids`: the ids of the signer's master keys, first the one that seals. `published_keys`: those that
    nobody may register here."""

    store: DatabaseStore
    signer: Signer
    identities: Identities
    oauth2: OAuth2
    channel: Channel | None
    senders: Senders
    master_key_ids: tuple[str, ...]
    published_keys: PublishedKeys

    async def close(self) -> None:
        """Finish the commits that were handed in, then close the database."""
        await self.store.close()
        if self.channel is not None:
            self.channel.close()


async def open_checked(
    settings: Settings,
    connector: socket.socket | None = None,
    sources: Sources = SYSTEM_SOURCES,
    *,
    of_any_mode: bool = False,
) -> Opened:
    """Open an installation if these settings may run it.

    `connector` connects to the signer's process; without it, the signer is in this process. `of_any_mode`: the data
    may be that of either command, whatever the setting says. Raises NotReady if
    there is no database, if it is not migrated or not initialised, if the data is of the other mode, if the master
    key does not open the data, and for malformed settings of issuers or senders.
    """
    with _as_not_ready():
        identities, senders = identities_of(settings, sources.clock), senders_of(settings, sources.clock)
        oauth2 = oauth2_of(settings)
    try:
        file = sqlite_path(settings.database_url)
        if file is not None and not file.exists():
            raise NotReady(f"there is no database file {file}: run keystead init")
        store = await open_store(
            settings.database_url,
            cache_limits=CacheLimits(
                organizations_max=settings.organizations_cached, bytes_max=settings.organization_bytes_cached
            ),
            timeout_s=settings.database_timeout_s,
        )
    except ValueError as refused:
        raise NotReady(str(refused)) from None
    try:
        mode = None if of_any_mode else settings.mode
        signer, channel, master_key_ids = await _open_signer(store, settings, mode, connector, sources)
        if missing := await signer.missing_installation_keys():
            for name, value in missing.items():
                await store.installation.add_value(name, encode(value))
            if channel is not None:
                channel.close()
            signer, channel, master_key_ids = await _open_signer(store, settings, mode, connector, sources)
        with_own_issuer = await _with_own_issuer(identities, settings, signer)
        published = NO_PUBLISHED_KEYS if settings.mode == "dev" else await published_keys()
        return Opened(store, signer, with_own_issuer, oauth2, channel, senders, master_key_ids, published)
    except Unavailable as refused:
        await store.close()
        raise NotReady(operator_message(settings.database_url, refused)) from None
    except BaseException:
        await store.close()
        raise


async def _open_signer(
    store: DatabaseStore, settings: Settings, mode: str | None, connector: socket.socket | None, sources: Sources
) -> tuple[Signer, Channel | None, tuple[str, ...]]:
    """The signer with the keys that the installation has now, the channel to its process, and the ids of its master
    keys."""
    sealed = await _sealed_keys(store, mode)
    with _as_not_ready():
        if connector is None:
            master_keys = open_master_keys(master_key_sources(settings))
            return open_signer(master_keys, sealed, entropy=sources.entropy), None, master_keys.key_ids
        channel = Channel(connector, sealed)
        await channel.open()
        return remote_signer(channel), channel, await channel.master_key_ids()


async def _with_own_issuer(identities: KnownIssuers, settings: Settings, signer: Signer) -> Identities:
    """The accepted issuers, with this server as the issuer of tokens for people of OAuth 2.0 providers."""
    (key,) = [key for key in await signer.installation_keys() if key.name == installation_keys.IDENTITY_KEY.name]
    return identities.with_own(settings.oauth2_issuer, bytes.fromhex(key.public_key))


async def _sealed_keys(store: DatabaseStore, mode: str | None) -> installation_keys.SealedInstallationKeys:
    """The installation's sealed values. Raises NotReady if they are missing, or if a command other than `mode` made
    it; None for any."""
    if not await is_usable(store):
        raise NotReady("the database is not migrated to this version: run keystead migrate")
    made_by = await store.installation.value(MODE)
    stored = {name: await store.installation.value(name) for name in installation_keys.SEALED_VALUES}
    stored = {
        name: value
        for name, value in stored.items()
        if value is not None or name not in installation_keys.MADE_AT_START
    }
    if made_by is None or None in stored.values():
        raise NotReady("the database holds no organization yet: run keystead init")
    if mode is not None and made_by.decode() != mode:
        raise NotReady(
            f"keystead {made_by.decode()} made this data, and keystead {mode} refuses it: development keys and "
            "production keys are kept apart"
        )
    sealed = {name: msgspec.json.decode(value or b"", type=Sealed) for name, value in stored.items()}
    return installation_keys.SealedInstallationKeys(sealed.pop(installation_keys.MASTER_KEY_CHECK), sealed)


@contextlib.contextmanager
def _as_not_ready() -> Iterator[None]:
    """Turn the errors that prevent a start into NotReady."""
    try:
        yield
    except (SettingsError, MasterKeyError) as refused:
        raise NotReady(str(refused)) from None
    except installation_keys.WrongMasterKey as wrong:
        raise NotReady(
            "the master key does not open the stored data: it belongs to another installation, is not in use yet, "
            f"or is no longer in use ({wrong})"
        ) from None
    except MasterKeyMissing as missing:
        raise NotReady(f"{missing}: the master key is being rotated; start this server with both keys") from None
    except SealBroken as broken:
        raise NotReady(f"a stored key of the server is damaged: {broken}") from None
