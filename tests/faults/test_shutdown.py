"""SIGTERM under load: every accepted request is answered, then the process ends with 0 and its port is free."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from tests.support.hanging import PATIENCE_S
from tests.support.load import NO_TAG_LIMIT, Load, check_record
from tests.support.servers import Installation, Server


def test_sigterm_under_load(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation, **NO_TAG_LIMIT)
    load = Load([server.caller])
    with load:
        load.wait_for(100)
        server.interrupt()
    assert server.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))
    assert load.refused == []
    # What came to pass was told to somebody: no answer got lost on the way.
    assert installation.database.counts()["activity"] == len(load.acknowledged)
    check_record(installation.database, installation.organization_id, load.acknowledged)
    assert [line for line in server.log_lines() if line["level"] == "error"] == []


def test_sigterm_in_the_middle_of_a_request(installation: Installation, start: Callable[..., Server]) -> None:
    """A request whose body is still on its way is waited for and answered."""
    server = start(installation)
    caller = server.caller
    body = caller.query_body()
    headers = "".join(f"{name}: {value}\r\n" for name, value in caller.stamped(body).items())
    head = f"POST /public/v1/query/whoami HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(head.encode() + body[:10])
        assert caller.ask("whoami").status_code == 200  # by now the server has read the part above
        server.interrupt()
        while _accepts(server.port):
            pass
        connection.sendall(body[10:])
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert caller.user_id.encode() in answer
    assert server.wait() == 0


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    except ConnectionResetError:  # accepted by the system while the server closed
        return True
    return True


def test_sigterm_with_idle_connections(installation: Installation, start: Callable[..., Server]) -> None:
    server = start(installation)
    with socket.create_connection(("127.0.0.1", server.port)) as idle:
        assert server.stop() == 0
        assert idle.recv(1) == b""
