"""A development server: a service whose clock can be moved, and the developer's controls around it.

Here: how the parts belong together. Not here: each control (one module each), the command (`cli.development`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from keystead.api.identifiers import new_id
from keystead.server.application import Application
from keystead.server.connection import Answer
from keystead.server.console_link import ConsoleLink
from keystead.server.cors import CorsPolicy
from keystead.server.development.application import DevelopmentApplication
from keystead.server.development.clock import DevelopmentClock
from keystead.server.development.faults import ChosenFaults
from keystead.server.development.organizations import Organizations
from keystead.server.development.outcomes import ChosenOutcomes
from keystead.server.development.rate_limit import ChosenRateLimit
from keystead.server.development.requests_seen import RequestsSeen
from keystead.server.development.snapshots import Snapshots
from keystead.server.service import Service
from keystead.server.settings import Settings
from keystead.server.sources import Sources
from keystead.signer.local import LocalSigner
from keystead.storage.sqlite import SqliteStore


class Development:
    """`service` must be open before `application` is called.

    `console_link`: as Application takes it; `new_id` and `entropy`: as Sources has them.
    """

    def __init__(
        self,
        settings: Settings,
        console_link: ConsoleLink | None = None,
        new_id: Callable[[], str] = new_id,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.clock = DevelopmentClock()
        self._console_link = console_link
        self._outcomes = ChosenOutcomes()
        self._faults = ChosenFaults()
        self._rate_limit = ChosenRateLimit()
        self._seen = RequestsSeen()
        self._sources = Sources(clock=self.clock, new_id=new_id, entropy=entropy)
        self.service = Service(settings, sources=self._sources, chosen_status=self._outcomes.status_of)

    async def application(self) -> Answer:
        """What answers, once the start of the data is remembered."""
        service = self.service
        assert isinstance(service.store, SqliteStore)
        assert isinstance(service.signer, LocalSigner)
        snapshots = Snapshots(service.store, self._forget)
        await snapshots.take_start()
        controls = [
            self.clock.control(),
            self._outcomes.control(),
            self._faults.control(),
            self._rate_limit.control(),
            self._seen.control(),
            Organizations(service.store, service.signer, self._sources).control(),
            *snapshots.controls(),
        ]
        return DevelopmentApplication(
            Application(service, self._console_link).answer,
            {control.name: control for control in controls},
            self._faults,
            self._rate_limit,
            self._seen,
            self.clock,
            CorsPolicy.of(service.settings.cors_origins),
        ).answer

    def _forget(self) -> None:
        """Everything that is not stored goes back to how it was at the start, too."""
        self.clock.reset()
        self._outcomes.clear()
        self._faults.clear()
        self._rate_limit.clear()
        self._seen.clear()
        if self.service.kept_messages is not None:
            self.service.kept_messages.clear()
