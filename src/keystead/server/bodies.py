"""A request's body, whole, within its limits of size and time."""

from __future__ import annotations

import asyncio
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
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                body: bytes = message["body"]
                if len(body) > bytes_max:
                    raise too_large(bytes_max)
                return body
            return await _read_rest(receive, message, bytes_max)
    except TimeoutError:
        raise RequestTimeout(f"the request's body was not complete within {timeout_s:g} s") from None


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


def too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the request's body is larger than {bytes_max} bytes")
