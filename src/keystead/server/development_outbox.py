"""GET /dev/v1/outbox: what a development server kept in place of sending it. Nobody but this machine may ask.

Not here: keeping the messages (`delivery.kept`).
"""

from __future__ import annotations

import ipaddress

import msgspec

from keystead.api.errors import PermissionDenied
from keystead.delivery.kept import KeptMessages
from keystead.server.messages import HttpRequest

PATH = "/dev/v1/outbox"

_LOCAL_NAMES = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})


async def outbox_answer(kept: KeptMessages, request: HttpRequest) -> bytes:
    """The messages as JSON, oldest first: {"messages": [{"sentAtMs", "message"}]}. Raises PermissionDenied, and
    Unavailable while the database or the signer does not answer.

    A page in this machine's browser is refused too: the messages hold codes.
    """
    headers = dict(request.headers)
    host = headers.get(b"host", b"").rpartition(b":")
    name = host[0] if host[1] and not host[2].endswith(b"]") else host[2]
    if not _is_loopback(request.client) or name.lower() not in _LOCAL_NAMES or b"origin" in headers:
        raise PermissionDenied(
            f"{PATH} is answered to programs on this machine only, at http://localhost:PORT{PATH}"
        )
    return msgspec.json.encode({"messages": await kept.all()})


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
