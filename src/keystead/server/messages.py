"""A request and an answer, as the connection and the application hand them to each other.

Here: plain values. Not here: bytes on the wire (`request_parser`, `connection`), what is answered (`application`).
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import ServiceError

Header = tuple[bytes, bytes]
"""A name in lower case and a value, both without the white space around them."""


class HttpRequest(msgspec.Struct, kw_only=True):
    """One request, whole. `path` is what stands before the query, with its percent signs as they were sent.

    `client` is the address that the connection comes from, `limit_key` what limits per address count by, "" for an
    address that stands for many callers. `refusal` is set where the connection already knows that the request
    is to be refused; then method, path and headers are what was read until then.
    """

    method: str = ""
    path: str = ""
    headers: list[Header] = msgspec.field(default_factory=list)
    body: bytes = b""
    keep_alive: bool = False
    client: str = ""
    limit_key: str = ""
    refusal: ServiceError | None = None


class HttpAnswer(msgspec.Struct, frozen=True):
    """`headers` have the content's length, and nothing about the connection, which `close` ends."""

    status: int
    headers: list[Header]
    body: bytes
    close: bool = False
