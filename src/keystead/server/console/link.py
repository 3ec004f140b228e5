"""Links that log in to the console of `keystead dev`: POST /dev/v1/console-link makes one, and the page behind it
sends POST /dev/v1/console-login.

A link works once, on this machine. Who asks for one has the development key, and stamps the request with it. Here:
both answers. The answer to the secret of a link is a stamped `stamp_login` of the development user, which the
console then submits. Not here: printing links (`cli.banner`, `cli.console`), the console's files
(`keystead.console`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.errors import InvalidRequest, PermissionDenied, Unauthenticated
from keystead.client.credentials import Credentials
from keystead.console import CONSOLE_PATH
from keystead.server.http.loopback import is_from_this_machine, is_of_own_page
from keystead.server.http.messages import HttpRequest
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.signing import ApiKeyStamper

PATH: Final = "/dev/v1/console-login"
NEW_LINK_PATH: Final = "/dev/v1/console-link"
SESSION_SECONDS: Final = 86_400

LINKS_MAX: Final = 100
"""Most links that are not used yet. A further one takes the place of the oldest."""

ASKED_WITHIN_MS: Final = 60_000
"""How far the time in a request for a link may be from the server's."""


class _LoginRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`public_key`: the key that the browser made, P-256, compressed, in hex."""

    secret: Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9_-]*\Z")]
    public_key: Annotated[str, Meta(max_length=200)]


class _NewLinkRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`timestamp_ms`: the caller's time, in milliseconds since the epoch."""

    timestamp_ms: int


class _StampedLogin(msgspec.Struct, rename="camel"):
    """A request to send as it is: `body` to `path`, with `stamp` in the header X-Stamp."""

    path: str
    body: str
    stamp: str


class _NewLink(msgspec.Struct, rename="camel"):
    url: str


class ConsoleLink:
    """The secrets of the links that are not used yet, and the user whom they log in. No secret is in the repr."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._secrets: list[str] = []

    def url(self, base_url: str) -> str:
        """A new link. Its secret is in the fragment, which browsers send to nobody."""
        self._secrets = [*self._secrets[1 - LINKS_MAX :], secrets.token_urlsafe(32)]
        return f"{base_url}{CONSOLE_PATH}#login={self._secrets[-1]}"

    def answer_new_link(self, request: HttpRequest, times_ms: Sequence[int]) -> bytes:
        """A new link, as JSON, for the holder of the development key. `times_ms`: times that count as now. Raises
        Unauthenticated, PermissionDenied, InvalidRequest."""
        if not (is_from_this_machine(request) and is_of_own_page(request)):
            raise PermissionDenied(f"{NEW_LINK_PATH} accepts only requests from this machine")
        stamp = read_stamp(dict(request.headers).get(b"x-stamp", b""))
        verify_stamp(stamp, request.body)
        if stamp.public_key != self._credentials.api_public_key:
            raise Unauthenticated(
                f"{NEW_LINK_PATH}: expected the stamp of the development key, as in the file credentials.json"
            )
        asked = _decoded(request, _NewLinkRequest)
        if all(abs(now_ms - asked.timestamp_ms) > ASKED_WITHIN_MS for now_ms in times_ms):
            raise InvalidRequest("invalid request body: field `timestampMs`: too far from the server's time")
        return msgspec.json.encode(_NewLink(self.url(self._credentials.base_url)))

    def answer(self, request: HttpRequest, now_ms: int) -> bytes:
        """A stamped login, as JSON, once. `now_ms`: the server's time. Raises PermissionDenied, InvalidRequest."""
        if not (is_from_this_machine(request) and is_of_own_page(request)):
            raise PermissionDenied(f"{PATH} accepts only requests of the console on this machine")
        login = _decoded(request, _LoginRequest)
        known = [one for one in self._secrets if hmac.compare_digest(login.secret.encode(), one.encode())]
        if not known:
            raise PermissionDenied(
                "this link was used before, or is from an earlier start; keystead console prints a new one, or log "
                "in with the file credentials.json of its data folder"
            )
        self._secrets.remove(known[0])
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
        return "ConsoleLink()"


_RequestT = TypeVar("_RequestT", bound=msgspec.Struct)


def _decoded(request: HttpRequest, type_: type[_RequestT]) -> _RequestT:
    """The body of a request. Raises InvalidRequest."""
    if dict(request.headers).get(b"content-type", b"").partition(b";")[0].strip() != b"application/json":
        raise InvalidRequest("expected the header Content-Type: application/json")
    try:
        return msgspec.json.decode(request.body, type=type_)
    except msgspec.DecodeError as refused:
        raise InvalidRequest(f"invalid request body: {refused}") from None
