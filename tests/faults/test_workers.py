"""Several worker processes on one port: they stop together, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from keystead.keys import master_key
from keystead.server.workers import PAUSE_S
from tests.conftest import MakeDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.load import NO_TAG_LIMIT, Load, check_record
from tests.support.servers import Installation, Server, bootstrap_installation

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")


def worker_ids(server: Server) -> list[int]:
    return server.children(b"keystead.server.workers")


@pytest.fixture
def installation(make_postgres: MakeDatabase) -> Iterator[Installation]:
    made = bootstrap_installation(make_postgres())
    yield made
    made.database.close()


def test_several_do_not_serve_a_sqlite_file(make_sqlite: MakeDatabase, tmp_path: Path) -> None:
    key_file = tmp_path / "master.key"
    made = bootstrap_installation(make_sqlite())
    made.database.close()
    master_key.create(key_file, made.master_key)
    settings = {
        "KEYSTEAD_DATABASE_URL": made.database.url,
        "KEYSTEAD_MASTER_KEY_FILE": str(key_file),
        "KEYSTEAD_WORKERS": "2",
    }
    refused = subprocess.run(
        [Path(sys.executable).parent / "keystead", "serve"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert refused.returncode != 0
    assert "--workers (KEYSTEAD_WORKERS) is 2, but only one process can serve a SQLite file" in refused.stderr
    assert "PostgreSQL" in refused.stderr


def test_workers(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation, workers=2, **NO_TAG_LIMIT)
    first, second = worker_ids(server)
    load = Load([server.caller], threads=4)
    with load:
        load.wait_for(20)
        os.kill(first, signal.SIGKILL)
        while len(alive := worker_ids(server)) < 2 or first in alive:
            time.sleep(0.05)
    with httpx.Client(base_url=server.base_url, timeout=PATIENCE_S) as fresh:
        assert fresh.get("/readyz").status_code == 200
    assert second in worker_ids(server)
    load.send_unanswered_again(server.caller)
    with load:
        load.wait_for(20)
        server.interrupt()
    assert server.wait() == 0
    assert load.refused == []
    check_record(installation.database, installation.organization_id, load.acknowledged)


def test_workers_end_with_their_parent(installation: Installation, start: Callable[..., Server]) -> None:
    """Also one that was started a moment ago in place of another."""
    server = start(installation, workers=2)
    first, second = worker_ids(server)
    time.sleep(PAUSE_S)  # a worker that ends sooner is not replaced at once
    os.kill(first, signal.SIGKILL)
    while not (replacements := set(worker_ids(server)) - {first, second}):
        time.sleep(0.002)
    server.kill()
    left = {second, *replacements}
    while any(Path(f"/proc/{pid}").exists() and _state(pid) != "Z" for pid in left):
        time.sleep(0.02)
    with pytest.raises(httpx.TransportError):
        server.http.get("/healthz")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
