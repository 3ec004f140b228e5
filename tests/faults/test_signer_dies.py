"""kill -9 of the signer under load, again and again: each wallet is made once or not at all."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from keystead.server.limits.once_per_second import KEPT_S
from tests.support.callers import Caller, answered
from tests.support.hanging import PATIENCE_S
from tests.support.servers import SIGNER, Installation, Server, bootstrap_installation

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

PATH = "/public/v1/submit/create_wallet"
ACCOUNT = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}


_numbers = itertools.count()


class WalletLoad:
    """Threads that make wallets, each with bodies of their own, until told to stop."""

    def __init__(self, caller: Caller, threads: int = 6) -> None:
        self._caller = caller
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._make) for _ in range(threads)]
        self.answers: list[tuple[bytes, httpx.Response]] = []

    def __enter__(self) -> WalletLoad:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, count: int) -> None:
        enough, deadline = len(self.answers) + count, time.monotonic() + PATIENCE_S
        while len(self.answers) < enough:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def _make(self) -> None:
        while not self._stop.is_set():
            parameters = {"walletName": f"wallet {next(_numbers)}", "accounts": [ACCOUNT]}
            body = self._caller.submit_body("create_wallet", parameters)
            self.answers.append((body, self._caller.post(PATH, body)))


def new_signer(server: Server, dead: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while dead in (alive := server.children(SIGNER)) or not alive:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("engine", "workers"), [("sqlite", 1), ("postgres", 1), ("postgres", 2)])
def test_kill_in_a_loop(
    engine: str, workers: int, request: pytest.FixtureRequest, start: Callable[..., Server]
) -> None:
    installation = bootstrap_installation(request.getfixturevalue(f"make_{engine}")())
    server = start(installation, workers=workers)
    pid, rounds = server.pid, 4
    with WalletLoad(server.caller) as load:
        for _ in range(rounds):
            load.wait_for(15)
            dead = server.signer_pid
            os.kill(dead, signal.SIGKILL)
            new_signer(server, dead)
            load.wait_for(15)
    assert server.pid == pid
    assert len(load.answers) >= rounds * 30
    made: dict[bytes, str] = {}
    for body, response in load.answers:
        # What could not be done while the signer was away says so, and is done when it is sent again.
        assert response.status_code in (200, 503), response.text
        again = answered(server.caller.post(PATH, body))["activity"]
        assert again["status"] == "ACTIVITY_STATUS_COMPLETED"
        if response.status_code == 200:
            assert response.json()["activity"]["id"] == again["id"]
            assert response.json()["activity"]["result"] == again["result"]
        made[body] = again["result"]["createWalletResult"]["walletId"]
    assert len(set(made.values())) == len(made)
    counts = installation.database.counts()
    assert counts["activity"] == counts["sealed_secret"] == counts["wallet_account"] == len(made)
    check_wallets(installation, made)
    installation.database.close()


def check_wallets(installation: Installation, made: dict[bytes, str]) -> None:
    """Every wallet on record is the one that was answered, and its secret is there, once."""
    sealed = installation.database.rows("SELECT record_id FROM sealed_secret")
    records = installation.database.rows("SELECT id FROM record WHERE kind = 'wallet'")
    assert sorted(row[0] for row in sealed) == sorted(row[0] for row in records) == sorted(made.values())


def test_readiness_waits_for_the_signer(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation)
    os.kill(server.signer_pid, signal.SIGKILL)
    time.sleep(KEPT_S)  # so long the last check counts
    assert server.is_ready()  # as soon as there is one again
    assert server.signer_pid
