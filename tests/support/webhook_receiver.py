"""A receiver of webhooks on this machine, which verifies each as its sender documents it.

Not here: the published verifier (`tests/compatibility`).
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from keystead.stamps.base64url import decode_base64url
from tests.support.hanging import PATIENCE_S

Keys = Mapping[str, bytes]
"""Ed25519 public keys of 32 bytes, by their ids."""

SIGNED = ("signature-version", "signature-algorithm", "signature-key-id", "timestamp", "event-id")
"""The headers that the signature covers, in order, without their prefix."""


@dataclass(frozen=True)
class ReceivedWebhook:
    """`headers`: names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def activity(self) -> dict[str, Any]:
        activity: dict[str, Any] = json.loads(self.body)
        return activity

    @property
    def event_id(self) -> str:
        return self.headers["x-turnkey-event-id"]


def is_genuine(headers: Mapping[str, str], body: bytes, keys: Keys, now_ms: int, age_max_ms: int = 300_000) -> str:
    """ "" for a webhook that a receiver may trust, otherwise why not, in the words of the published verifier."""
    given = {name.removeprefix("x-turnkey-"): value for name, value in headers.items()}
    if missing := [name for name in (*SIGNED, "signature") if not given.get(name)]:
        return f"missing_header {missing[0]}"
    if abs(now_ms - int(given["timestamp"])) > age_max_ms:
        return "stale_timestamp"
    if given["signature-version"] != "v1":
        return "unsupported_signature_version"
    if given["signature-algorithm"] != "ed25519":
        return "unsupported_signature_algorithm"
    key = keys.get(given["signature-key-id"])
    if key is None:
        return "missing_key"
    signed = ".".join(given[name] for name in SIGNED).encode() + b"." + body
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(given["signature"]), signed)
    except (InvalidSignature, ValueError):
        return "invalid_signature"
    return ""


def published_keys(base_url: str) -> Keys:
    """The keys that a server publishes."""
    found = httpx.get(f"{base_url}/public/v1/discovery/webhooks/jwks", timeout=PATIENCE_S).raise_for_status().json()
    return {key["kid"]: decode_base64url(key["x"]) for key in found["keys"]}


@dataclass
class WebhookReceiver:
    """`respond` gives the status for a webhook; it may take its time. 0: the connection is closed."""

    url: str
    respond: Callable[[ReceivedWebhook], int] = lambda _: 200
    headers: Mapping[str, str] = field(default_factory=dict)
    received: list[ReceivedWebhook] = field(default_factory=list)
    _arrived: threading.Condition = field(default_factory=threading.Condition)

    def add(self, webhook: ReceivedWebhook) -> None:
        with self._arrived:
            self.received.append(webhook)
            self._arrived.notify_all()

    def wait_for(self, count: int) -> list[ReceivedWebhook]:
        """Everything that arrived, as soon as at least `count` webhooks arrived."""
        deadline = time.monotonic() + PATIENCE_S
        with self._arrived:
            while len(self.received) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(self.received)} of {count} webhooks arrived"
                self._arrived.wait(left)
            return list(self.received)


class _Receiving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        receiver: WebhookReceiver = self.server.receiver  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        webhook = ReceivedWebhook(self.path, headers, body)
        receiver.add(webhook)
        status = receiver.respond(webhook)
        if not status:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in receiver.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error of a connection that the sender has closed, and print every other one."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def receiving(
    respond: Callable[[ReceivedWebhook], int] = lambda _: 200, *, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[WebhookReceiver]:
    http = _Http(("127.0.0.1", port), _Receiving)
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    scheme = "https" if tls else "http"
    receiver = WebhookReceiver(f"{scheme}://127.0.0.1:{http.server_port}/hook", respond)
    http.receiver = receiver  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
