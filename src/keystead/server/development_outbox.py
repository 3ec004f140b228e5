"""GET /dev/v1/outbox: what a development server kept in place of sending it. Nobody but this machine may ask.

Not here: keeping the messages (`delivery.kept`).
"""

from __future__ import annotations

import msgspec

from keystead.api.errors import PermissionDenied
from keystead.delivery.kept import KeptMessages
from keystead.server.loopback import is_from_this_machine
from keystead.server.messages import HttpRequest

PATH = "/dev/v1/outbox"


async def outbox_answer(kept: KeptMessages, request: HttpRequest) -> bytes:
    """The messages as JSON, oldest first: {"messages": [{"sentAtMs", "message"}]}. Raises PermissionDenied, and
    Unavailable while the database or the signer does not answer.

    A page in this machine's browser is refused too: the messages hold codes.
    """
    if not is_from_this_machine(request) or b"origin" in dict(request.headers):
        raise PermissionDenied(
            f"{PATH} is answered to programs on this machine only, at http://localhost:PORT{PATH}"
        )
    return msgspec.json.encode({"messages": await kept.all()})
