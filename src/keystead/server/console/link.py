"""The links that open the console of a development server, logged in.

A link works once, on this machine. Here: POST /dev/v1/console-login, the request of the page behind a link: its
answer is a stamped `stamp_login` of the development user, which the console then submits; and POST
/dev/v1/console-link, which makes another link for a caller with the user's key. Not here: printing a link
(`cli.development`), the console's files (`keystead.console`).
"""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.client.credentials import Credentials
from keystead.console import CONSOLE_PATH
from keystead.server.bounds import CONSOLE_LINKS_MAX
from keystead.server.http.loopback import is_from_this_machine, is_of_own_page
from keystead.server.http.messages import HttpRequest
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.signing import ApiKeyStamper

LOGIN_PATH: Final = "/dev/v1/console-login"
LINK_PATH: Final = "/dev/v1/console-link"
LINK_REQUEST: Final = b'{"consoleLink":true}'
"""The body of the request for another link, which the user's key stamps."""

SESSION_SECONDS: Final = 86_400


class _LoginRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`public_key`: the key that the browser made, P-256, compressed, in hex."""

    secret: Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9_-]*\Z")]
    public_key: Annotated[str, Meta(max_length=200)]


class _NewLink(msgspec.Struct):
    """`link`: what follows the server's address."""

    link: str


class _StampedLogin(msgspec.Struct, rename="camel"):
    """A request to send as it is: `body` to `path`, with `stamp` in the header X-Stamp."""

    path: str
    body: str
    stamp: str


class ConsoleLinks:
    """The secrets of the links that were not used, and the user that they log in. No secret is in the repr."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._unused: deque[str] = deque(maxlen=CONSOLE_LINKS_MAX)

    def new_link(self) -> str:
        """Another link, without the server's address. Its secret is in the fragment, which browsers send to
        nobody."""
        self._unused.append(secrets.token_urlsafe(32))
        return f"{CONSOLE_PATH}#login={self._unused[-1]}"

    def answer(self, path: str, request: HttpRequest, now_ms: int) -> bytes:
        """The answer to a POST at one of the two paths. `now_ms`: the server's time. Raises PermissionDenied,
        InvalidRequest, Unauthenticated."""
        headers = dict(request.headers)
        if not (is_from_this_machine(request) and is_of_own_page(request)):
            raise PermissionDenied(f"{path} accepts only requests of the console on this machine")
        if headers.get(b"content-type", b"").partition(b";")[0].strip() != b"application/json":
            raise InvalidRequest("expected the header Content-Type: application/json")
        if path == LINK_PATH:
            return self._answer_link(headers.get(b"x-stamp", b"").decode("latin-1"), request.body)
        return self._answer_login(request, now_ms)

    def _answer_link(self, stamp_header: str, body: bytes) -> bytes:
        stamp = read_stamp(stamp_header)
        verify_stamp(stamp, body)
        if stamp.public_key != self._credentials.api_public_key or body != LINK_REQUEST:
            raise PermissionDenied(f"{LINK_PATH}: stamp {LINK_REQUEST.decode()} with the key in credentials.json")
        return msgspec.json.encode(_NewLink(link=self.new_link()))

    def _answer_login(self, request: HttpRequest, now_ms: int) -> bytes:
        try:
            login = msgspec.json.decode(request.body, type=_LoginRequest)
        except msgspec.DecodeError as refused:
            raise InvalidRequest(f"invalid request body: {refused}") from None
        given = login.secret.encode()
        if not any(hmac.compare_digest(given, secret.encode()) for secret in self._unused):
            raise PermissionDenied(
                "this link was used before, or is from an earlier start; `keystead console` prints a new one, or "
                "log in with the file credentials.json of the server's data folder"
            )
        self._unused.remove(login.secret)
        return msgspec.json.encode(self._stamped_login(login.public_key, now_ms))

    def _stamped_login(self, public_key: str, now_ms: int) -> _StampedLogin:
        body = msgspec.json.encode(
            {
                "type": "ACTIVITY_TYPE_STAMP_LOGIN",
                "timestampMs": str(now_ms),
                "organizationId": self._credentials.organization_id,
                "parameters": {"publicKey": public_key, "expirationSeconds": str(SESSION_SECONDS)},
            }
        )
        stamper = ApiKeyStamper(self._credentials.api_public_key, self._credentials.api_private_key)
        _, stamp = stamper.stamp(body)
        return _StampedLogin(path="/public/v1/submit/stamp_login", body=body.decode(), stamp=stamp)

    def __repr__(self) -> str:
        return "ConsoleLinks()"
