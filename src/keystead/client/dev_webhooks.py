"""The webhooks that a development server sent, with the result of each attempt.

Not here: the developer's other controls (`dev_controls`), the server's half.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
import msgspec


class SentWebhook(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An attempt to deliver an event. `sent_at_ms`: milliseconds since the epoch. `body`: the JSON that was sent.

    `organization_id`: of the endpoint. `verdict`: accepted, refused (a final answer), or later (another attempt
    follows). `status`: of the answer, 0 if there was none; then `reason` says why.
    """

    sent_at_ms: int
    endpoint_id: str
    organization_id: str
    url: str
    headers: dict[str, str]
    body: str
    verdict: str
    status: int
    reason: str

    @property
    def activity(self) -> dict[str, Any]:
        """The activity in the body."""
        activity: dict[str, Any] = msgspec.json.decode(self.body)
        return activity


class _Webhooks(msgspec.Struct, frozen=True):
    webhooks: tuple[SentWebhook, ...]


class DevWebhooks:
    """The webhooks of the server at `base_url`. `http`: the client that sends the requests.

    Every method raises httpx.HTTPError if the server does not answer, or is not a development server.
    """

    def __init__(self, base_url: str, http: httpx.Client) -> None:
        self._url = f"{base_url}/dev/v1/webhooks"
        self._http = http

    def sent(self, endpoint_id: str | None = None) -> list[SentWebhook]:
        """The newest thousand attempts, or those of them to one endpoint; oldest first.

        The endpoint of the older feature (FEATURE_NAME_WEBHOOK) has the id of its organization."""
        answer = self._http.get(self._url).raise_for_status()
        webhooks = msgspec.json.decode(answer.content, type=_Webhooks).webhooks
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
