"""A TCP proxy between a server and its PostgreSQL, which tests interrupt at a chosen moment.

Here: relaying bytes, breaking before a commit arrives or before its answer does, damage to what passes. Not here:
what must hold then.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Literal, assert_never
from urllib.parse import urlsplit

_CHUNK = 65_536
_DAMAGED_SHARE = 0.1
"""The share of the chunks that are damaged, while the network does damage."""

Damage = Literal["drop", "delay", "truncate", "duplicate"]
"""What happens to some chunks: lost, late by up to 0.2 s, cut in two and the connection with it, sent twice."""


class TcpProxy:
    """Relays connections to a database, on the loop that opened it. `url` leads to the database through it."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._broken = False
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._loses_answer_of: bytes | None = None
        self._damage: Damage | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()
        self.url = ""

    def cut(self) -> None:
        """Close every connection and refuse new ones."""
        self._broken = True
        for writer in self._writers:
            writer.transport.abort()

    def restore(self) -> None:
        self._broken = False

    def freeze(self) -> None:
        """Keep connections and accept new ones, but relay no bytes, as if the machine had stopped."""
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    def damage(self, kind: Damage | None) -> None:
        """From now on, do this to some of the chunks; None: to none."""
        self._damage = kind

    def cut_before_answer_of(self, words: bytes) -> None:
        """Close the connections when the database has answered a message with these words, and drop the answer."""
        self._loses_answer_of = words

    async def close(self) -> None:
        """Every connection ends, and nothing is relayed afterwards."""
        self.cut()
        self.thaw()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relay = asyncio.get_running_loop().create_task(self._relay(reader, writer))
        self._relays.add(relay)
        relay.add_done_callback(self._relays.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Raises ConnectionResetError if the connection is to end."""
        if self._damage is None or random.random() > _DAMAGED_SHARE:
            writer.write(data)
            return
        match self._damage:
            case "drop":
                return
            case "delay":
                await asyncio.sleep(random.uniform(0, 0.2))
                writer.write(data)
            case "duplicate":
                writer.write(data + data)
            case "truncate":
                writer.write(data[: len(data) // 2])
                raise ConnectionResetError
            case _:
                assert_never(self._damage)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while data := await reader.read(_CHUNK):
            await self._thawed.wait()
            if self._loses_answer_of is not None and self._loses_answer_of in data:
                self._loses_answer_of = None
                asked.set()
            await self._send(writer, data)
        writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        while data := await reader.read(_CHUNK):
            await self._thawed.wait()
            if asked.is_set():
                self.cut()
                return
            await self._send(writer, data)
        writer.close()


@asynccontextmanager
async def tcp_proxy_to(url: str) -> AsyncIterator[TcpProxy]:
    proxy = TcpProxy(url)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    proxy.url = url.replace(urlsplit(url).netloc.rpartition("@")[2], place)
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()


@contextmanager
def tcp_proxy_in_thread(url: str) -> Iterator[TcpProxy]:
    """A proxy for servers in other processes. Of its methods only `damage` may be called."""
    loop = asyncio.new_event_loop()
    opened: list[TcpProxy] = []
    is_open, is_done = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with tcp_proxy_to(url) as proxy:
            opened.append(proxy)
            is_open.set()
            await is_done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    is_open.wait()
    try:
        yield opened[0]
    finally:
        loop.call_soon_threadsafe(is_done.set)
        thread.join()
        loop.close()
