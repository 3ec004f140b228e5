"""Serves the metrics of all worker processes at an address of its own, from the process that started them.

Here: the address, the folder in which the processes count. Not here: the metrics (`measurements`). It
speaks plain HTTP and asks for no credential, so only the monitoring should reach it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from keystead.server.http.listening import AddressInUse
from keystead.server.logs import logger
from keystead.server.metrics.process_facts import cpu_seconds, resident_bytes
from keystead.server.settings.settings import SettingsError

_PREFIX: Final = "keystead-metrics-"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new folder, which is removed when the block ends.

    The server locks its folder. A folder without a lock is from a server that was killed, and is removed now.
    Raises OSError if no folder can be made.
    """
    for abandoned in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it belongs to another user, or another process removed it
            _remove_if_abandoned(abandoned)
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # Another server may have removed it just now, before it was locked.
        with suppress(FileNotFoundError, BlockingIOError):
            lock = _lock(folder)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_if_abandoned(folder: Path) -> None:
    if folder.lstat().st_uid == os.geteuid():
        lock = _lock(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a folder. Returns the descriptor that holds the lock. Raises BlockingIOError if a server has the
    lock."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened


if TYPE_CHECKING:
    from prometheus_client import Metric

_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that makes prometheus_client count in files. Worker processes inherit it."""

_ADDRESS: Final = re.compile(r"(?P<host>[^\[\]:]+|\[[0-9a-fA-F:]+\]):(?P<port>[0-9]{1,5})")


SIGNER_METRICS: Final = {
    "keystead_signer_restarts": "Starts of the signer after it died.",
    "keystead_signer_cpu_seconds": "Processor time of the signer, in seconds.",
    "keystead_signer_resident_bytes": "Resident memory of the signer, in bytes.",
}
"""What the metrics of the signer's process measure, by name. The first two are counters."""


class WatchedSigner(Protocol):
    """The process of the signer. `restarts`: how often it was started again. `pid`: the id of the present
    process."""

    restarts: int

    @property
    def pid(self) -> int: ...


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:9464` or `[::1]:9464`. Raises SettingsError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise SettingsError("setting KEYSTEAD_METRICS_ADDRESS: expected HOST:PORT, such as 127.0.0.1:9464")
    return match["host"].strip("[]"), int(match["port"])


class _SignerCollector:
    """The metrics of the signer's process."""

    def __init__(self, signer: WatchedSigner) -> None:
        self._signer = signer

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        restarts, processor, memory = SIGNER_METRICS.items()
        yield CounterMetricFamily(*restarts, value=self._signer.restarts)
        yield CounterMetricFamily(*processor, value=cpu_seconds(self._signer.pid))
        yield GaugeMetricFamily(*memory, value=resident_bytes(self._signer.pid))


@contextmanager
def serving_metrics(address: str, signer: WatchedSigner | None = None) -> Iterator[None]:
    """Serve `GET /metrics` at this address while the block runs; nothing if the address is "". `signer`: None if
    the signer has no process of its own.

    Call it before the modules of the server are used. Raises SettingsError and AddressInUse.
    """
    if not address:
        yield
        return
    host, port = parse_address(address)
    with metrics_folder() as folder:
        os.environ[_FOLDER] = str(folder)
        from prometheus_client import CollectorRegistry, start_http_server
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        if signer is not None:
            registry.register(_SignerCollector(signer))
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as problem:
            raise AddressInUse(f"cannot serve metrics on {address}: {problem.strerror}") from None
        logger.info("serving metrics on http://%s/metrics", address)
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
            del os.environ[_FOLDER]


def forget_process(process_id: int) -> None:
    """A worker process has ended: its gauges no longer count. Its counters stay."""
    if _FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(process_id)
