"""The line between a server and its PostgreSQL, as something that can break at a chosen moment.

Here: relaying bytes, breaking before a commit arrives or before its answer does. Not here: what must hold then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

_CHUNK = 65_536


class TcpProxy:
    """Relays connections to a database, on the loop that opened it. `url` leads to the database through it."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._broken = False
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._loses_answer_of: bytes | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""

    def cut(self) -> None:
        """Every connection ends, and no new one comes about."""
        self._broken = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._broken = False

    def freeze(self) -> None:
        """Connections stay, new ones come about, and no byte passes any more: as of a machine that stands still."""
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    def cut_before_answer_of(self, words: bytes) -> None:
        """As soon as the database has answered a message with these words, and before anybody hears it."""
        self._loses_answer_of = words

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._broken:
            writer.transport.abort()
            return
        ends = {writer}
        self._writers |= ends
        await self._thawed.wait()
        host, port = self._parts.hostname, self._parts.port
        there_reader, there_writer = await asyncio.open_connection(host, port)
        ends |= {there_writer}
        self._writers |= ends
        asked = asyncio.Event()
        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.gather(self._ask(reader, there_writer, asked), self._answer(there_reader, writer, asked))
        self._writers -= ends
        for end in ends:
            end.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while data := await reader.read(_CHUNK):
            await self._thawed.wait()
            if self._loses_answer_of is not None and self._loses_answer_of in data:
                self._loses_answer_of = None
                asked.set()
            writer.write(data)
        writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        while data := await reader.read(_CHUNK):
            await self._thawed.wait()
            if asked.is_set():
                self.cut()
                return
            writer.write(data)
        writer.close()


@asynccontextmanager
async def tcp_proxy_to(url: str) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(url)
    server = await asyncio.start_server(proxy.relay, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    proxy.url = url.replace(urlsplit(url).netloc.rpartition("@")[2], place)
    try:
        yield proxy
    finally:
        proxy.cut()
        proxy.thaw()
        server.close()
