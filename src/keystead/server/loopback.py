"""Whether a request was made on this machine, by its address and the host that it names.

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
    return is_loopback(request.client.text) and name.lower() in _LOCAL_NAMES


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches this address. Of names, localhost alone counts as such."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
