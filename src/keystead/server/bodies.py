"""A request's body, whole, within its limits of size and time; or read past, where it is too large."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from keystead.api.errors import RequestTimeout, TooLarge

Receive = Callable[[], Awaitable[dict[str, Any]]]


class Disconnected(Exception):
    """The caller went away before the body was complete; nobody is left to answer."""


async def read_body(receive: Receive, announced: int | None, bytes_max: int, timeout_s: float) -> bytes:
    """The body. `announced` is its Content-Length, None where it comes in chunks.

    Raises TooLarge, RequestTimeout, Disconnected.
    """
    if announced is not None and announced > bytes_max:
        raise too_large(bytes_max)
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(receive, bytes_max)
    except TimeoutError:
        raise RequestTimeout(f"the request's body was not complete within {timeout_s:g} s") from None


async def _read(receive: Receive, bytes_max: int) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message["body"]
        if len(body) > bytes_max:
            raise too_large(bytes_max)
        return body
    return await _read_rest(receive, message, bytes_max)


async def _read_rest(receive: Receive, message: dict[str, Any], bytes_max: int) -> bytes:
    parts = bytearray()
    while True:
        if message["type"] != "http.request":
            raise Disconnected
        parts += message.get("body", b"")
        if len(parts) > bytes_max:
            raise too_large(bytes_max)
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()


async def read_past(receive: Receive, timeout_s: float) -> None:
    """Take the rest of a body that is refused, until it ends or the time is over: a client that sends everything
    before it reads would otherwise find the connection broken and never see the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass


def too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the request's body is larger than {bytes_max} bytes")
