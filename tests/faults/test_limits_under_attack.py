"""A limit of a velocity control while servers are killed: exactly as much is signed as it allows, and nothing is
refused before.

`make test` runs it small. `make torture` runs it long: its environment variable TORTURE_ROUNDS is the number of
rounds with the whole limit, during which servers are killed every second.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.operations.test_signing_policies import call, ethereum
from tests.operations.test_velocity_controls import (
    ROUTER,
    USDC,
    Spender,
    authorization,
    on_token,
    pay,
    payee,
)
from tests.support.callers import SDK_FORM, Caller, now_ms
from tests.support.databases import SqliteDatabase
from tests.support.moved_clock import MovedClock
from tests.support.servers import Installation, Server

ROUNDS = int(os.environ.get("TORTURE_ROUNDS", "0"))
CALLERS = 16
CAP = 150 if ROUNDS else 40
KILLED_AFTER = (10, 20, 30)
"""In the small test: after how many signatures a server is killed, so that its speed makes no difference."""
WINDOW_S = 60

TRANSFER = "transfer(address,uint256)"
SOURCE = {
    "chainAssetTransfer": {
        "definition": [
            {"caip19": "eip155:1/slip44:60", "decimals": "0"},
            {"caip19": f"eip155:1/erc20:{USDC}", "decimals": "0"},
            {"caip19": f"eip155:1/erc20:{ROUTER}", "decimals": "0"},
        ]
    }
}
MOVES: Sequence[Callable[[], dict[str, Any]]] = (
    lambda: pay(1),
    lambda: on_token(TRANSFER, payee(), 1),
    lambda: ethereum(ROUTER, 0, call(TRANSFER, payee(), 1)),
    lambda: authorization("TransferWithAuthorization", payee(), 1),
)


class Attack:
    """Callers that send transfers of 1 through several servers until they are told that nothing is left."""

    def __init__(self, servers: Sequence[Server], spender: Spender, now_ms: Callable[[], int] = now_ms) -> None:
        self.servers = servers
        self.spender = spender
        self.now_ms = now_ms
        self.signed: list[str] = []
        self.during: list[tuple[int, int]] = []
        """For each signature, when it was asked for, and when it came. Its time in the counter is between them."""
        self.denials: list[Any] = []
        self.ended = threading.Event()

    def run(self, disturb: Callable[[Attack], None], until: Callable[[Attack], bool]) -> None:
        """`disturb` runs beside the callers. Each stops after a denial for which `until` is true."""
        with ThreadPoolExecutor(CALLERS + 1) as threads:
            disturbing = threads.submit(disturb, self)
            callers = [threads.submit(self._spend, number, until) for number in range(CALLERS)]
            try:
                for caller in callers:
                    caller.result()
            finally:
                self.ended.set()
            disturbing.result()

    def _spend(self, number: int, until: Callable[[Attack], bool]) -> None:
        chance = random.Random(number)
        while not self.ended.is_set():
            asked = chance.choice(MOVES)()
            name = "sign_transaction" if "unsignedTransaction" in asked else "sign_raw_payload"
            user, asked_ms = self.spender.user, self.now_ms()
            body = user.submit_body(name, {"signWith": self.spender.address, **asked})
            response = self._answer(chance, user, f"/public/v1/submit/{name}", body)
            if response.status_code == 200:
                self.signed.append(response.json()["activity"]["id"])
                self.during.append((asked_ms, self.now_ms()))
                continue
            assert response.status_code == 403, response.text
            self.denials.append(response.json()["details"][0]["velocityControls"][0])
            if until(self):
                return

    def _answer(self, chance: random.Random, user: Caller, path: str, body: bytes) -> httpx.Response:
        """The answer to these bytes, which are sent again, perhaps to another server, if none came."""
        while True:
            http = chance.choice(self.servers).http
            try:
                response = Caller(http, user.organization_id, user.user_id, user.key).post(path, body)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if response.status_code not in (409, 503):  # the server says that the same may be sent again
                return response

    def on_record(self) -> list[Any]:
        """The signatures on record, each with its time in milliseconds."""
        root, found, after = self.spender.root, [], None
        while True:
            paging = {"limit": "100"} | ({"after": after} if after else {})
            page = root.asked(
                "list_activities", SDK_FORM, filterByStatus=["ACTIVITY_STATUS_COMPLETED"], paginationOptions=paging
            )["activities"]
            found += [each for each in page if each["votes"][0]["userId"] == self.spender.user.user_id]
            if len(page) < 100:
                return found
            after = page[-1]["id"]


def kills(attack: Attack) -> None:
    """Kill a server, and start it again, several times."""
    chance, after = random.Random(1), list(KILLED_AFTER)
    while not attack.ended.is_set():
        if ROUNDS:
            attack.ended.wait(1)
        elif not after:
            return
        elif len(attack.signed) < after[0]:
            time.sleep(0.005)
            continue
        else:
            del after[0]
        server = chance.choice(attack.servers)
        server.kill()
        server.start()


@contextmanager
def several(
    installation: Installation, folder: Path, clock: MovedClock | None = None
) -> Iterator[Sequence[Server]]:
    """Two servers on SQLite, four on PostgreSQL."""
    count = 2 if isinstance(installation.database, SqliteDatabase) else 4
    servers = [Server(installation, folder / f"log-{number}", {}, clock) for number in range(count)]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.close()


@pytest.mark.parametrize("_round", range(ROUNDS or 1))
def test_exactly_the_limit_is_signed(_round: int, installation: Installation, tmp_path: Path) -> None:
    with several(installation, tmp_path) as servers:
        spender = Spender(servers[0].caller, SOURCE, threshold=str(CAP), window={"infinite": {}})
        attack = Attack(servers, spender)
        attack.run(kills, until=lambda _: True)
        assert {told["used"] for told in attack.denials} == {str(CAP)}, "something was refused before"
        assert len(set(attack.signed)) == CAP
        assert {each["id"] for each in attack.on_record()} == set(attack.signed)
        assert spender.used() == str(CAP)


@pytest.mark.parametrize("_round", range(ROUNDS or 1))
def test_a_rolling_window_while_the_clock_moves(_round: int, installation: Installation, tmp_path: Path) -> None:
    clock, chance = MovedClock(tmp_path / "clock"), random.Random(2)
    windows = 3

    def moves(attack: Attack) -> None:
        while not attack.ended.is_set():
            time.sleep(0.05)
            clock.advance(chance.randrange(WINDOW_S // 10))
            if ROUNDS and chance.random() < 0.05:
                server = chance.choice(attack.servers)
                server.kill()
                server.start()

    with several(installation, tmp_path, clock) as servers:
        window = {"rolling": {"duration": str(WINDOW_S)}}
        spender = Spender(servers[0].caller, SOURCE, threshold=str(CAP), window=window)
        spender.user = Caller(
            servers[0].http, spender.user.organization_id, spender.user.user_id, spender.user.key, clock.now_ms
        )
        attack = Attack(servers, spender, clock.now_ms)
        attack.run(moves, until=lambda attack: len(attack.signed) > windows * CAP)
        assert {told["used"] for told in attack.denials} == {str(CAP)}, "something was refused before"
        assert len(attack.on_record()) == len(set(attack.signed)) == len(attack.during) > windows * CAP
        for begins_ms, _ in attack.during:
            ends_ms = begins_ms + WINDOW_S * 1000
            assert sum(begins_ms <= asked and came < ends_ms for asked, came in attack.during) <= CAP
