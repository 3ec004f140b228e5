"""POST /dev/v1/console-login: the request of the page behind the link that `keystead dev` prints.

A link works once, on this machine. Here: the answer to its secret, a stamped `stamp_login` of the development user,
which the console then submits. Not here: printing the link (`cli.development.banner`), the console's files
(`keystead.console`).
"""

from __future__ import annotations

import hmac
import secrets
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.client.credentials import Credentials
from keystead.console import CONSOLE_PATH
from keystead.server.http.loopback import is_from_this_machine, is_of_own_page
from keystead.server.http.messages import HttpRequest
from keystead.stamps.signing import ApiKeyStamper

PATH: Final = "/dev/v1/console-login"
SESSION_SECONDS: Final = 86_400


class _LoginRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`public_key`: the key that the browser made, P-256, compressed, in hex."""

    secret: Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9_-]*\Z")]
    public_key: Annotated[str, Meta(max_length=200)]


class _StampedLogin(msgspec.Struct, rename="camel"):
    """A request to send as it is: `body` to `path`, with `stamp` in the header X-Stamp."""

    path: str
    body: str
    stamp: str


class ConsoleLink:
    """The secret of one link, and the user that it logs in. The secret is not in the repr."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._secret = secrets.token_urlsafe(32)
        self._is_used = False

    def url(self, base_url: str) -> str:
        """The link. Its secret is in the fragment, which browsers send to nobody."""
        return f"{base_url}{CONSOLE_PATH}#login={self._secret}"

    def answer(self, request: HttpRequest, now_ms: int) -> bytes:
        """A stamped login, as JSON, once. `now_ms`: the server's time. Raises PermissionDenied, InvalidRequest."""
        headers = dict(request.headers)
        if not (is_from_this_machine(request) and is_of_own_page(request)):
            raise PermissionDenied(f"{PATH} accepts only requests of the console on this machine")
        if headers.get(b"content-type", b"").partition(b";")[0].strip() != b"application/json":
            raise InvalidRequest("expected the header Content-Type: application/json")
        try:
            login = msgspec.json.decode(request.body, type=_LoginRequest)
        except msgspec.DecodeError as refused:
            raise InvalidRequest(f"invalid request body: {refused}") from None
        if self._is_used or not hmac.compare_digest(login.secret.encode(), self._secret.encode()):
            raise PermissionDenied(
                "this link was used before, or is from an earlier start; restart keystead dev for a new link, or "
                "log in with the file credentials.json of its data folder"
            )
        self._is_used = True
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
