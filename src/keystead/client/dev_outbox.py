"""The messages that a development server kept instead of sending them.

Not here: the developer's other controls (`dev_controls`), the server's half.
"""

from __future__ import annotations

import time
from functools import partial

import httpx
import msgspec

from keystead.api.developer_controls import OUTBOX, OutboxAnswer, SentMessage
from keystead.client.certificates import certificates_for


class DevelopmentOutbox:
    """The outbox of the server at `base_url`. `http`: the client that sends the requests; without one, each request
    makes its own.

    Every method raises httpx.HTTPError if the server does not answer, or is not a development server.
    """

    def __init__(self, base_url: str, http: httpx.Client | None = None) -> None:
        self._url = base_url + OUTBOX.path
        # A proxy of the environment cannot reach this machine.
        verify = certificates_for(base_url, is_direct=True)
        self._get = partial(httpx.get, trust_env=False, verify=verify) if http is None else http.get

    def messages(self, recipient: str | None = None) -> list[SentMessage]:
        """All messages, or those to one e-mail address or phone number; oldest first."""
        answer = self._get(self._url, timeout=10).raise_for_status()
        messages = [entry.message for entry in msgspec.json.decode(answer.content, type=OutboxAnswer).messages]
        return [
            message for message in messages if recipient is None or message.recipient.lower() == recipient.lower()
        ]

    def wait_for(self, recipient: str, *, count: int = 1, timeout_s: float = 10.0) -> SentMessage:
        """The newest message to a recipient, once there are `count` of them. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(messages := self.messages(recipient)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(messages)} of {count} messages to {recipient} after {timeout_s:g} s")
            time.sleep(0.02)
        return messages[-1]

    def code(self, recipient: str, *, count: int = 1) -> str:
        """The one-time code in the newest message to a recipient; see `wait_for`."""
        return self.wait_for(recipient, count=count).secret
