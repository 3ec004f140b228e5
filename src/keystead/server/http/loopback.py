"""Whether a request was made on this machine, by its address, its host and its origin.

The host is checked too: a page whose foreign name resolves to this machine (DNS rebinding) sends that foreign name.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from keystead.server.http.messages import HttpRequest


def is_from_this_machine(request: HttpRequest) -> bool:
    """Whether the request came over loopback and names a local host, with or without a port."""
    return _is_loopback(request.client.text) and _is_local(host_of(request))


def names_this_server(request: HttpRequest) -> bool:
    """Whether the request names a host that no foreign page can take for its own name.

    These are: local names; addresses; names under .internal, such as host.docker.internal, which the public DNS
    does not have; and for other machines (`keystead dev --allow-remote`) names without a dot, as containers have.
    """
    host = _host_in(b"//" + dict(request.headers).get(b"host", b""))
    if host == "localhost" or host.endswith((".localhost", ".internal")) or _is_address(host):
        return True
    return bool(host) and "." not in host and not _is_loopback(request.client.text)


def is_of_own_page(request: HttpRequest) -> bool:
    """Whether a page of this server made the request, or no page.

    A port speaks http or https, never both. So a page with the server's host and port is the server's in both.
    """
    headers = dict(request.headers)
    scheme, _, host = headers.get(b"origin", b"").lower().partition(b"://")
    return not scheme or (scheme in (b"http", b"https") and host == headers.get(b"host", b"").lower())


def is_of_local_page(request: HttpRequest) -> bool:
    """Whether a page of this machine made the request, or a page of the host that the request names, or no page.
    The port makes no difference."""
    origin = origin_of(request)
    host = _host_in(origin)
    return not origin or _is_local(host) or (bool(host) and host == host_of(request))


def origin_of(request: HttpRequest) -> bytes:
    """The origin of the page that made the request; "" if no page made it."""
    return dict(request.headers).get(b"origin", b"")


def host_of(request: HttpRequest) -> str:
    """The host that the request names, in lower case, without its port; "" if it names none."""
    return _host_in(b"//" + dict(request.headers).get(b"host", b""))


def _host_in(url: bytes) -> str:
    try:
        return urlsplit(url.decode("latin-1")).hostname or ""
    except ValueError:
        return ""


def _is_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost") or _is_loopback(host)


def _is_loopback(address: str) -> bool:
    return _is_address(address) and ipaddress.ip_address(address).is_loopback


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Whether only this machine reaches this address. Of names, localhost alone counts as such."""
    return name == "localhost" or _is_loopback(name)
