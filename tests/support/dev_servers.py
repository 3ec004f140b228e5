"""`keystead dev` as a process, with any options. Not here: `keystead serve` (`servers`)."""

from __future__ import annotations

import json
import secrets
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.commands import start_keystead
from tests.support.fork_server import ForkedProcess
from tests.support.hanging import PATIENCE_S

END_LIMIT_S = 40
_LAST_LINE = "console.log(await client.getWallets())"


@dataclass
class Started:
    """A `keystead dev`. `credentials` is where it wrote the keys."""

    process: ForkedProcess
    credentials: Path
    log: Path

    @property
    def base_url(self) -> str:
        base_url: str = json.loads(self.credentials.read_text())["baseUrl"]
        return base_url

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def wait_for(self, text: str) -> None:
        """Until it has printed this."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)


def wait_until_ended(addresses: Sequence[str]) -> None:
    """Until no server listens at these base URLs."""
    deadline = time.monotonic() + END_LIMIT_S
    for address in addresses:
        url = urlsplit(address)
        assert url.hostname is not None and url.port is not None
        while True:
            assert time.monotonic() < deadline, f"{address} still listens"
            try:
                socket.create_connection((url.hostname, url.port), timeout=PATIENCE_S).close()
            except ConnectionRefusedError:
                break
            time.sleep(0.05)


@contextmanager
def dev(folder: Path, *options: str) -> Iterator[Started]:
    """In this folder, on a free port, its credentials in `keys.json`."""
    started = folder / "keys.json", folder / "log"
    words = ("dev", "--port", "0", "--credentials", "keys.json", *options)
    process = start_keystead(*words, cwd=folder, output=started[1])
    deadline = time.monotonic() + PATIENCE_S
    try:
        while not started[0].exists():
            assert process.poll() is None, started[1].read_text()
            assert time.monotonic() < deadline, started[1].read_text()
            time.sleep(0.02)
        yield Started(process, *started)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


@contextmanager
def dev_banner(data: Path, *options: str) -> Iterator[str]:
    """With its data in this folder, on a free port; what it has printed once it is ready."""
    log = data.with_name(f"log-{secrets.token_hex(4)}")
    process = start_keystead("dev", "--port", "0", "--data", data, *options, output=log)
    deadline = time.monotonic() + PATIENCE_S
    try:
        while _LAST_LINE not in (printed := log.read_text()):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield printed
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
