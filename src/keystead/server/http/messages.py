"""A request and an answer, as connection and application exchange them.

Here: plain values. Not here: bytes on the wire (`request_parser`, `connection`), the answers (`application`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.errors import ServiceError
from keystead.api.secret_fields import repr_without_contents
from keystead.primitives.ip_addresses import IpAddress

Header = tuple[bytes, bytes]
"""A name in lower case and a value, both without surrounding white space."""

JSON: Final[Header] = (b"content-type", b"application/json")


class CallerAddress(msgspec.Struct, frozen=True):
    """Who makes a request. `text` is for the log: the caller's address, or the proxy's if the caller's is unknown.

    `limit_key` is the key of limits per address: the IPv4 address, or the IPv6 network of 64 bits, which usually
    belongs to one caller. "": no limits, because the address stands for many callers or is not known.
    """

    text: str = ""
    address: IpAddress | None = None
    limit_key: str = ""


class HttpRequest(msgspec.Struct, kw_only=True):
    """One complete request. `path` is without the query, with single slashes, and still percent-encoded.

    `refusal`: the connection refuses the request with this error. Then method, path and headers hold only what was
    read so far.
    """

    method: str = ""
    path: str = ""
    headers: list[Header] = msgspec.field(default_factory=list)
    body: bytes = b""
    keep_alive: bool = False
    client: CallerAddress = CallerAddress()
    refusal: ServiceError | None = None

    __repr__ = repr_without_contents


class HttpAnswer(msgspec.Struct, frozen=True):
    """`headers` without those that the connection adds: the date, the content length, whether it ends. `close`: end
    the connection afterwards."""

    status: int
    headers: list[Header]
    body: bytes
    close: bool = False

    __repr__ = repr_without_contents
