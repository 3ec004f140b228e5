"""`keystead dev` as a process, with any options. Not here: `keystead serve` (`servers`)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_LIMIT_S = 60


@dataclass
class Started:
    """A `keystead dev`. `credentials` is where it wrote the keys."""

    process: subprocess.Popen[bytes]
    credentials: Path
    log: Path

    @property
    def base_url(self) -> str:
        base_url: str = json.loads(self.credentials.read_text())["baseUrl"]
        return base_url

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def wait_for(self, text: str) -> None:
        """Until it has printed this."""
        deadline = time.monotonic() + START_LIMIT_S
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)


@contextmanager
def dev(folder: Path, *options: str) -> Iterator[Started]:
    """In this folder, on a free port, its credentials in `keys.json`."""
    started = folder / "keys.json", folder / "log"
    command = [sys.executable, "-m", "keystead", "dev", "--port", "0", "--credentials", "keys.json", *options]
    with started[1].open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    deadline = time.monotonic() + START_LIMIT_S
    try:
        while not started[0].exists():
            assert process.poll() is None, started[1].read_text()
            assert time.monotonic() < deadline, started[1].read_text()
            time.sleep(0.02)
        yield Started(process, *started)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)
