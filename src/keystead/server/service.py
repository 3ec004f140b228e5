"""The parts of a running server, opened and closed together: store, signer, identities, lifecycle.

Here: what must hold before a server may answer, and health. Not here: HTTP (`application`), making the first
organization (`bootstrap`).
"""

from __future__ import annotations

import contextlib
import functools
import socket
import time
from collections.abc import Iterator

import msgspec

from keystead.api.errors import ServiceError, Unavailable
from keystead.api.identifiers import new_id
from keystead.api.openapi import openapi_document
from keystead.api.rendering import encode
from keystead.operations import CATALOGUE, Reading
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.authorization import AuthorizationSettings
from keystead.pipeline.context import SigningCache, TransactionRules
from keystead.pipeline.environment import Environment, Rules
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.policy_sets import PolicySets
from keystead.pipeline.ports import Identities, Sealed, Signer
from keystead.pipeline.requests import Liveness
from keystead.server.issuers import identities_of
from keystead.server.master_keys import master_key_sources
from keystead.server.settings import Settings, SettingsError
from keystead.signer.client import Channel, remote_signer
from keystead.signer.local import open_signer
from keystead.signer.master_keys import MasterKeyError, MasterKeyMissing, SealBroken, open_master_keys
from keystead.signer.server_keys import ServerKeys, WrongMasterKey
from keystead.storage.base import DatabaseStore
from keystead.storage.cache import CacheLimits
from keystead.storage.migrations import is_current
from keystead.storage.open import open_store, sqlite_path

MODE = "mode"
"""Name of the instance value that says which command made the installation: dev or serve. The other instance values
are the fields of ServerKeys, sealed under the master key."""


class NotReady(Exception):
    """Why this server may not start, in one line for the operator."""


class SystemClock:
    """Implements `activities.ports.Clock`."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class Opened(msgspec.Struct, frozen=True):
    """The store, the signer, whose tokens are taken, and the channel to a signer that is a process of its own."""

    store: DatabaseStore
    signer: Signer
    identities: Identities
    channel: Channel | None

    async def close(self) -> None:
        """Finish what has been handed in, then close the database."""
        await self.store.close()
        if self.channel is not None:
            self.channel.close()


async def open_checked(settings: Settings, connector: socket.socket | None = None) -> Opened:
    """The store and the signer, if the installation is one that these settings may run.

    The signer is the process that `connector` leads to; without one, it is in this process. Raises NotReady: no
    database, migrations that are not current, nothing initialised, data of the other mode, a master key that does
    not open the data, a malformed list of issuers.
    """
    with _one_line():
        identities = identities_of(settings, SystemClock())
    try:
        file = sqlite_path(settings.database_url)
        if file is not None and not file.exists():
            raise NotReady(f"there is no database file {file}: run keystead init")
        store = await open_store(
            settings.database_url,
            cache_limits=CacheLimits(
                organizations_max=settings.organizations_cached, bytes_max=settings.organization_bytes_cached
            ),
        )
    except ValueError as refused:
        raise NotReady(str(refused)) from None
    try:
        server_keys = await _server_keys(store, settings.mode)
        if connector is None:
            with _one_line():
                return Opened(
                    store,
                    open_signer(open_master_keys(master_key_sources(settings)), server_keys),
                    identities,
                    None,
                )
        channel = Channel(connector, server_keys)
        with _one_line():
            await channel.open()
        return Opened(store, remote_signer(channel), identities, channel)
    except Unavailable as refused:
        await store.close()
        raise NotReady(refused.message.partition(";")[0]) from None
    except BaseException:
        await store.close()
        raise


async def _server_keys(store: DatabaseStore, mode: str) -> ServerKeys:
    """The installation's sealed values. Raises NotReady if it has none, or was made by the other command."""
    if not await is_current(store):
        raise NotReady("the database is not migrated to this version: run keystead init")
    made_by = await store.instance_value(MODE)
    sealed = [await store.instance_value(name) for name in ServerKeys.__struct_fields__]
    if made_by is None or None in sealed:
        raise NotReady("the database holds no organization yet: run keystead init")
    if made_by.decode() != mode:
        raise NotReady(
            f"this data was made by keystead {made_by.decode()} and is refused by keystead {mode}: development "
            "keys and production keys are kept apart"
        )
    return ServerKeys(*[msgspec.json.decode(value or b"", type=Sealed) for value in sealed])


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """What keeps a server from serving, as NotReady."""
    try:
        yield
    except (SettingsError, MasterKeyError) as refused:
        raise NotReady(str(refused)) from None
    except WrongMasterKey:
        raise NotReady("the master key does not open the stored data: it is another installation's key") from None
    except MasterKeyMissing as missing:
        raise NotReady(f"{missing}: the master key is being changed, start this server with both keys") from None
    except SealBroken as broken:
        raise NotReady(f"a stored key of the server is damaged: {broken}") from None


def rules_of(settings: Settings) -> Rules:
    """What these settings say of decisions."""
    limits = {
        name.removeprefix("limit_"): value
        for name, value in msgspec.structs.asdict(settings).items()
        if name.startswith("limit_")
    }
    return Rules(
        limits=Limits(**limits),
        liveness=Liveness(past_ms=settings.timestamp_past_s * 1000, future_ms=settings.timestamp_future_s * 1000),
        transactions=TransactionRules(legacy_without_chain_id=settings.sign_legacy_without_chain_id),
        approvals_last_ms=settings.approvals_last_s * 1000,
        authorization=AuthorizationSettings(
            deny_policies_fail_closed=settings.deny_policies_fail_closed,
            refuse_raw_payloads=settings.refuse_raw_payloads,
        ),
    )


class Service:
    """The parts that answering requests needs. Those below are there between start and stop.

    The signer is the process that `connector` leads to; without one, it is in this process.
    """

    store: DatabaseStore
    signer: Signer
    identities: Identities
    environment: Environment
    lifecycle: Lifecycle

    def __init__(self, settings: Settings, *, connector: socket.socket | None = None) -> None:
        self.settings = settings
        self._connector = connector
        self.clock = SystemClock()
        self._is_open = False

    async def open(self) -> None:
        """Raises NotReady."""
        self._opened = await open_checked(self.settings, self._connector)
        self.store, self.signer, self.identities = (
            self._opened.store,
            self._opened.signer,
            self._opened.identities,
        )
        settings = self.settings
        self.environment = Environment(
            store=self.store,
            signer=self.signer,
            clock=self.clock,
            new_id=new_id,
            catalogue=CATALOGUE,
            rules=rules_of(settings),
            signing_cache=SigningCache.of_bytes(settings.signing_bytes_cached),
            policy_sets=PolicySets(settings.policy_characters_cached),
        )
        self.lifecycle = Lifecycle(self.environment, self.identities)
        self._is_open = True

    async def close(self) -> None:
        """Finish what has been handed in, then close the database."""
        self._is_open = False
        await self._opened.close()

    def reading(self, organization: Organization, caller: Principal) -> Reading:
        """What a query of this caller may look at."""
        return Reading(
            now_ms=self.clock.now_ms(),
            organization=organization,
            caller=caller,
            store=self.store,
            identities=self.identities,
            open_activities=OpenActivities(self.environment),
        )

    async def healthz(self) -> bytes:
        """This process lives."""
        return b'{"status":"ok"}'

    async def readyz(self) -> bytes:
        """The database answers and is migrated; the signer answers and has the master key. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        try:
            await self.store.ready()
            if not await is_current(self.store):
                raise Unavailable("not ready: the database is not migrated to this version")
            if self._opened.channel is not None:
                # A rotation of the master key replaces the proof key first: with its id the signer can be asked
                # whether it has the key that data is sealed under.
                proof_key = msgspec.json.decode(await self.store.instance_value("proof_key") or b"", type=Sealed)
                await self._opened.channel.ready(proof_key.key_id)
        except ServiceError as refused:
            raise Unavailable(f"not ready: {refused.message}") from None
        return b'{"status":"ready"}'

    async def bundle_signer(self) -> bytes:
        """Whose signature to expect on export and import bundles. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return encode(await self.signer.bundle_signer())

    async def openapi(self) -> bytes:
        """The OpenAPI document of every operation answered here."""
        return _openapi_bytes()


@functools.cache
def _openapi_bytes() -> bytes:
    """Made once: it takes as long as a hundred queries, and anyone may ask."""
    return encode(openapi_document(CATALOGUE))
