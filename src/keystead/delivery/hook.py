"""Sends messages as signed POST requests to the operator's own HTTPS address, for e-mail and SMS.

The operator can use any provider behind this address. Not here: webhooks to customers of the API."""

from __future__ import annotations

import hmac
from collections.abc import Callable

import httpx
import msgspec

from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed

SIGNATURE_HEADER = "X-Keystead-Signature"
TIMESTAMP_HEADER = "X-Keystead-Timestamp"


class HookSender:
    """Implements `sender.Sender` for both channels.

    `secret`: the key of the HMAC, 32 bytes or more. `now_ms`: the clock, milliseconds since the epoch.
    """

    def __init__(self, url: str, secret: bytes, now_ms: Callable[[], int], *, timeout_s: float = 20.0) -> None:
        self._url = url
        self._secret = secret
        self._now_ms = now_ms
        self._timeout_s = timeout_s
        # Created once: the event loop would wait for it with each message, longer than for most requests.
        self._tls = httpx.create_ssl_context(trust_env=False)

    async def send(self, message: Message) -> str:
        body = msgspec.json.encode(message)
        timestamp = str(self._now_ms())
        headers = {
            "Content-Type": "application/json",
            TIMESTAMP_HEADER: timestamp,
            SIGNATURE_HEADER: signature(self._secret, timestamp, body),
        }
        try:
            async with (
                httpx.AsyncClient(
                    timeout=self._timeout_s, follow_redirects=False, trust_env=False, verify=self._tls
                ) as client,
                client.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except httpx.HTTPError as failed:
            raise SendFailed(f"the hook could not be reached: {type(failed).__name__}", permanent=False) from None
        if not 200 <= status < 300:
            temporary = status >= 500 or status in (408, 425, 429)
            raise SendFailed(f"the hook answered {status}", permanent=not temporary)
        return ""


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Lower-case hex of HMAC-SHA256 over the timestamp's text, a dot, and the body."""
    return hmac.digest(secret, timestamp.encode() + b"." + body, "sha256").hex()
