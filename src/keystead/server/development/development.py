"""A development server: a service whose clock can be moved, and the developer's controls around it.

Here: how the parts are connected. Not here: each control (one module each), the command
(`cli.development.development`)."""

from __future__ import annotations

from keystead.server.application import Application
from keystead.server.console.link import ConsoleLinks
from keystead.server.development.application import DevelopmentApplication
from keystead.server.development.clock import DevelopmentClock
from keystead.server.development.faults import ChosenFaults
from keystead.server.development.fixture_file import Fixtures
from keystead.server.development.fixture_loading import FixtureLoader, LoadedKey
from keystead.server.development.organizations import Organizations
from keystead.server.development.outcomes import ChosenOutcomes
from keystead.server.development.rate_limit import ChosenRateLimit
from keystead.server.development.requests_seen import RequestsSeen
from keystead.server.development.seeding import KeySource, random_source
from keystead.server.development.snapshots import Snapshots
from keystead.server.development.webhooks import WebhooksSeen
from keystead.server.http.connection import AnswerRequest
from keystead.server.http.cors import CorsPolicy
from keystead.server.service import Service
from keystead.server.settings.settings import Settings
from keystead.server.sources import Sources
from keystead.signer.local import LocalSigner


class Development:
    """`service` must be open before `application` is called.

    `source`: the source of identifiers and keys, random if absent. `console_links`: see `Application`.
    """

    def __init__(
        self,
        settings: Settings,
        source: KeySource | None = None,
        console_links: ConsoleLinks | None = None,
    ) -> None:
        self.clock = DevelopmentClock()
        self._console_links = console_links
        self._outcomes = ChosenOutcomes()
        self._faults = ChosenFaults()
        self._rate_limit = ChosenRateLimit()
        self._seen = RequestsSeen(settings.answer_form)
        self._webhooks = WebhooksSeen()
        self._source = source or random_source()
        self._sources = Sources(
            clock=self.clock,
            new_id=lambda: self._source.new_id(),
            entropy=lambda size: self._source.entropy(size),
        )
        self.service = Service(
            settings,
            sources=self._sources,
            chosen_status=self._outcomes.status_of,
            webhook_seen=self._webhooks.add,
        )

    async def load(self, fixtures: Fixtures) -> list[LoadedKey]:
        """Make the organizations of a fixture file that do not exist yet. Returns the keys of all organizations of
        the file. Raises FixtureError."""
        own_source = self._source
        try:
            return await FixtureLoader(self.service, self._take_from).load(fixtures)
        finally:
            self._source = own_source

    def _take_from(self, source: KeySource) -> None:
        self._source = source

    async def application(self, auth_proxy_id: str = "") -> AnswerRequest:
        """Take the snapshot "start", and return the application. `auth_proxy_id`: see `Application`."""
        service = self.service
        assert isinstance(service.signer, LocalSigner)
        snapshots = Snapshots(service.store, self._forget)
        await snapshots.take_start()
        controls = [
            self.clock.control(),
            self._outcomes.control(),
            self._faults.control(),
            self._rate_limit.control(),
            self._seen.control(),
            self._webhooks.control(),
            Organizations(service.store, service.signer, self._sources).control(),
            *snapshots.controls(),
        ]
        return DevelopmentApplication(
            Application(service, self._console_links, auth_proxy_id),
            controls,
            self._faults,
            self._rate_limit,
            self._seen,
            self.clock,
            CorsPolicy.of(service.settings.cors_origins).origins or frozenset(),
        ).answer

    def _forget(self) -> None:
        """Reset everything that is not in the database to its state at the start."""
        self.clock.reset()
        self._outcomes.reset()
        self._faults.clear()
        self._rate_limit.clear()
        self._seen.clear()
        self._webhooks.clear()
        if self.service.kept_messages is not None:
            self.service.kept_messages.clear()
