"""/dev/v1/webhooks: the webhooks that were sent recently, with the result of each attempt.

Not here: sending them (`delivery.webhooks`).
"""

from __future__ import annotations

from collections import deque

from keystead.api.developer_controls import WEBHOOKS, SentWebhook, SentWebhooks, WebhooksUpdate
from keystead.server.development.control import ServedControl

WEBHOOKS_MAX = 1_000
BYTES_MAX = 16_777_216
"""The most bytes of the bodies that are kept. The newest webhook is always kept."""


class WebhooksSeen:
    def __init__(self) -> None:
        self._seen: deque[SentWebhook] = deque()
        self._bytes = 0

    def add(self, sent: SentWebhook) -> None:
        self._seen.append(sent)
        self._bytes += len(sent.body)
        while len(self._seen) > WEBHOOKS_MAX or (self._bytes > BYTES_MAX and len(self._seen) > 1):
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
