"""A server without sockets, on the event loop of the test: where a test reaches into it, or waits by its clock.

Not here: servers as they are run (`servers`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from keystead.server.application import Application
from keystead.server.service import Service
from keystead.server.settings import Settings
from tests.support.servers import Installation


@asynccontextmanager
async def serving(installation: Installation, key_file: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(database_url=installation.database.url, master_key_file=str(key_file), log_requests=False)
    service = Service(settings)
    await service.open()
    try:
        transport = httpx.ASGITransport(Application(service))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://keystead") as http:
            yield http
    finally:
        await service.close()
