"""An answered request leaves no cycles of objects behind, which only the garbage collector would find."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import httpx

from keystead.keys import master_key
from keystead.server.application import Application
from keystead.server.http.connection import HttpConnection
from keystead.server.http.connections import Connections
from keystead.server.http.listening import connection_limits
from keystead.server.service import Service
from keystead.server.settings.settings import Settings
from tests.support.callers import Caller, unique
from tests.support.servers import Installation

REQUESTS = 60
"""How many requests of each kind there are."""


def queries(caller: Caller) -> bytes:
    return _framed("/public/v1/query/list_wallets", caller, caller.query_body())


def submissions(caller: Caller) -> bytes:
    body = caller.submit_body("create_user_tag", {"userTagName": unique("tag"), "userIds": []})
    return _framed("/public/v1/submit/create_user_tag", caller, body)


def refusals(caller: Caller) -> bytes:
    return _framed("/public/v1/query/list_wallets", caller, caller.query_body(unheard="of"))


def _framed(path: str, caller: Caller, body: bytes) -> bytes:
    headers = {"Host": "localhost", "Content-Length": str(len(body))} | caller.stamped(body)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def test_requests_leave_no_cycles(installation: Installation, tmp_path: Path) -> None:
    """A cycle keeps a request and its body until the search for cycles, some thousand requests later, which then
    stops all others for tens of milliseconds."""
    key_file = tmp_path / "master.key"
    master_key.create(key_file, installation.master_key)
    with httpx.Client() as unused:
        caller = installation.caller(unused)
        kinds = {
            kind.__name__: [kind(caller) for _ in range(REQUESTS)] for kind in (queries, submissions, refusals)
        }

    async def left_behind() -> dict[str, int]:
        settings = Settings(
            database_url=installation.database.url, master_key_file=str(key_file), log_requests=False
        )
        service = Service(settings)
        await service.open()
        application, connections = Application(service), Connections(connection_limits(settings))
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: HttpConnection(connections, application.answer), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.sockets[0].getsockname()[1])
        found = {}
        for name, requests in kinds.items():
            for number, request in enumerate(requests):
                if number == REQUESTS // 2:  # what is made once, and stays, has been made
                    gc.collect()
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            collected = gc.collect()
            # Each collection counts what other tests left and no collection can free, a class of msgspec for one.
            found[name] = collected - gc.collect()
        writer.close()
        await writer.wait_closed()
        while connections:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)
        listening.close()
        await service.close()
        return found

    gc.disable()
    try:
        found = asyncio.run(left_behind())
    finally:
        gc.enable()
    assert found == dict.fromkeys(kinds, 0)
