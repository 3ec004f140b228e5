"""`GET /metrics` at its own address: what is counted, over all workers, and with which labels."""

from __future__ import annotations

import os
import re
import secrets
import signal
import time
from collections.abc import Callable
from importlib.metadata import version

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from keystead.server.metrics.serving import parse_address
from keystead.server.settings.settings import SettingsError
from keystead.storage.migrations import newest
from tests.conftest import MakeDatabase
from tests.support.callers import Caller
from tests.support.hanging import PATIENCE_S
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.servers import Installation, Server, bootstrap_installation, free_port

WORKER = b"keystead.server.workers"
Start = Callable[..., Server]
Sample = tuple[str, frozenset[tuple[str, str]]]


class Scraped:
    """What an address serves now."""

    def __init__(self, address: str) -> None:
        text = httpx.get(f"http://{address}/metrics", trust_env=False, timeout=PATIENCE_S).raise_for_status().text
        self.samples: dict[Sample, float] = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        return self.samples.get((f"keystead_{name}", frozenset(labels.items())), 0)

    def total(self, name: str) -> float:
        """The sum over all labels."""
        return sum(value for (found, _), value in self.samples.items() if found == f"keystead_{name}")


def until(address: str, holds: Callable[[Scraped], bool]) -> Scraped:
    """What is served once this holds: counters are sampled once a second."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds(scraped := Scraped(address)):
        assert time.monotonic() < deadline, scraped.samples
        time.sleep(0.05)
    return scraped


def signer_has_worked(caller: Caller, now: Scraped) -> bool:
    """The operating system counts processor time in hundredths of a second, so one call may show nothing."""
    caller.result("create_wallet", {"walletName": secrets.token_hex(4), "accounts": [ETHEREUM_ACCOUNT]})
    return now.value("signer_cpu_seconds_total") > 0


def test_what_is_counted(make_sqlite: MakeDatabase, start: Start) -> None:
    address = f"127.0.0.1:{free_port()}"
    server = start(bootstrap_installation(make_sqlite()), metrics_address=address)
    caller = server.caller
    for name in ("one", "two"):
        caller.result("create_wallet", {"walletName": name, "accounts": [ETHEREUM_ACCOUNT]})
    for _ in range(3):
        caller.asked("list_wallets")
    assert caller.ask("get_wallet", walletId="none").status_code >= 400
    assert server.http.get("/no/such/path").status_code == 404
    for path in ("", "main.js", "no/such/file", "no/such/other"):
        server.http.get(f"/console/{path}")
    found = until(address, lambda now: now.total("decisions_total") >= 2)
    assert found.value("requests_total", operation="create_wallet", status="200") == 2
    assert found.value("requests_total", operation="list_wallets", status="200") == 3
    assert found.value("requests_total", operation="other", status="404") == 1
    assert found.value("requests_total", operation="console", status="200") == 2
    assert found.value("requests_total", operation="console", status="404") == 2
    assert found.value("request_seconds_count", operation="list_wallets") == 3
    completed = {"type": "ACTIVITY_TYPE_CREATE_WALLET", "status": "ACTIVITY_STATUS_COMPLETED"}
    assert found.value("activities_total", **completed) == 2
    assert found.value("transaction_commits_sum") >= found.value("transaction_seconds_count") >= 2
    assert found.value("cache_hits_total", cache="organizations") >= 3
    assert found.value("processes") == 1
    assert found.value("queued_commits") == 0
    assert found.value("cpu_seconds_total") > 0
    assert found.value("due_messages") == 0
    assert found.value("signer_restarts_total") == 0
    assert found.value("signer_resident_bytes") > 1_000_000
    assert found.value("resident_bytes") > 1_000_000
    assert found.value("last_backup_timestamp_seconds") == 0
    assert found.value("master_key_timestamp_seconds") > time.time() - 3600
    assert found.value("build_info", version=version("keystead"), tables=str(newest())) == 1
    # No id of a record and nothing that a caller wrote is a label.
    labels = {value for _, pairs in found.samples for _, value in pairs}
    assert not [value for value in labels if re.search("[0-9a-f]{8}-|no/such", value)]
    until(address, lambda now: signer_has_worked(caller, now))
    os.kill(server.signer_pid, signal.SIGKILL)
    until(address, lambda now: now.value("signer_restarts_total") == 1)
    assert server.http.get("/metrics").status_code == 404, "not at the address of the API"


def test_workers_are_added_up(make_postgres: MakeDatabase, start: Start) -> None:
    """Also the counters of a worker that died; its gauges no longer count."""
    address = f"127.0.0.1:{free_port()}"
    installation: Installation = bootstrap_installation(make_postgres())
    server = start(installation, workers=2, metrics_address=address)
    until(address, lambda now: now.value("processes") == 2)
    for _ in range(5):
        server.caller.asked("list_wallets")
    found = until(address, lambda now: now.value("database_connections_max", pool="read") == 12)
    assert found.value("requests_total", operation="list_wallets", status="200") == 5
    first, _ = server.children(WORKER)
    os.kill(first, signal.SIGKILL)
    until(
        address,
        lambda now: first not in server.children(WORKER) and now.value("processes") == 2,
    )
    assert Scraped(address).value("requests_total", operation="list_wallets", status="200") == 5
    installation.database.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:1", ("::1", 1)),
        ("metrics.internal:80", ("metrics.internal", 80)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["9464", ":9464", "127.0.0.1", "127.0.0.1:99999", "::1:9464", "http://a:1", "a:b"])
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"KEYSTEAD_METRICS_ADDRESS: expected HOST:PORT"):
        parse_address(text)
