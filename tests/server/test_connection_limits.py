"""Callers that take more than their share of a server: of its memory, its connections, its time.

Each attack is run as it was found, over real sockets, against the limits that an operator can set.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
from collections.abc import Coroutine
from typing import Any

import uvloop

from keystead.server.http.caller_address import CallerAddresses
from keystead.server.http.messages import HttpAnswer, HttpRequest
from tests.support.hanging import PATIENCE_S
from tests.support.http_connections import REQUEST, listening, path_as_answer, plain_answer

LARGE = b"x" * 8_000_000
"""More than the system's buffers between two sockets take."""


def run(test: Coroutine[Any, Any, None]) -> None:
    """On the event loop that the server uses."""
    uvloop.run(test)


async def large_answer(_: HttpRequest) -> HttpAnswer:
    return plain_answer(LARGE)


def test_a_caller_that_never_reads_is_cut_off() -> None:
    async def attack() -> None:
        async with listening(large_answer, write_timeout_s=0.1) as server:
            _, writer = await server.connect()
            writer.write(REQUEST)
            await server.until(lambda: server.connections.bytes_held > 1_000_000)
            await server.until_closed()
            assert server.connections.bytes_held == 0

    run(attack())


def test_a_caller_that_reads_too_slowly_is_cut_off() -> None:
    """A byte now and then does not buy more time."""

    async def attack() -> None:
        async with listening(large_answer, write_timeout_s=0.3) as server:
            reader, writer = await server.connect()
            writer.write(REQUEST)

            async def drip() -> None:
                while await reader.read(1):  # noqa: ASYNC110 - the slowness is the attack
                    await asyncio.sleep(0.01)

            reading = asyncio.create_task(drip())
            await server.until(lambda: server.connections.bytes_held > 1_000_000)
            await server.until_closed()
            reading.cancel()
            assert server.connections.bytes_held == 0

    run(attack())


def test_a_caller_that_reads_steadily_gets_a_large_answer() -> None:
    async def call() -> None:
        async with listening(large_answer) as server:
            reader, writer = await server.connect()
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(len(LARGE)) == LARGE
            writer.write(REQUEST)
            await reader.readuntil(b"\r\n\r\n")
            assert server.connections.bytes_held > 0
            assert await reader.readexactly(len(LARGE)) == LARGE
            await server.until(lambda: server.connections.bytes_held == 0)

    run(call())


def test_requests_sent_ahead_wait_in_the_system_until_answers_are_read() -> None:
    async def attack() -> None:
        answered = 0

        async def count(_: HttpRequest) -> HttpAnswer:
            nonlocal answered
            answered += 1
            return plain_answer(LARGE)

        async with listening(count, write_timeout_s=0.5) as server:
            _, writer = await server.connect()
            writer.write(REQUEST * 200_000)
            await asyncio.sleep(0.2)
            assert answered == 1
            assert server.connections.bytes_held < len(LARGE) + 600_000
            await server.until_closed()
            assert (answered, server.connections.bytes_held) == (1, 0)

    run(attack())


def test_requests_sent_ahead_are_answered_in_order() -> None:
    async def call() -> None:
        async with listening() as server:
            reader, writer = await server.connect()
            paths = [b"/%d" % number for number in range(3_000)]
            writer.write(b"".join(REQUEST.replace(b"/ ", path + b" ") for path in paths))
            for path in paths:
                head = await reader.readuntil(b"\r\n\r\n")
                assert b"content-length: %d\r\n" % len(path) in head
                assert await reader.readexactly(len(path)) == path

    run(call())


def status_and_error(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    return int(head.split()[1]), json.loads(body)["message"]


def test_connections_in_all() -> None:
    async def attack() -> None:
        async with listening(connections_max=3) as server:
            opened = [await server.connect() for _ in range(3)]
            reader, writer = await server.connect()
            status, message = status_and_error(await reader.read())
            assert (status, message.startswith("the server has 3 open connections")) == (503, True)
            opened[0][1].close()
            await server.until_closed(2)
            reader, writer = await server.connect()
            writer.write(REQUEST)
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")

    run(attack())


def test_connections_of_one_address() -> None:
    async def attack() -> None:
        async with listening(connections_per_address_max=2, addresses=CallerAddresses()) as server:
            for _ in range(2):
                await server.connect()
            reader, _ = await server.connect()
            status, message = status_and_error(await reader.read())
            assert (status, message.startswith("2 connections are open from this address")) == (429, True)
            reader, writer = await server.connect("127.0.0.2")
            writer.write(REQUEST)
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")

    run(attack())


def test_a_proxy_stands_for_many_callers() -> None:
    async def call() -> None:
        network = ipaddress.ip_network("127.0.0.0/8")
        async with listening(connections_per_address_max=2, addresses=CallerAddresses(shared=(network,))) as server:
            for _ in range(10):
                reader, writer = await server.connect()
                writer.write(REQUEST)
                assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")

    run(call())


def test_memory_of_bodies_that_are_not_complete() -> None:
    async def attack() -> None:
        async with listening(connection_bytes_max=1_000_000) as server:
            callers = [await server.connect() for _ in range(4)]
            for _, writer in callers:
                writer.write(b"POST / HTTP/1.1\r\nContent-Length: 500000\r\n\r\n" + b"x" * 400_000)
                await writer.drain()
            refused = await asyncio.wait_for(
                asyncio.wait(
                    [asyncio.ensure_future(reader.read(4_096)) for reader, _ in callers],
                    return_when=asyncio.FIRST_COMPLETED,
                ),
                PATIENCE_S,
            )
            (first, *_) = refused[0]
            status, message = status_and_error(first.result())
            assert (status, "more than it has memory for" in message) == (503, True)
            assert server.connections.bytes_held <= 1_000_000
            for task in refused[1]:
                task.cancel()
            for _, writer in callers:
                writer.transport.abort()
            await server.until_closed()
            assert server.connections.bytes_held == 0

    run(attack())


def test_a_request_whose_caller_has_left_counts_until_it_is_answered() -> None:
    """Or a caller that leaves and comes again would have more requests under way than connections."""

    async def attack() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(request: HttpRequest) -> HttpAnswer:
            begun.set()
            await go_on.wait()
            return await path_as_answer(request)

        async with listening(slow) as server:
            _, writer = await server.connect()
            writer.write(REQUEST)
            await begun.wait()
            writer.transport.abort()
            await asyncio.sleep(0.02)
            assert len(server.connections) == 1
            go_on.set()
            await server.until_closed()

    run(attack())


def test_a_caller_that_sends_no_more_is_still_answered() -> None:
    async def call() -> None:
        async with listening() as server:
            reader, writer = await server.connect()
            writer.write(REQUEST * 2)
            writer.write_eof()
            assert (await reader.read()).count(b"HTTP/1.1 200 OK\r\n") == 2

    run(call())


def test_who_will_get_no_answer_does_not_wait_for_one() -> None:
    """As when a server stops that could not finish in time."""

    async def call() -> None:
        async def never(_: HttpRequest) -> HttpAnswer:
            await asyncio.Event().wait()
            raise AssertionError

        async with listening(never) as server:
            reader, writer = await server.connect()
            writer.write(REQUEST)
            await asyncio.sleep(0.02)
            await server.connections.stop(0.02)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            await server.until_closed()

    run(call())


def test_a_server_that_stops_answers_what_it_has_begun() -> None:
    async def call() -> None:
        async with listening() as server:
            reader, writer = await server.connect()
            idle, _ = await server.connect()
            writer.write(REQUEST[:10])
            await server.until(lambda: server.connections.bytes_held > 0)
            stopping = asyncio.create_task(server.connections.stop(10))
            assert await idle.read() == b""
            writer.write(REQUEST[10:])
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"connection: close\r\n" in answer
            await stopping

    run(call())
