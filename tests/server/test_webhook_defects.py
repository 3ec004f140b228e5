"""A webhook that this server cannot sign: it waits, and its endpoint gets all others. On both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from keystead.api.errors import Internal
from keystead.delivery import outbox
from keystead.keys import master_key
from keystead.organizations.webhooks.webhooks import WebhookDelivery
from keystead.signer.local import LocalSigner
from tests.support.callers import SDK_FORM, Caller
from tests.support.hanging import PATIENCE_S
from tests.support.in_process import serving
from tests.support.servers import Installation
from tests.support.webhook_receiver import WebhookReceiver, receiving


async def submitted(http: httpx.AsyncClient, caller: Caller, name: str, parameters: dict[str, Any]) -> str:
    """The id of the activity."""
    body = caller.submit_body(name, parameters)
    headers = {**caller.stamped(body), **SDK_FORM}
    response = await http.post(f"/public/v1/submit/{name}", content=body, headers=headers)
    assert response.status_code == 200, response.text
    return str(response.json()["activity"]["id"])


async def tag(http: httpx.AsyncClient, caller: Caller, name: str) -> str:
    return await submitted(http, caller, "create_user_tag", {"userTagName": name, "userIds": []})


class UnsignableEvents:
    """Signing an event that has the text `unsignable` raises `failure`, until `is_mended`."""

    def __init__(self, failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failed, self.is_mended = asyncio.Event(), False
        sign = LocalSigner.sign_webhook

        async def sign_webhook(signer: LocalSigner, *, body: bytes, **call: Any) -> bytes:
            if b"unsignable" in body and not self.is_mended:
                self.failed.set()
                raise failure
            return await sign(signer, body=body, **call)

        monkeypatch.setattr(LocalSigner, "sign_webhook", sign_webhook)


@pytest.mark.parametrize(
    "failure",
    [Internal("this server has no key that signs webhooks"), KeyError("a defect")],
    ids=["a defect that the signer logged", "a defect"],
)
def test_an_event_that_cannot_be_signed(
    failure: Exception,
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(outbox, "FIRST_PAUSE_MS", 1_000)
    key_file = tmp_path / "master.key"
    master_key.create(key_file, installation.master_key)

    async def run(root: Caller, receiver: WebhookReceiver) -> None:
        events = UnsignableEvents(failure, monkeypatch)
        async with serving(installation, key_file, webhook_networks="127.0.0.0/8") as http:
            endpoint = {"url": receiver.url, "name": "e", "subscriptions": [{"eventType": "ACTIVITY_UPDATES"}]}
            await submitted(http, root, "create_webhook_endpoint", endpoint)
            unsignable = await tag(http, root, "unsignable")
            await events.failed.wait()
            others = {await tag(http, root, f"tag {number}") for number in range(10)}
            arrived = await asyncio.to_thread(receiver.wait_for, len(others))
            assert {webhook.activity["id"] for webhook in arrived} == others
            events.is_mended = True
            arrived = await asyncio.to_thread(receiver.wait_for, len(others) + 1)
            assert arrived[-1].activity["id"] == unsignable

    with httpx.Client() as unused, receiving() as receiver:
        asyncio.run(asyncio.wait_for(run(installation.caller(unused), receiver), PATIENCE_S))
    stored = installation.database.rows("SELECT body FROM webhook_delivery")
    failures = [WebhookDelivery.from_row(row).failures for row in stored if WebhookDelivery.from_row(row).failures]
    logged = [line for line in caplog.messages if "webhooks of endpoint" in line]
    assert [len(logged)] == failures, "one event failed, and each failure is one line and one pause"
