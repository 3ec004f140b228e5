"""The web console: files that a browser gets below /console/, and the headers that confine them.

Here: the files, read once, and the ways to log in that an operator names. The console is a client of the public
API: nothing here reads or changes records.
Not here: the route (`server.application`), the link that logs in (`server.console.link`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec

CONSOLE_PATH: Final = "/console/"

_CONTENT_TYPES: Final = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
    ".json": b"application/json",
}

SECURITY_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)
"""Scripts and styles come from this origin's files only, no text becomes markup or a script, no page frames it."""


class ConsoleFile(msgspec.Struct, frozen=True):
    """`etag` is the hash of the content, in quotes, as the header has it."""

    content: bytes
    content_type: bytes
    etag: bytes


class OidcLogin(msgspec.Struct, frozen=True):
    """An OpenID Connect issuer. `name`: for people. `url`: its authorization endpoint, with `client_id`."""

    name: str
    url: str


class ConsoleLogins(msgspec.Struct, frozen=True, rename="camel"):
    """How people without a passkey or key log in. `auth_proxy_id`: the authentication proxy; "" for none.
    `invites_by_email`: the server sends the links of invitations."""

    auth_proxy_id: str = ""
    oidc: tuple[OidcLogin, ...] = ()
    invites_by_email: bool = False


def console_files(*, is_development: bool, logins: ConsoleLogins) -> Mapping[str, ConsoleFile]:
    """The files by their path below /console/; the page itself is at "", `logins` at "logins.json".

    `is_development`: the page shows the screens that only `keystead dev` answers.
    """
    files_by_path = {
        path: _file(path, source.read_bytes()) for path, source in _sources(files(__name__) / "static", "")
    }
    page = files_by_path.pop("index.html")
    mode = b"dev" if is_development else b"serve"
    return {
        **files_by_path,
        "": _file("index.html", page.content.replace(b'data-mode=""', b'data-mode="%s"' % mode)),
        "logins.json": _file("logins.json", msgspec.json.encode(logins)),
    }


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, f"{path}/")
        elif _suffix(path) in _CONTENT_TYPES:
            yield path, entry


def _file(path: str, content: bytes) -> ConsoleFile:
    return ConsoleFile(content, _CONTENT_TYPES[_suffix(path)], b'"%s"' % sha256(content).hexdigest()[:32].encode())


def _suffix(path: str) -> str:
    return path[path.rfind(".") :]
