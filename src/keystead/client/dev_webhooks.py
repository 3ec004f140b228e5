"""The webhooks that a development server sent, with the result of each attempt.

Not here: the developer's other controls (`dev_controls`), the server's half.
"""

from __future__ import annotations

import time

import httpx
import msgspec

from keystead.api.developer_controls import WEBHOOKS, SentWebhook, SentWebhooks


class DevWebhooks:
    """The webhooks of the server at `base_url`. `http`: the client that sends the requests.

    Every method raises httpx.HTTPError if the server does not answer, or is not a development server.
    """

    def __init__(self, base_url: str, http: httpx.Client) -> None:
        self._url = base_url + WEBHOOKS.path
        self._http = http

    def sent(self, endpoint_id: str | None = None) -> list[SentWebhook]:
        """The newest thousand attempts, or those of them to one endpoint; oldest first.

        The endpoint of the older feature (FEATURE_NAME_WEBHOOK) has the id of its organization."""
        answer = self._http.get(self._url).raise_for_status()
        webhooks = msgspec.json.decode(answer.content, type=SentWebhooks).webhooks
        return [webhook for webhook in webhooks if endpoint_id in (None, webhook.endpoint_id)]

    def wait_for(self, activity_id: str, *, count: int = 1, timeout_s: float = 10.0) -> SentWebhook:
        """The newest attempt with an event of this activity, once there are `count` of them. Raises
        TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(webhooks := [sent for sent in self.sent() if sent.activity["id"] == activity_id]) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{len(webhooks)} of {count} webhooks of activity {activity_id} after {timeout_s:g} s"
                )
            time.sleep(0.02)
        return webhooks[-1]
