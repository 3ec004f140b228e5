"""A server without sockets, on the event loop of the test, for tests that use its parts or its clock.

Not here: servers as they are run (`servers`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from keystead.server.application import Application
from keystead.server.http.messages import HttpRequest
from keystead.server.service import Service
from keystead.server.settings.settings import AllSettings
from tests.support.servers import Installation


class ApplicationTransport(httpx.AsyncBaseTransport):
    """Passes a client's requests to an application, as a connection does."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        body = await request.aread()
        path = request.url.raw_path.partition(b"?")[0].decode("ascii")
        answer = await self._application.answer(
            HttpRequest(method=request.method, path=path, headers=headers, body=body)
        )
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


@asynccontextmanager
async def serving(installation: Installation, key_file: Path, **limits: Any) -> AsyncIterator[httpx.AsyncClient]:
    """`limits`: the settings of limits that differ from their defaults."""
    settings = AllSettings(
        database_url=installation.database.url,
        mode=installation.mode,
        master_key_file=str(key_file),
        log_requests=False,
        **limits,
    )
    service = Service(settings)
    await service.open()
    try:
        transport = ApplicationTransport(Application(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://keystead") as http:
            yield http
    finally:
        await service.close()
