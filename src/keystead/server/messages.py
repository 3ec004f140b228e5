"""A request and an answer, as connection and application exchange them.

Here: plain values. Not here: bytes on the wire (`request_parser`, `connection`), the answers (`application`).
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import ServiceError

Header = tuple[bytes, bytes]
"""A name in lower case and a value, both without surrounding white space."""


class HttpRequest(msgspec.Struct, kw_only=True):
    """One complete request. `path` is without the query and still percent-encoded.

    `client`: the address of the other end of the connection. `limit_key`: see `Connections.limit_key`. `refusal`:
    the connection refuses the request with this error; then method, path and headers are what was read so far.
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
    """`headers` include the content length and no header about the connection. `close`: end the connection
    afterwards."""

    status: int
    headers: list[Header]
    body: bytes
    close: bool = False


def one_slash(path: str) -> str:
    """The path with single slashes. Clients that join a base address ending in / with a path send //public/…"""
    while "//" in path:
        path = path.replace("//", "/")
    return path
