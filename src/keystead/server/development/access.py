"""Who may send requests to a development server. One check, before a request is routed.

- Every path: the Host header must name this server. A foreign page whose name resolves to this machine (DNS
  rebinding) has the same origin as the server, and is recognized by that name.
- The developer's controls, which reveal one-time codes and can change everything: programs on this machine, and
  pages that this server itself serves. Other pages are recognized by their Origin or Sec-Fetch-Site header. A
  change must also have a JSON content type and the header X-Keystead-Dev. For a page of another origin, a browser
  sends these only after a preflight, and this server answers no preflight for the controls.
- The console: programs, and pages that this server itself serves.
- The authentication proxy, which does what pages without a key ask for: programs, and pages of this machine.
- The API: programs, pages of this machine, and the origins that its CORS setting names. Its requests are signed,
  but everybody has the keys of a server that was started without `--fresh`, also a page of the web.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from keystead.api.developer_controls import PREFIX
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.server.auth_proxy import PREFIX as AUTH_PROXY
from keystead.server.console.files import is_console
from keystead.server.http import loopback
from keystead.server.http.messages import HttpRequest

API = "/public/"
_BELOW = f"{PREFIX}/"

CHANGE_HEADER = b"x-keystead-dev"
"""The header that every change must have, with the value 1."""


def is_control(path: str) -> bool:
    return path == PREFIX or path.startswith(_BELOW)


def check_access(path: str, request: HttpRequest, origins: Container[bytes] = ()) -> None:
    """Raise PermissionDenied for a request that may not come in. `path`: of the request, with single slashes.
    `origins`: of other machines, whose pages may call the API."""
    if not loopback.names_this_server(request):
        raise PermissionDenied(
            "header Host: a development server answers only at its own address, such as http://localhost:PORT; "
            "another name may be that of a foreign page"
        )
    if path.startswith(API):
        _check_may_call(request, origins)
    elif is_control(path):
        check_may_read(request)
    elif is_console(path) and not loopback.is_of_own_page(request):
        raise PermissionDenied(f"header Origin: {path[:200]} accepts requests only of pages of this server")
    elif path.startswith(AUTH_PROXY) and not loopback.is_of_local_page(request):
        raise PermissionDenied(
            "header Origin: the authentication proxy of a development server accepts only pages of this machine, "
            "such as http://localhost:3000, whatever its configuration allows; use keystead serve for others"
        )


def _check_may_call(request: HttpRequest, origins: Container[bytes]) -> None:
    if not loopback.is_of_local_page(request) and loopback.origin_of(request) not in origins:
        raise PermissionDenied(
            "header Origin: a development server accepts only pages of this machine, such as "
            "http://localhost:3000; name other origins in KEYSTEAD_CORS_ORIGINS"
        )


def check_may_read(request: HttpRequest) -> None:
    """Raise PermissionDenied unless the caller is a program on this machine, or a page of this server."""
    site = dict(request.headers).get(b"sec-fetch-site", b"none").lower()
    if not (
        loopback.is_of_own_page(request)
        and site in (b"none", b"same-origin")
        and loopback.is_from_this_machine(request)
    ):
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
