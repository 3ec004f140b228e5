"""Who may use the developer's controls: programs on this machine, and pages that this server itself serves.

Other pages in a browser on this machine may not, because the controls reveal one-time codes and can change
everything. A page of another origin is recognized by its Origin or Sec-Fetch-Site header. A foreign name that
resolves to 127.0.0.1 (DNS rebinding) is recognized by its Host header. A change must also have a JSON content type
and the header X-Keystead-Dev. For a page of another origin, a browser sends these only after a preflight, and this
server answers no preflight for the controls.
"""

from __future__ import annotations

from collections.abc import Mapping

from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.server.http_messages import HttpRequest
from keystead.server.loopback import is_from_this_machine, is_of_own_page

PREFIX = "/dev/v1"
_BELOW = f"{PREFIX}/"

CHANGE_HEADER = b"x-keystead-dev"
"""The header that every change must have, with the value 1."""


def is_control(path: str) -> bool:
    return path == PREFIX or path.startswith(_BELOW)


def check_may_read(request: HttpRequest) -> None:
    """Raise PermissionDenied unless the caller is a program on this machine, or a page of this server."""
    site = dict(request.headers).get(b"sec-fetch-site", b"none").lower()
    if not (is_of_own_page(request) and site in (b"none", b"same-origin") and is_from_this_machine(request)):
        raise PermissionDenied(
            f"{request.path[:200]} accepts requests only from this machine, at "
            f"http://localhost:PORT{request.path[:200]}"
        )


def check_may_change(request: HttpRequest) -> None:
    """Raise PermissionDenied as `check_may_read`, InvalidRequest if the two headers of a change are missing."""
    check_may_read(request)
    headers: Mapping[bytes, bytes] = dict(request.headers)
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != b"application/json":
        raise InvalidRequest("header Content-Type: expected application/json")
    if headers.get(CHANGE_HEADER) != b"1":
        raise InvalidRequest("header X-Keystead-Dev: expected 1; every change by a developer's control needs it")
