"""The webhooks of this process: its settings, the loop that delivers, the keys with which receivers verify.

Not here: delivering (`delivery.webhooks`).
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from keystead.api.developer_controls import SentWebhook
from keystead.api.identifiers import new_id
from keystead.api.rendering import encode
from keystead.delivery.webhooks.attempts import DeliveryAttempt
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.organizations.webhooks.addresses import read_networks
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import WebhookDelivery, WebhookSettings
from keystead.pipeline.ports import Clock
from keystead.pipeline.signer_port import Signer
from keystead.primitives.ip_addresses import IpNetwork
from keystead.server.settings.settings import Settings, SettingsError
from keystead.sessions import webhook_signatures
from keystead.signer.installation_keys import WEBHOOK_KEY
from keystead.storage.store import DatabaseStore

if TYPE_CHECKING:
    from keystead.delivery.webhooks.sending import WebhookSender

JWKS_PATH = "/public/v1/discovery/webhooks/jwks"

_LOOPBACK = "127.0.0.0/8, ::1/128"


class Webhooks:
    """The parts that deliver. `wall_ms`: the time that receivers compare with their own, which a development
    server's clock need not be. `seen` gets every attempt, for development servers.

    The sender is made at the first delivery, because its libraries are slow to import.
    """

    def __init__(
        self,
        settings: Settings,
        store: DatabaseStore,
        signer: Signer,
        clock: Clock,
        wall_ms: Callable[[], int],
        seen: Callable[[SentWebhook], None] | None,
    ) -> None:
        self._settings = settings
        self._signer = signer
        self._wall_ms = wall_ms
        self._seen = seen
        self._sender: WebhookSender | None = None
        self.dispatcher = WebhookDispatcher(
            store, self._send, holder=new_id(), now_ms=clock.now_ms, random_fraction=random.random
        )
        store.when_rows_are_written(
            WebhookDelivery, lambda written: self.dispatcher.wake(delivery.endpoint_id for delivery in written)
        )

    async def close(self) -> None:
        await self.dispatcher.close()
        if self._sender is not None:
            await self._sender.close()

    async def _send(self, delivery: WebhookDelivery, target: WebhookTarget, body: bytes) -> DeliveryAttempt:
        if self._sender is None:
            kid = webhook_signatures.key_id(await _public_key(self._signer))
            from keystead.delivery.webhooks.connecting import tls_context
            from keystead.delivery.webhooks.sending import WebhookSender

            self._sender = self._sender or WebhookSender(
                sign=self._signer.sign_webhook,
                kid=kid,
                allowed=_networks(self._settings),
                tls=tls_context(self._settings.webhook_ca_file),
                now_ms=self._wall_ms,
                seen=self._seen,
            )
        return await self._sender.send(delivery, target, body)


def webhook_rules_of(settings: Settings) -> WebhookSettings:
    """The rules of webhooks in these settings. Raises SettingsError."""
    if settings.webhook_ca_file:
        try:
            ssl.create_default_context(cafile=settings.webhook_ca_file)
        except OSError as refused:
            raise SettingsError(f"setting KEYSTEAD_WEBHOOK_CA_FILE: cannot be read: {refused}") from None
    return WebhookSettings(
        last_ms=settings.webhooks_last_s * 1000,
        networks=_networks(settings),
        documented_form=settings.answer_form == "documented",
    )


async def webhook_key_set(signer: Signer) -> bytes:
    """The JWK Set with which receivers verify webhooks. Raises Unavailable."""
    return encode(webhook_signatures.key_set(await _public_key(signer)))


async def _public_key(signer: Signer) -> bytes:
    (key,) = [key for key in await signer.installation_keys() if key.name == WEBHOOK_KEY.name]
    return bytes.fromhex(key.public_key)


def _networks(settings: Settings) -> tuple[IpNetwork, ...]:
    text = settings.webhook_networks
    if settings.mode == "dev":
        text = f"{text}, {_LOOPBACK}"
    try:
        return read_networks(text)
    except ValueError as refused:
        raise SettingsError(f"setting KEYSTEAD_WEBHOOK_NETWORKS: {refused}") from None
