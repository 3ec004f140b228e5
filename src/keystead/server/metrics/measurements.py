"""The metrics of a server, for Prometheus: every metric with its name and labels.

Labels have few values and never an id. Values of all workers are added up, by files of prometheus_client's
multi-process mode, which is chosen when that package is imported: see `serving`, which prepares it. Not here: when
counters are read (`sampling`), the address (`serving`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

GaugeMode = Literal["livesum", "livemostrecent"]

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_COMMITS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class DescribedMetric(NamedTuple):
    """A metric as it is served: its name, its labels, and what it measures."""

    name: str
    labels: tuple[str, ...]
    text: str


class _NewMetric:
    """Makes the metrics of one object. What is served is read from the files of all processes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.described: list[DescribedMetric] = []

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        self.described.append(DescribedMetric(f"keystead_{name}_total", labels, text))
        return Counter(f"keystead_{name}", text, labels, registry=self._registry)

    def gauge(self, name: str, text: str, *labels: str, mode: GaugeMode = "livesum") -> Gauge:
        """The values of all processes are added up, unless `mode` is another."""
        self.described.append(DescribedMetric(f"keystead_{name}", labels, text))
        return Gauge(f"keystead_{name}", text, labels, registry=self._registry, multiprocess_mode=mode)

    def shared_gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """A gauge of the installation: every process knows the same value."""
        return self.gauge(name, text, *labels, mode="livemostrecent")

    def histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        self.described.append(DescribedMetric(f"keystead_{name}", labels, f"Histogram. {text}"))
        return Histogram(f"keystead_{name}", text, labels, buckets=buckets, registry=self._registry)


class Measurements:
    """The metrics of one process."""

    def __init__(self) -> None:
        new = _NewMetric()
        self.described: Sequence[DescribedMetric] = new.described
        self._requests = new.counter(
            "requests",
            "Answers, by HTTP status. The operation is the last part of the path, auth_proxy, console, /healthz, "
            "/readyz or other.",
            "operation",
            "status",
        )
        self._request_seconds = new.histogram(
            "request_seconds", "Seconds from a complete request to its answer.", _SECONDS, "operation"
        )
        self._activities = new.counter(
            "activities", "Answered submissions, by the type of the activity and its status.", "type", "status"
        )
        self._transaction_seconds = new.histogram(
            "transaction_seconds", "Seconds of a transaction that writes.", _SECONDS
        )
        self._transaction_commits = new.histogram("transaction_commits", "Commits in a transaction.", _COMMITS)
        self.decisions = new.counter(
            "decisions", "Decisions on record, by verdict and by the rule that decided.", "verdict", "rule"
        )
        self.cache_hits = new.counter(
            "cache_hits",
            "Values that a cache had: organizations, policies, signing_keys, contract_interfaces.",
            "cache",
        )
        self.cache_misses = new.counter("cache_misses", "Values that a cache lacked.", "cache")
        self.messages = new.counter(
            "messages", "Attempts to send an e-mail or SMS: sent, delayed, given_up.", "result"
        )
        self.webhooks = new.counter(
            "webhooks",
            "Attempts to deliver a webhook: delivered, delayed, failed (a final answer), given_up.",
            "result",
        )
        self._rate_limited = new.counter(
            "rate_limited",
            "Requests that a limit refused: organization, credential, address (failed requests), auth_proxy.",
            "limit",
        )
        self.cpu_seconds = new.counter("cpu_seconds", "Processor time of the processes that serve.")
        self.resident_bytes = new.gauge("resident_bytes", "Memory of the processes that serve.")
        self.queued_requests = new.gauge(
            "queued_requests", "Requests that wait because their organization has enough under way."
        )
        self.queued_submissions = new.gauge(
            "queued_submissions", "Submissions that wait for the writers of their organizations."
        )
        self.queued_commits = new.gauge("queued_commits", "Commits that wait for the next transaction.")
        self.connections_used = new.gauge(
            "database_connections_used", "Connections to PostgreSQL in use: read, write, lock.", "pool"
        )
        self.connections_max = new.gauge("database_connections_max", "The most connections to PostgreSQL.", "pool")
        self.processes = new.gauge("processes", "Processes that serve.")
        self.due_messages = new.shared_gauge(
            "due_messages", "Messages that are not sent yet, of all organizations."
        )
        self.last_backup_seconds = new.shared_gauge(
            "last_backup_timestamp_seconds", "When the newest backup on record began; 0 without a backup."
        )
        self.master_key_seconds = new.shared_gauge(
            "master_key_timestamp_seconds", "Since when the master key is in use; 0 if that is unknown."
        )
        self.certificate_seconds = new.shared_gauge(
            "certificate_end_timestamp_seconds", "When the TLS certificate ends; 0 without one."
        )
        self.build = new.shared_gauge(
            "build_info", "1, with the version of the program and of the tables it knows.", "version", "tables"
        )
        self.waiting_webhooks = new.shared_gauge(
            "waiting_webhooks", "Webhooks that are not delivered yet, of all organizations; counted up to 100,000."
        )

    def count_answer(self, operation: str, status: int, seconds: float) -> None:
        """A request got its answer."""
        self._requests.labels(operation, str(status)).inc()
        self._request_seconds.labels(operation).observe(seconds)

    def count_submission(self, activity_type: str, status: str) -> None:
        """A submission was answered with an activity."""
        self._activities.labels(activity_type, status).inc()

    def count_rate_limited(self, limit: str) -> None:
        """A request was refused by a rate limit."""
        self._rate_limited.labels(limit).inc()

    def record_transaction(self, commits: int, seconds: float) -> None:
        """A transaction ended, committed or not."""
        self._transaction_seconds.observe(seconds)
        self._transaction_commits.observe(commits)
