"""Who may send requests to a development server. One check, before a request is routed.

- Every path: the Host header must name this server. A foreign page whose name resolves to this machine (DNS
  rebinding) has the same origin as the server, and is recognized by that name.
- The developer's controls, which reveal one-time codes and can change everything: programs on this machine, and
  pages that this server itself serves. Other pages are recognized by their Origin or Sec-Fetch-Site header. A
  change must also have a JSON content type and the header X-Keystead-Dev. For a page of another origin, a browser
  sends these only after a preflight, and this server answers no preflight for the controls.
- The console: programs, and pages that this server itself serves.
- The authentication proxy, which does what pages without a key ask for: programs, and pages of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.server.auth_proxy import PREFIX as AUTH_PROXY
from keystead.server.console.files import is_console
from keystead.server.http.loopback import (
    is_from_this_machine,
    is_of_local_page,
    is_of_own_page,
    names_this_server,
)
from keystead.server.http.messages import HttpRequest

PREFIX = "/dev/v1"
API = "/public/"
"""The API follows its CORS setting, as on any server, because its requests are signed."""
_BELOW = f"{PREFIX}/"

CHANGE_HEADER = b"x-keystead-dev"
"""The header that every change must have, with the value 1."""


def is_control(path: str) -> bool:
    return path == PREFIX or path.startswith(_BELOW)


def check_access(path: str, request: HttpRequest) -> None:
    """Raise PermissionDenied for a request that may not come in. `path`: of the request, with single slashes."""
    if not names_this_server(request):
        raise PermissionDenied(
            "header Host: a development server answers only at its own address, such as http://localhost:PORT; "
            "another name may be that of a foreign page"
        )
    if path.startswith(API):
        return
    if is_control(path):
        check_may_read(request)
    elif is_console(path) and not is_of_own_page(request):
        raise PermissionDenied(f"header Origin: {path[:200]} accepts requests only of pages of this server")
    elif path.startswith(AUTH_PROXY) and not is_of_local_page(request):
        raise PermissionDenied(
            "header Origin: the authentication proxy of a development server accepts only pages of this machine, "
            "such as http://localhost:3000, whatever its configuration allows; use keystead serve for others"
        )


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
