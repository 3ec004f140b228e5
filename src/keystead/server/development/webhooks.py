"""/dev/v1/webhooks: the webhooks that were sent recently, with the result of each attempt.

Not here: sending them (`delivery.webhooks`).
"""

from __future__ import annotations

from collections import deque

from keystead.api.developer_controls import WEBHOOKS, SentWebhook, SentWebhooks, WebhooksUpdate
from keystead.server.bounds import WEBHOOKS_SEEN_BYTES_MAX, WEBHOOKS_SEEN_MAX
from keystead.server.development.control import ServedControl


class WebhooksSeen:
    def __init__(self) -> None:
        self._seen: deque[SentWebhook] = deque()
        self._bytes = 0

    def add(self, sent: SentWebhook) -> None:
        self._seen.append(sent)
        self._bytes += len(sent.body)
        while len(self._seen) > WEBHOOKS_SEEN_MAX or (
            self._bytes > WEBHOOKS_SEEN_BYTES_MAX and len(self._seen) > 1
        ):
            self._bytes -= len(self._seen.popleft().body)

    def clear(self) -> None:
        self._seen.clear()
        self._bytes = 0

    def state(self) -> SentWebhooks:
        return SentWebhooks(webhooks=tuple(self._seen))

    async def change(self, change: WebhooksUpdate) -> SentWebhooks:
        if change.clear:
            self.clear()
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=WEBHOOKS, read=self.state, change=self.change)
