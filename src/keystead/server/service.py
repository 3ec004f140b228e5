"""The parts of a running server, opened and closed together: store, signer, identities, lifecycle.

Here: start, stop and health. Not here: HTTP (`application`), the conditions for the start (`opening`).
"""

from __future__ import annotations

import asyncio
import functools
import random
import socket
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec

from keystead.api.errors import ServiceError, Unavailable
from keystead.api.openapi import openapi_document
from keystead.api.rendering import encode
from keystead.delivery.kept import KeptMessages
from keystead.operations import CATALOGUE, Reading
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.organizations.outgoing_messages import MessageRules
from keystead.organizations.principals import Principal
from keystead.pipeline.authorization import AuthorizationSettings
from keystead.pipeline.context import SigningCache, TransactionRules
from keystead.pipeline.environment import ChosenStatus, Environment, Rules, no_chosen_status
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.policy_sets import PolicySets
from keystead.pipeline.ports import Identities, Sealed, Signer
from keystead.pipeline.requests import Liveness
from keystead.server.authentication import Verifiers
from keystead.server.opening import open_checked
from keystead.server.purging import keep_purging
from keystead.server.senders import Senders, kept_messages_of, outbox_of
from keystead.server.settings import Settings
from keystead.server.sources import SYSTEM_SOURCES, Sources
from keystead.signer.installation_keys import PROOF_KEY, VERIFICATION_KEY
from keystead.storage.base import DatabaseStore
from keystead.storage.migrations import is_current

if TYPE_CHECKING:
    from keystead.delivery.outbox import Outbox
    from keystead.server.metrics.measurements import Measurements


def rules_of(settings: Settings, senders: Senders) -> Rules:
    """The rules of decisions in these settings."""
    limits = {
        name.removeprefix("limit_"): value
        for name, value in msgspec.structs.asdict(settings).items()
        if name.startswith("limit_")
    }
    return Rules(
        limits=Limits(**limits),
        liveness=Liveness(past_ms=settings.timestamp_past_s * 1000, future_ms=settings.timestamp_future_s * 1000),
        transactions=TransactionRules(legacy_without_chain_id=settings.sign_legacy_without_chain_id),
        messages=MessageRules(
            channels=frozenset(senders.by_channel),
            last_ms=settings.messages_last_s * 1000,
            kept_ms=settings.messages_kept_s * 1000,
            has_sandbox=settings.mode == "dev" or settings.sandbox_contacts,
        ),
        approvals_last_ms=settings.approvals_last_s * 1000,
        authorization=AuthorizationSettings(
            deny_policies_fail_closed=settings.deny_policies_fail_closed,
            refuse_raw_payloads=settings.refuse_raw_payloads,
        ),
    )


class Service:
    """The parts that answer requests. The attributes below exist between `open` and `close`.

    `connector` connects to the signer's process; without it, the signer is in this process. `chosen_status` is for
    development servers (`pipeline.environment`).
    """

    store: DatabaseStore
    signer: Signer
    identities: Identities
    environment: Environment
    lifecycle: Lifecycle
    verifiers: Verifiers
    kept_messages: KeptMessages | None
    measurements: Measurements | None = None

    def __init__(
        self,
        settings: Settings,
        *,
        connector: socket.socket | None = None,
        sources: Sources = SYSTEM_SOURCES,
        chosen_status: ChosenStatus = no_chosen_status,
    ) -> None:
        self.settings = settings
        self.sources = sources
        self._connector = connector
        self._chosen_status = chosen_status
        self.clock = sources.clock
        self._is_open = False

    async def open(self) -> None:
        """Raises NotReady."""
        self._opened = await open_checked(self.settings, self._connector, self.sources)
        self.store, self.signer, self.identities = (
            self._opened.store,
            self._opened.signer,
            self._opened.identities,
        )
        settings, senders = self.settings, self._opened.senders
        self.environment = Environment(
            store=self.store,
            signer=self.signer,
            oauth2=self._opened.oauth2,
            clock=self.clock,
            new_id=self.sources.new_id,
            catalogue=CATALOGUE,
            rules=rules_of(settings, senders),
            signing_cache=SigningCache.of_bytes(settings.signing_bytes_cached),
            policy_sets=PolicySets(settings.policy_characters_cached),
            chosen_status=self._chosen_status,
        )
        self.lifecycle = Lifecycle(self.environment, self.identities)
        published = {key.name: key.public_key for key in await self.signer.installation_keys()}
        self.verifiers = Verifiers(
            store=self.store,
            identities=self.identities,
            verification_key=bytes.fromhex(published[VERIFICATION_KEY.name]),
            clock=self.clock,
        )
        self.kept_messages = kept_messages_of(senders, self.store, self.signer, self.clock)
        kept_ms = self.environment.rules.messages.kept_ms
        outbox = outbox_of(senders, self.store, self.signer, self.clock, kept_ms)
        self.store.when_messages_are_written(outbox.wake)
        purging = keep_purging(self.store, self.clock.now_ms, random.random)
        self._background = [asyncio.create_task(outbox.run()), asyncio.create_task(purging)]
        if settings.metrics_address:
            self.measurements = self._measured(outbox)
        self._is_open = True

    def _measured(self, outbox: Outbox) -> Measurements:
        # Imported here: without the setting, a server does not load the library.
        from keystead.server.metrics.measurements import Measurements
        from keystead.server.metrics.sampling import Sampler

        measurements = Measurements()
        self.store.when_transactions_end(measurements.written)
        sampler = Sampler(measurements, self.store, self.environment, self.lifecycle, outbox)
        self._background.append(asyncio.create_task(sampler.run()))
        return measurements

    async def close(self) -> None:
        """Finish the commits that were handed in, then close the database."""
        self._is_open = False
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._opened.close()

    def reading(self, organization: Organization, caller: Principal) -> Reading:
        """What a query of this caller may read."""
        return Reading(
            now_ms=self.clock.now_ms(),
            organization=organization,
            caller=caller,
            store=self.store,
            identities=self.identities,
            open_activities=OpenActivities(self.environment),
        )

    async def front_page(self) -> bytes:
        """What this is, for somebody who opens the address in a browser."""
        return encode(
            {
                "message": "This is Keystead. Clients of the API send their requests here.",
                "version": version("keystead"),
                "queries": "POST /public/v1/query/…",
                "submissions": "POST /public/v1/submit/…",
                "operations": "/openapi.json",
                "health": "/healthz and /readyz",
            }
        )

    async def healthz(self) -> bytes:
        """This process runs."""
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
                # A rotation of the master key replaces the proof key first. The id of its sealing key is the one
                # that the signer must have.
                proof_key = msgspec.json.decode(await self.store.instance_value(PROOF_KEY.name) or b"", type=Sealed)
                await self._opened.channel.ready(proof_key.key_id)
        except ServiceError as refused:
            raise Unavailable(f"not ready: {refused.message}") from None
        return b'{"status":"ready"}'

    async def bundle_signer(self) -> bytes:
        """The key whose signature clients expect on export and import bundles. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return encode(await self.signer.bundle_signer())

    async def installation_keys(self) -> bytes:
        """The public keys of this installation, each with its use. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return encode({"keys": await self.signer.installation_keys()})

    async def openapi(self) -> bytes:
        """The OpenAPI document of every operation of this server."""
        return _openapi_bytes()


@functools.cache
def _openapi_bytes() -> bytes:
    """Encoded once: it takes as long as a hundred queries, and everybody may ask."""
    return encode(openapi_document(CATALOGUE))
