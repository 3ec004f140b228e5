"""Several worker processes on one port: they stop together, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.load import NO_TAG_LIMIT, Load, check_record
from tests.support.servers import Installation, Server

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")


def worker_ids(server: Server) -> list[int]:
    return server.children(b"keystead.server.workers")


def test_workers(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation, workers=2, **NO_TAG_LIMIT)
    first, second = worker_ids(server)
    load = Load([server.caller], threads=4)
    with load:
        load.wait_for(20)
        os.kill(first, signal.SIGKILL)
        while len(alive := worker_ids(server)) < 2 or first in alive:
            time.sleep(0.05)
    with httpx.Client(base_url=server.base_url) as fresh:
        assert fresh.get("/readyz").status_code == 200
    assert second in worker_ids(server)
    load.send_unanswered_again(server.caller)
    with load:
        load.wait_for(20)
        server.interrupt()
    assert server.wait() == 0
    assert load.refused == []
    check_record(installation.database, installation.organization_id, load.acknowledged)
