"""The parts of a running server, opened and closed together: store, signer, identities, lifecycle.

Here: start, stop and health. Not here: HTTP (`application`), the conditions for the start (`opening`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import socket
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec

from keystead.api.developer_controls import SentWebhook
from keystead.api.errors import ServiceError, Unavailable
from keystead.api.identifiers import new_id
from keystead.api.rendering import encode
from keystead.console import CONSOLE_PATH
from keystead.delivery.kept import KeptMessages
from keystead.operations import CATALOGUE, Reading
from keystead.organizations.contacts.outgoing_messages import MessageSettings, OutgoingMessage
from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.context import SigningCache, TransactionSettings
from keystead.pipeline.environment import ChosenStatus, Environment, PipelineSettings
from keystead.pipeline.lifecycle import Lifecycle
from keystead.pipeline.open_activities import OpenActivities
from keystead.pipeline.policy_set_cache import PolicySetCache
from keystead.pipeline.ports import Identities
from keystead.pipeline.signer_port import Signer
from keystead.pipeline.submission import Liveness
from keystead.primitives.share import Share
from keystead.server.authentication import Verifiers
from keystead.server.background import background_task
from keystead.server.http.tls import TlsCertificate, certificate_of
from keystead.server.installation.deletions import Deletions
from keystead.server.installation.processes import (
    ServingProcess,
    announce,
    keep_announcing,
    this_process,
    try_to_write,
    withdraw,
)
from keystead.server.installation.purging import keep_purging
from keystead.server.limits.concurrency_limit import ConcurrencyLimit
from keystead.server.opening import NotReady, Opened, open_checked
from keystead.server.pages import Health, InstallationKeys, Readiness, ServerProgram, api_document
from keystead.server.refused_requests import RefusedRequests
from keystead.server.senders import kept_messages_of, outbox_of
from keystead.server.settings.settings import Settings
from keystead.server.sources import SYSTEM_SOURCES, Sources
from keystead.server.webhooks import Webhooks, webhook_key_set, webhook_rules_of
from keystead.signer.installation_keys import PROOF_KEY, VERIFICATION_KEY
from keystead.storage.migrations import is_usable, newest
from keystead.storage.store import DatabaseStore

if TYPE_CHECKING:
    from keystead.server.metrics.measurements import Measurements


def pipeline_settings(settings: Settings, opened: Opened) -> PipelineSettings:
    """The part of the settings that the pipeline reads."""
    limits = {
        name.removeprefix("limit_"): value
        for name, value in msgspec.structs.asdict(settings).items()
        if name.startswith("limit_")
    }
    return PipelineSettings(
        limits=Limits(**limits),
        liveness=Liveness(past_ms=settings.timestamp_past_s * 1000, future_ms=settings.timestamp_future_s * 1000),
        transactions=TransactionSettings(legacy_without_chain_id=settings.sign_legacy_without_chain_id),
        messages=MessageSettings(
            channels=frozenset(opened.senders.by_channel),
            last_ms=settings.messages_last_s * 1000,
            kept_ms=settings.messages_kept_s * 1000,
            has_sandbox=settings.mode == "dev" or settings.sandbox_contacts,
            console_url=settings.console_url,
        ),
        webhooks=webhook_rules_of(settings),
        approvals_last_ms=settings.approvals_last_s * 1000,
        refuse_raw_payloads=settings.refuse_raw_payloads,
        published_keys=opened.published_keys,
    )


def environment_of(
    settings: Settings, opened: Opened, sources: Sources, chosen_status: ChosenStatus | None = None
) -> Environment:
    """What the pipeline uses, of these opened parts."""
    return Environment(
        store=opened.store,
        signer=opened.signer,
        oauth2=opened.oauth2,
        clock=sources.clock,
        new_id=sources.new_id,
        catalogue=CATALOGUE,
        settings=pipeline_settings(settings, opened),
        signing_cache=SigningCache.of_bytes(settings.signing_bytes_cached),
        policy_sets=PolicySetCache(settings.policy_characters_cached, opened.store.share),
        share=opened.store.share,
        chosen_status=chosen_status,
    )


class Service:
    """The parts that answer requests. The attributes below exist between `open` and `close`.

    `connector` connects to the signer's process; without it, the signer is in this process. `chosen_status` is for
    development servers (`pipeline.environment`), and so is `webhook_seen`, which gets every attempt to deliver.
    """

    store: DatabaseStore
    signer: Signer
    identities: Identities
    environment: Environment
    lifecycle: Lifecycle
    share: Share
    concurrency: ConcurrencyLimit
    verifiers: Verifiers
    refused_requests: RefusedRequests
    kept_messages: KeptMessages | None
    certificate: TlsCertificate | None
    measurements: Measurements | None = None

    def __init__(
        self,
        settings: Settings,
        *,
        connector: socket.socket | None = None,
        sources: Sources = SYSTEM_SOURCES,
        chosen_status: ChosenStatus | None = None,
        webhook_seen: Callable[[SentWebhook], None] | None = None,
    ) -> None:
        self.settings = settings
        self.sources = sources
        self._connector = connector
        self._chosen_status = chosen_status
        self._webhook_seen = webhook_seen
        self.clock = sources.clock
        self._is_open = False

    async def open(self) -> None:
        """Open all parts. Raises NotReady, SettingsError; then the database is closed."""
        self.certificate = certificate_of(self.settings)
        self._opened = opened = await open_checked(self.settings, self._connector, self.sources)
        try:
            self.store, self.signer, self.identities = opened.store, opened.signer, opened.identities
            self.share = self.store.share
            self.concurrency = ConcurrencyLimit(self.share)
            await self._build(opened)
            await announce(self.store, self._process)
        except Unavailable as refused:
            await opened.close()
            raise NotReady(refused.message.partition(";")[0]) from None
        except BaseException:
            await opened.close()
            raise
        self._start_background()
        self._is_open = True

    async def _build(self, opened: Opened) -> None:
        """Make the parts that answer requests from the opened ones. Raises SettingsError, Unavailable."""
        settings, senders = self.settings, opened.senders
        self.environment = environment_of(settings, opened, self.sources, self._chosen_status)
        self.lifecycle = Lifecycle(self.environment, self.identities)
        self._open_activities = OpenActivities(self.environment)
        published = {key.name: key.public_key for key in await self.signer.installation_keys()}
        self.verifiers = Verifiers(
            store=self.store,
            identities=self.identities,
            verification_key=bytes.fromhex(published[VERIFICATION_KEY.name]),
            clock=self.clock,
        )
        self.refused_requests = RefusedRequests(self.store, self.clock, settings.refused_requests_days)
        self.kept_messages = kept_messages_of(senders, self.store, self.signer, self.clock)
        wall_ms = SYSTEM_SOURCES.clock.now_ms
        self._webhooks = Webhooks(settings, self.store, self.signer, self.clock, wall_ms, self._webhook_seen)
        self._process = this_process(
            new_id(),  # not of `sources`: a development server's seed is for records
            f"{settings.host}:{settings.port}",
            self.clock.now_ms(),
            opened.master_key_ids,
            self._certificate_ends_ms(),
        )

    def _start_background(self) -> None:
        """Start the tasks that run until the service is closed."""
        kept_ms = self.environment.settings.messages.kept_ms
        self._outbox = outbox = outbox_of(self._opened.senders, self.store, self.signer, self.clock, kept_ms)
        self.store.when_rows_are_written(OutgoingMessage, lambda _: outbox.wake())
        purging = keep_purging(self.store.purger, self.clock.now_ms, random.random)
        deletions = Deletions(self.store, random.random)
        self.store.when_records_are_removed(deletions.note_removal)
        announcing = keep_announcing(self.store, self._process_now)
        running = [self._outbox.run(), purging, deletions.run(), self._webhooks.dispatcher.run(), announcing]
        running.append(self.refused_requests.run())
        if self.certificate is not None:
            running.append(self.certificate.keep_current())
        self._background = [background_task(work) for work in running]
        if self.settings.metrics_address:
            self.measurements = self._start_measuring()

    def _start_measuring(self) -> Measurements:
        # Imported here: without the setting, a server does not load the library.
        from keystead.server.metrics.measurements import Measurements
        from keystead.server.metrics.sampling import Sampler

        measurements = Measurements()
        self.store.when_transactions_end(measurements.record_transaction)
        sampler = Sampler(
            measurements,
            self.store,
            self.environment,
            self.lifecycle,
            self.concurrency,
            self._outbox,
            self._webhooks.dispatcher,
            self._certificate_ends_ms,
        )
        self._background.append(background_task(sampler.run()))
        return measurements

    def _process_now(self) -> ServingProcess:
        return msgspec.structs.replace(
            self._process, seen_at_ms=self.clock.now_ms(), certificate_ends_ms=self._certificate_ends_ms()
        )

    def _certificate_ends_ms(self) -> int | None:
        return None if self.certificate is None else self.certificate.ends_ms

    async def close(self) -> None:
        """Finish the deliveries under way and the commits that were handed in, then close the database."""
        self._is_open = False
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        with contextlib.suppress(Unavailable):  # those of the last second are in the log
            await self.refused_requests.write()
        await asyncio.gather(self._webhooks.close(), self._outbox.close(), self.lifecycle.close())
        await withdraw(self.store, self._process)
        await self._opened.close()

    def reading(self, organization: Organization, caller: Principal, source: SourceAddress) -> Reading:
        """What a query of this caller may read."""
        return Reading(
            now_ms=self.clock.now_ms(),
            organization=organization,
            caller=caller,
            source=source,
            store=self.store,
            identities=self.identities,
            environment=self.environment,
            open_activities=self._open_activities,
        )

    @property
    def transactions(self) -> int:
        """How many transactions this process has committed; 0 while it is not open."""
        return self.store.transactions if self._is_open else 0

    async def front_page(self) -> bytes:
        """The main paths of this server, for a person who opens its address in a browser."""
        return encode(
            {
                "message": "This is Keystead. Clients of the API send their requests here.",
                "version": version("keystead"),
                "queries": "POST /public/v1/query/…",
                "submissions": "POST /public/v1/submit/…",
                "operations": "/openapi.json",
                **({"console": CONSOLE_PATH} if self.settings.console else {}),
                "health": "/healthz and /readyz",
                "program": "/version",
            }
        )

    async def version(self) -> bytes:
        """Which program this is, and the version of the tables that it knows."""
        return encode(ServerProgram(name="keystead", version=version("keystead"), tables=newest()))

    async def healthz(self) -> bytes:
        """This process runs."""
        return encode(Health(status="ok"))

    async def readyz(self) -> bytes:
        """The database answers, is migrated and can be written; the signer answers and has the master key. Raises
        Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        try:
            await self.store.ready()
            if self.store.write_failure is not None:  # nobody sends requests to a server that is not ready
                await try_to_write(self.store, self._process_now(), self.settings.body_bytes_max)
            if not await is_usable(self.store):
                raise Unavailable("not ready: the database is not migrated to this version")
            if self._opened.channel is not None:
                # A rotation of the master key replaces the proof key first. The id of its sealing key is the one
                # that the signer must have.
                proof_key = msgspec.json.decode(
                    await self.store.installation.value(PROOF_KEY.name) or b"", type=Sealed
                )
                await self._opened.channel.ready(proof_key.key_id)
        except ServiceError as refused:
            raise Unavailable(f"not ready: {refused.message}") from None
        return encode(Readiness(status="ready"))

    async def bundle_signer(self) -> bytes:
        """The key whose signature clients expect on export and import bundles. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return encode(await self.signer.bundle_signer())

    async def installation_keys(self) -> bytes:
        """The public keys of this installation, each with its use. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return encode(InstallationKeys(keys=await self.signer.installation_keys()))

    async def webhook_keys(self) -> bytes:
        """The keys that receivers verify webhooks with. Raises Unavailable."""
        if not self._is_open:
            raise Unavailable("not ready: starting or stopping")
        return await webhook_key_set(self.signer)

    async def openapi(self) -> bytes:
        """The OpenAPI document of every operation of this server."""
        return _openapi_bytes()


@functools.cache
def _openapi_bytes() -> bytes:
    """The encoded document. It is encoded once, because that takes as long as a hundred queries and anybody may
    request it."""
    return encode(api_document())
