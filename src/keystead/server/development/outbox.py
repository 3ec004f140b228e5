"""GET /dev/v1/outbox: the messages that a development server keeps in place of sending them.

Not here: keeping the messages (`delivery.kept`), who may read them (`access`).
"""

from __future__ import annotations

import msgspec

from keystead.api.developer_controls import OutboxAnswer
from keystead.delivery.kept import KeptMessages
from keystead.server.development.access import check_may_read
from keystead.server.http.messages import HttpRequest


async def outbox_answer(kept: KeptMessages, request: HttpRequest) -> bytes:
    """The messages as JSON, oldest first: {"messages": [{"sentAtMs", "message"}]}. Raises PermissionDenied, and
    Unavailable while the database or the signer does not answer."""
    check_may_read(request)
    return msgspec.json.encode(OutboxAnswer(messages=tuple(await kept.all())))
