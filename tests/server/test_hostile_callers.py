"""Attacks by callers without a stamp on a running server: it answers, its log stays short, others are served."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from keystead.api.errors import Unavailable
from keystead.keys import master_key
from keystead.server.limits.once_per_second import OncePerSecond
from keystead.server.service import Service
from keystead.stamps.signing import generate_api_key
from tests.conftest import MakeDatabase
from tests.support.callers import refusal
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.servers import Installation, Server, bootstrap_installation, running

WHOAMI = "/public/v1/query/whoami"
HEAD = b"POST " + WHOAMI.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
OFFER = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


@pytest.fixture(scope="module")
def strict(make_sqlite: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that takes no address for a proxy's."""
    installation = bootstrap_installation(make_sqlite())
    settings = {"proxy_networks": "", "failures_per_address": 5, "connections_per_address_max": 20}
    with running(installation, tmp_path_factory.mktemp("strict") / "log", settings) as server:
        yield server
    installation.database.close()


@pytest.fixture
def fresh(make_sqlite: MakeDatabase, start: Callable[..., Server]) -> Iterator[Server]:
    """A server with a log of its own."""
    installation = bootstrap_installation(make_sqlite())
    yield start(installation)
    installation.database.close()


def test_a_thousand_offers_of_another_protocol(fresh: Server) -> None:
    """Sent ahead in one piece. They once ended in a RecursionError and 34 MB of log."""
    request = OFFER + b"Content-Length: 2\r\n\r\n{}"
    with socket.create_connection(("127.0.0.1", fresh.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request * 999 + request.replace(b"Upgrade, ", b"Upgrade, close, "))
        answers = b"".join(iter(lambda: connection.recv(1_000_000), b""))
    assert answers.count(b"HTTP/1.1 401 ") == 1_000
    assert fresh.caller.ask("whoami").status_code == 200
    assert fresh.log.stat().st_size < 1_000_000
    assert [line for line in fresh.log_lines() if line["level"] not in ("info", "warning")] == []


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_connections_that_never_read_give_back_what_they_took(
    make_sqlite: MakeDatabase, start: Callable[..., Server]
) -> None:
    """They were never closed, and each held 29 MiB for 256 KiB of requests sent ahead, without a stamp."""
    installation = bootstrap_installation(make_sqlite())
    server = start(installation, write_timeout_s=1)
    assert server.http.get("/openapi.json").status_code == 200
    before = resident_bytes(server)
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with contextlib.ExitStack() as attack:
        connections = [attack.enter_context(socket.socket()) for _ in range(100)]
        for connection in connections:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", server.port))
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.send(request * 5_000)
        assert server.caller.ask("whoami").status_code == 200
        assert resident_bytes(server) < before + 200_000_000
        while any(is_established(connection) for connection in connections):
            time.sleep(0.05)
        assert server.caller.ask("whoami").status_code == 200
    installation.database.close()


def is_established(connection: socket.socket) -> bool:
    """Whether the other side has closed neither direction, nor reset the connection."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == b"\x01"


def resident_bytes(server: Server) -> int:
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("size", [1, 1_000], ids="{} bytes at once".format)
def test_an_offer_that_asks_to_close(size: int, sqlite_server: Server) -> None:
    """`Connection: close, Upgrade` once lost its close."""
    request = HEAD + b"Connection: close, Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}"
    with socket.create_connection(("127.0.0.1", sqlite_server.port), timeout=PATIENCE_S) as connection:
        for at in range(0, len(request), size):
            connection.sendall(request[at : at + size])
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert b"connection: close\r\n" in answer


def test_chunks_in_http_1_0(sqlite_server: Server) -> None:
    request = HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", sqlite_server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert "Transfer-Encoding in HTTP/1.0" in json.loads(body)["message"]


@pytest.mark.parametrize(
    "path", ["/public/v1%2fquery/whoami", "/public/v1/query%2Fwhoami", "/public/v1/query/who%61mi"]
)
def test_paths_are_not_decoded(path: str, sqlite_server: Server) -> None:
    """A filter of paths in front of the server sees the path that the server sees."""
    caller = sqlite_server.caller
    response = caller.http.post(
        httpx.URL(sqlite_server.base_url).copy_with(raw_path=path.encode()), content=caller.query_body()
    )
    assert refusal(response) == (404, f"no such path: {path}")


def test_a_malformed_request_is_one_line_in_the_log(fresh: Server) -> None:
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", fresh.port), timeout=PATIENCE_S) as connection:
            connection.sendall(b"STEAL / HTTP/1.1\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")
    fresh.request_line(fresh.http.get("/healthz"))
    others = [line for line in fresh.log_lines() if line.get("path") not in ("/readyz", "/healthz")]
    assert [line["status"] for line in others if "status" in line] == [400] * 10
    assert {line["level"] for line in others} == {"info"}


def test_callers_that_leave_before_their_answer(fresh: Server) -> None:
    caller = fresh.caller
    body = caller.query_body()
    stamp = "".join(f"{name}: {value}\r\n" for name, value in caller.stamped(body).items()).encode()
    request = HEAD + stamp + b"Content-Length: %d\r\n\r\n" % len(body) + body
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", fresh.port), timeout=PATIENCE_S) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            connection.sendall(request * 20)
    assert caller.ask("whoami").status_code == 200
    assert "traceback" not in fresh.log.read_text().lower()
    assert [line for line in fresh.log_lines() if line["level"] != "info"] == []


def from_address(server: Server, address: str) -> httpx.Client:
    return httpx.Client(
        base_url=server.base_url, timeout=PATIENCE_S, transport=httpx.HTTPTransport(local_address=address)
    )


def test_an_address_whose_requests_fail(strict: Server) -> None:
    """Its stamps are no longer verified, its log lines are few, and other addresses are served."""
    with from_address(strict, "127.0.0.2") as attacker, from_address(strict, "127.0.0.3") as other:
        stranger = strict.installation.caller(attacker).with_key(generate_api_key())
        body = stranger.query_body()
        headers = stranger.stamped(body)
        responses = [attacker.post(WHOAMI, content=body, headers=headers) for _ in range(200)]
        statuses = [response.status_code for response in responses]
        assert statuses[:5] == [401] * 5
        assert statuses.count(429) > 100
        refused = next(response for response in responses if response.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["details"][0]["turnkeyErrorCode"] == "RATE_LIMIT_EXCEEDED"
        caller = strict.installation.caller(other)
        assert [caller.ask("whoami").status_code for _ in range(20)] == [200] * 20
        assert attacker.get("/healthz").status_code == 200
    lines = [line for line in strict.log_lines() if line.get("client") == "127.0.0.2"]
    assert len(lines) < 60


def test_connections_of_one_address_over_http(strict: Server) -> None:
    opened = [
        socket.create_connection(("127.0.0.1", strict.port), source_address=("127.0.0.4", 0)) for _ in range(20)
    ]
    with socket.create_connection(("127.0.0.1", strict.port), source_address=("127.0.0.4", 0)) as one_more:
        one_more.settimeout(60)
        answer = b"".join(iter(lambda: one_more.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 429 ")
    with from_address(strict, "127.0.0.5") as other:
        assert strict.installation.caller(other).ask("whoami").status_code == 200
    for connection in opened:
        connection.close()


def test_the_log_names_the_client_and_where_the_server_listens(fresh: Server) -> None:
    assert fresh.request_line(fresh.caller.ask("whoami"))["client"] == "127.0.0.1"
    assert f"listening on 127.0.0.1:{fresh.port}" in {line["event"] for line in fresh.log_lines()}


class TestPagesThatCostTheSigner:
    """/readyz and /bundle-signer, which need no stamp: many callers share one call of the signer."""

    @pytest.mark.parametrize(("path", "name"), [("/readyz", "readyz"), ("/bundle-signer", "bundle_signer")])
    def test_over_http(
        self, path: str, name: str, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls, find = 0, getattr(Service, name)

        async def counted(service: Service) -> bytes:
            nonlocal calls
            calls += 1
            found: bytes = await find(service)
            return found

        monkeypatch.setattr(Service, name, counted)
        key_file = tmp_path / "master.key"
        master_key.create(key_file, installation.master_key)

        async def run() -> None:
            async with serving(installation, key_file) as http:
                begun_s = time.monotonic()
                for _ in range(50):
                    assert (await http.get(path)).status_code == 200
                assert 1 <= calls <= 1 + (time.monotonic() - begun_s)

        asyncio.run(run())

    def test_callers_share_a_check(self) -> None:
        checks = 0

        async def check() -> bytes:
            nonlocal checks
            checks += 1
            await asyncio.sleep(0.01)
            return b"ready"

        async def call() -> None:
            readiness = OncePerSecond(check)
            answers = await asyncio.gather(*[readiness.answer() for _ in range(100)])
            assert (answers, await readiness.answer(), checks) == ([b"ready"] * 100, b"ready", 1)

        asyncio.run(call())

    def test_so_they_do_a_failure(self) -> None:
        checks = 0

        async def check() -> bytes:
            nonlocal checks
            checks += 1
            raise Unavailable("not ready")

        async def call() -> None:
            readiness = OncePerSecond(check)
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await readiness.answer()
            assert checks == 1

        asyncio.run(call())

    def test_a_failure_is_kept_although_something_has_failed(self) -> None:
        """Every refusal of /readyz notes a failure of the database itself."""
        checks = 0

        async def check() -> bytes:
            nonlocal checks
            checks += 1
            raise Unavailable("not ready")

        async def call() -> None:
            readiness = OncePerSecond(check)
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await readiness.answer()
                readiness.forget()
            assert checks == 1

        asyncio.run(call())

    def test_a_caller_that_leaves_does_not_end_the_check(self) -> None:
        async def check() -> bytes:
            await asyncio.sleep(0.01)
            return b"ready"

        async def call() -> None:
            readiness = OncePerSecond(check)
            leaves = asyncio.create_task(readiness.answer())
            stays = asyncio.create_task(readiness.answer())
            await asyncio.sleep(0)
            leaves.cancel()
            assert await stays == b"ready"

        asyncio.run(call())

    def test_what_began_before_a_failure_is_not_kept(self) -> None:
        """Its own callers get it; callers after the failure do not, neither while it runs nor later."""
        outcomes = iter((b"before the failure", b"after it"))
        ends = asyncio.Event()

        async def check() -> bytes:
            outcome = next(outcomes)
            if outcome == b"before the failure":
                await ends.wait()
            return outcome

        async def call() -> None:
            readiness = OncePerSecond(check)
            early = asyncio.create_task(readiness.answer())
            await asyncio.sleep(0)
            readiness.forget()
            later = asyncio.create_task(readiness.answer())
            await asyncio.sleep(0)
            ends.set()
            assert (await early, await later) == (b"before the failure", b"after it")
            assert await readiness.answer() == b"after it"

        asyncio.run(call())
