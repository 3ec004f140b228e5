"""HTTP requests to identity providers: which addresses are allowed, and how much of an answer is read.

Not here: the requests (`discovery`, `oauth2`).
"""

from __future__ import annotations

import functools
import ssl
from typing import Final

import httpx

from keystead.identities.bounds import ANSWER_BYTES_MAX

ANSWERS_WITHIN_S: Final = 10.0
"""Time limit for all answers of one provider that one request to this server needs."""


LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts for which http:// is allowed, because the traffic stays on this machine."""

FAILURES: Final = (httpx.HTTPError, httpx.InvalidURL, UnicodeError, TimeoutError)
"""The errors of a request other than BadAnswer."""


class BadAnswer(Exception):
    """An answer cannot be used. The message is for the log and the caller. `status`: the HTTP status of an
    unsuccessful answer, otherwise 0."""

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status


def check_address(url: str, *, with_query: bool = False) -> None:
    """Raise ValueError unless this is an https URL, or an http URL of this machine, without user and fragment."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError(f"{url[:200]!r} is not a URL") from None
    schemes = ("https", "http") if parsed.host in LOOPBACK else ("https",)
    if parsed.port is not None and not 0 < parsed.port < 65_536:
        raise ValueError(f"{url[:200]!r}: expected a port from 1 to 65535")
    if parsed.scheme not in schemes or not parsed.host or parsed.userinfo:
        raise ValueError(f"{url[:200]!r}: expected https://HOST… without a user")
    if parsed.fragment or (parsed.query and not with_query):
        raise ValueError(f"{url[:200]!r}: expected a URL without query and fragment")


def web_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """A client that follows no redirects and accepts no compressed answers. `transport` is for tests."""
    return httpx.AsyncClient(
        verify=_tls(),
        transport=transport,
        follow_redirects=False,
        timeout=ANSWERS_WITHIN_S,
        headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "keystead"},
    )


@functools.cache
def _tls() -> ssl.SSLContext:
    """Created once, because reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()


async def fetch(http: httpx.AsyncClient, request: httpx.Request) -> tuple[bytes, httpx.Headers]:
    """Send a request. Returns the body and headers of a successful answer, whose size is checked while it arrives.
    Raises BadAnswer, or one of FAILURES."""
    answer = await http.send(request, stream=True)
    try:
        if answer.status_code != httpx.codes.OK:
            raise BadAnswer(f"it answered with status {answer.status_code}", answer.status_code)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise BadAnswer("it answered in a content encoding that was not requested")
        body = bytearray()
        async for chunk in answer.aiter_raw():
            body += chunk
            if len(body) > ANSWER_BYTES_MAX:
                raise BadAnswer(f"its answer is longer than {ANSWER_BYTES_MAX} bytes")
        return bytes(body), answer.headers
    finally:
        await answer.aclose()


def failure_reason(failed: Exception) -> str:
    """Why a request failed, for a message. `failed`: a BadAnswer, or one of FAILURES."""
    if isinstance(failed, BadAnswer):
        return str(failed)
    if isinstance(failed, TimeoutError | httpx.TimeoutException):
        return "it did not answer in time"
    return "it cannot be reached" if isinstance(failed, httpx.TransportError) else "its address is malformed"
