"""The metrics of a server, for Prometheus: every metric with its name and labels.

Labels have few values and never an id. Values of all workers are added up, by files of prometheus_client's
multi-process mode, which is chosen when that package is imported: see `serving`, which prepares it. Not here: when
counters are read (`sampling`), the address (`serving`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_COMMITS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class _Metrics:
    """Makes metrics of this process. The names of all begin with `keystead_`."""

    def __init__(self) -> None:
        # A registry for each object: tests make several. `serving` reads the files of all processes instead.
        self._registry = CollectorRegistry()

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"keystead_{name}", text, labels, registry=self._registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """A gauge whose values are added up over the processes."""
        return Gauge(f"keystead_{name}", text, labels, registry=self._registry, multiprocess_mode="livesum")

    def gauge_of_installation(self, name: str, text: str, *labels: str) -> Gauge:
        """A gauge that has the same value in every process; the newest one is served."""
        return Gauge(f"keystead_{name}", text, labels, registry=self._registry, multiprocess_mode="livemostrecent")

    def histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"keystead_{name}", text, labels, buckets=buckets, registry=self._registry)


class Measurements:
    """The metrics of one process."""

    def __init__(self) -> None:
        metrics = _Metrics()
        counter, gauge, histogram = metrics.counter, metrics.gauge, metrics.histogram
        self._requests = counter("requests", "Requests, by operation and HTTP status.", "operation", "status")
        self._request_seconds = histogram(
            "request_seconds", "Seconds from a complete request to its answer.", _SECONDS, "operation"
        )
        self._activities = counter(
            "activities", "Answered submissions, by the type of the activity and its status.", "type", "status"
        )
        self._transaction_seconds = histogram(
            "transaction_seconds", "Seconds of a transaction that writes.", _SECONDS
        )
        self._transaction_commits = histogram("transaction_commits", "Commits in a transaction.", _COMMITS)
        self.decisions = counter(
            "decisions", "Decisions on record, by verdict and by the rule that decided.", "verdict", "rule"
        )
        self.cache_hits = counter("cache_hits", "Values that a cache had.", "cache")
        self.cache_misses = counter("cache_misses", "Values that a cache lacked.", "cache")
        self.messages = counter("messages", "Attempts to send an e-mail or SMS, by their result.", "result")
        self.webhooks = counter("webhooks", "Attempts to deliver a webhook, by their result.", "result")
        self._rate_limited = counter("rate_limited", "Requests that a rate limit refused, by limit.", "limit")
        self.cpu_seconds = counter("cpu_seconds", "Processor time of the processes that serve.")
        self.resident_bytes = gauge("resident_bytes", "Memory of the processes that serve.")
        self.queued_requests = gauge(
            "queued_requests", "Requests that wait because their organization has enough under way."
        )
        self.queued_submissions = gauge(
            "queued_submissions", "Submissions that wait in the queues of their organizations."
        )
        self.queued_commits = gauge("queued_commits", "Commits that wait for the next transaction.")
        self.connections_used = gauge(
            "database_connections_used", "Database connections in use, by purpose.", "pool"
        )
        self.connections_max = gauge("database_connections_max", "Most database connections, by purpose.", "pool")
        self.processes = gauge("processes", "Processes that serve.")

        newest = metrics.gauge_of_installation
        self.due_messages = newest("due_messages", "Messages that are not sent yet, of all organizations.")
        self.last_backup_seconds = newest(
            "last_backup_timestamp_seconds", "When the newest backup on record began; 0 without a backup."
        )
        self.master_key_seconds = newest(
            "master_key_timestamp_seconds", "Since when the master key is in use; 0 if that is unknown."
        )
        self.certificate_seconds = newest(
            "certificate_end_timestamp_seconds", "When the TLS certificate ends; 0 without one."
        )
        self.build = newest(
            "build_info", "1, with the version of the program and of the tables it knows.", "version", "tables"
        )
        self.waiting_webhooks = newest(
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
