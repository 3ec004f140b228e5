"""Copies the counters of the server's parts into its metrics, once a second.

The parts count in plain numbers, because a counter of the library would slow every request. Not here: the metrics
(`measurements`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Final

from prometheus_client import Counter

from keystead.api.errors import ServiceError
from keystead.delivery.outbox import Outbox
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.pipeline.environment import Environment
from keystead.pipeline.lifecycle import Lifecycle
from keystead.server.installation.dates import last_backup_ms, master_key_since
from keystead.server.limits.concurrency_limit import ConcurrencyLimit
from keystead.server.metrics.measurements import Measurements
from keystead.server.metrics.process_facts import resident_bytes
from keystead.storage.migrations import newest
from keystead.storage.store import DatabaseStore

PERIOD_S: Final = 1.0
_INSTALLATION_EVERY: Final = 15
"""Once in this number of samples, the database is read for the messages and webhooks that wait, and for dates."""

_COUNTED_MAX: Final = 100_000
"""Webhooks that wait are counted up to this number, so that counting takes no longer than a moment."""


class Sampler:
    """Reads the parts of one process."""

    def __init__(
        self,
        measurements: Measurements,
        store: DatabaseStore,
        environment: Environment,
        lifecycle: Lifecycle,
        concurrency: ConcurrencyLimit,
        outbox: Outbox,
        webhooks: WebhookDispatcher,
        certificate_ends_ms: Callable[[], int | None],
    ) -> None:
        self._measurements = measurements
        self._store = store
        self._environment = environment
        self._lifecycle = lifecycle
        self._concurrency = concurrency
        self._outbox = outbox
        self._webhooks = webhooks
        self._certificate_ends_ms = certificate_ends_ms
        self._last_totals: dict[tuple[Counter, tuple[str, ...]], float] = {}

    async def run(self) -> None:
        """Sample until cancelled."""
        self._measurements.processes.set(1)
        self._measurements.build.labels(version("keystead"), str(newest())).set(1)
        number = 0
        while True:
            self.sample()
            if number % _INSTALLATION_EVERY == 0:
                await self._sample_installation()
            number += 1
            await asyncio.sleep(PERIOD_S)

    def sample(self) -> None:
        """Everything that needs no database."""
        metrics, store = self._measurements, self._store
        for (verdict, rule), count in store.decisions.items():
            self._count(metrics.decisions, count, verdict, rule)
        for name, (hits, misses) in self._caches().items():
            self._count(metrics.cache_hits, hits, name)
            self._count(metrics.cache_misses, misses, name)
        for result, count in self._outbox.results.items():
            self._count(metrics.messages, count, result.name.lower())
        for outcome, count in self._webhooks.results.items():
            self._count(metrics.webhooks, count, outcome.value)
        self._count(metrics.cpu_seconds, time.process_time())
        metrics.certificate_seconds.set((self._certificate_ends_ms() or 0) / 1000)
        metrics.resident_bytes.set(resident_bytes("self"))
        metrics.queued_requests.set(self._concurrency.waiting)
        metrics.queued_submissions.set(self._lifecycle.waiting)
        metrics.queued_commits.set(store.waiting_commits)
        for pool, (used, most) in store.database.connections().items():
            metrics.connections_used.labels(pool).set(used)
            metrics.connections_max.labels(pool).set(most)

    def _caches(self) -> Mapping[str, tuple[int, int]]:
        """Hits and misses by cache."""
        signing, policies = self._environment.signing_cache, self._environment.policy_sets
        return {
            "organizations": self._store.cache_use,
            "policies": (policies.hits, policies.misses),
            "signing_keys": (signing.keys.hits, signing.keys.misses),
            "contract_interfaces": (signing.interfaces.hits, signing.interfaces.misses),
        }

    async def _sample_installation(self) -> None:
        metrics = self._measurements
        try:
            metrics.due_messages.set(await self._store.deliveries.due_message_count())
            metrics.last_backup_seconds.set((await last_backup_ms(self._store) or 0) / 1000)
            since = await master_key_since(self._store)
            metrics.master_key_seconds.set(0 if since is None else since.since_ms / 1000)
            metrics.waiting_webhooks.set(await self._store.deliveries.waiting_delivery_count(_COUNTED_MAX))
        except ServiceError:
            return  # the requests show that the database does not answer; the last numbers stay

    def _count(self, counter: Counter, total: float, *labels: str) -> None:
        """Raise a counter to this total."""
        key = (counter, labels)
        added = total - self._last_totals.get(key, 0)
        if added > 0:
            (counter.labels(*labels) if labels else counter).inc(added)
            self._last_totals[key] = total
