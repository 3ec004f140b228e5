"""Whether a request was made on this machine, by its address and its host, and by a page of the server.

The host is checked too: a page whose foreign name resolves to this machine (DNS rebinding) sends that foreign name.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from keystead.server.http_messages import HttpRequest

_LOCAL_NAMES: Final = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})


def is_from_this_machine(request: HttpRequest) -> bool:
    """Whether the request came over loopback and names a local host, with or without a port."""
    host = dict(request.headers).get(b"host", b"")
    before, colon, port = host.rpartition(b":")
    name = before if colon and not port.endswith(b"]") else host
    return _is_loopback(request.client.text) and name.lower() in _LOCAL_NAMES


def is_of_own_page(request: HttpRequest) -> bool:
    """Whether a page of this server made the request, or no page.

    A port speaks http or https, never both. So a page with the server's host and port is the server's in both.
    """
    headers = dict(request.headers)
    scheme, _, host = headers.get(b"origin", b"").lower().partition(b"://")
    return not scheme or (scheme in (b"http", b"https") and host == headers.get(b"host", b"").lower())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
