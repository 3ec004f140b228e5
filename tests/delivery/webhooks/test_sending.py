"""One attempt: what is sent, what each answer means, and which addresses are not connected to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keystead.api.developer_controls import SentWebhook
from keystead.delivery.webhooks import sending
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt
from keystead.delivery.webhooks.connecting import Resolve, SystemResolver
from keystead.delivery.webhooks.sending import WebhookSender
from keystead.keys.proof_key import WebhookKey
from keystead.organizations.webhooks.addresses import read_networks
from keystead.organizations.webhooks.targets import WebhookTarget
from keystead.organizations.webhooks.webhooks import WebhookDelivery
from keystead.primitives.ip_addresses import IpAddress, IpNetwork
from keystead.sessions.webhook_signatures import key_id
from tests.support.webhook_receiver import is_genuine, receiving

SEED = bytes(range(32))
PUBLIC_KEY = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()
NOW_MS = 1_766_000_000_000
LOOPBACK = read_networks("127.0.0.0/8, ::1/128")
BODY = b'{"id":"activity"}'
DELIVERY = WebhookDelivery(
    endpoint_id="endpoint",
    id="activity:0000000000",
    organization_id="sub",
    endpoint_organization_id="parent",
    event_id="event",
    event_type="ACTIVITY_UPDATES",
    due_ms=0,
    give_up_at_ms=1,
    expires_at_ms=1,
    body_bytes=len(BODY),
)


async def sign(*, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
    return WebhookKey(SEED).sign(timestamp_ms=timestamp_ms, event_id=event_id, body=body)


def attempt(
    url: str,
    allowed: tuple[IpNetwork, ...] = LOOPBACK,
    *,
    resolve: Resolve | None = None,
    tls: ssl.SSLContext | None = None,
    times: int = 1,
    seen: Callable[[SentWebhook], None] | None = None,
) -> DeliveryAttempt:
    async def run() -> DeliveryAttempt:
        sender = WebhookSender(
            sign=sign,
            kid=key_id(PUBLIC_KEY),
            allowed=allowed,
            tls=tls or ssl.create_default_context(),
            now_ms=lambda: NOW_MS,
            resolve=resolve,
            seen=seen,
        )
        try:
            for _ in range(times):
                made = await sender.send(DELIVERY, WebhookTarget("endpoint", "parent", url), BODY)
        finally:
            await sender.close()
        return made

    return asyncio.run(run())


def names(**addresses: Sequence[str]) -> tuple[Resolve, list[str]]:
    """A name server, and the names that were asked for."""
    asked: list[str] = []

    async def resolve(host: str, _: int) -> Sequence[IpAddress]:
        asked.append(host)
        return [ip_address(each) for each in addresses[host.partition(".")[0]]]

    return resolve, asked


def test_what_is_sent() -> None:
    seen: list[SentWebhook] = []
    with receiving() as receiver:
        made = attempt(receiver.url + "?key=1", seen=seen.append)
        (webhook,) = receiver.received
    assert made == DeliveryAttempt(result=AttemptResult.ACCEPTED, status=200, reason="it answered 200")
    assert webhook.path == "/hook?key=1"
    assert webhook.body == BODY
    assert is_genuine(webhook.headers, webhook.body, {key_id(PUBLIC_KEY): PUBLIC_KEY}, NOW_MS) == ""
    expected = {
        "content-type": "application/json",
        "x-turnkey-organization-id": "parent",
        "x-turnkey-event-type": "ACTIVITY_UPDATES",
        "x-turnkey-event-id": "event",
        "x-turnkey-webhook-version": "1",
    }
    assert expected.items() <= webhook.headers.items()
    assert set(webhook.headers) <= {"host", "content-length", "content-type"} | {
        name for name in webhook.headers if name.startswith("x-turnkey-")
    }, "nothing else about this server"
    assert [(one.url, one.status, one.verdict, one.body) for one in seen] == [
        (receiver.url + "?key=1", 200, "accepted", BODY.decode())
    ]


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (204, AttemptResult.ACCEPTED),
        (404, AttemptResult.REFUSED),
        (429, AttemptResult.REFUSED),
        (503, AttemptResult.LATER),
    ],
)
def test_answers(status: int, result: AttemptResult) -> None:
    with receiving(lambda _: status) as receiver:
        assert attempt(receiver.url) == DeliveryAttempt(
            result=result, status=status, reason=f"it answered {status}"
        )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with receiving() as elsewhere, receiving(lambda _: status) as receiver:
        receiver.headers = {"location": elsewhere.url}
        assert attempt(receiver.url).result is AttemptResult.REFUSED
        assert elsewhere.received == []


def test_no_answer_is_a_reason_to_try_again() -> None:
    with receiving(lambda _: 0) as receiver:
        made = attempt(receiver.url)
    assert (made.result, made.status) == (AttemptResult.LATER, 0)
    assert attempt(receiver.url).result is AttemptResult.LATER, "nobody listens there any more"


async def hostile(answer: Callable[[asyncio.StreamWriter], Any]) -> DeliveryAttempt:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            await answer(writer)
        except OSError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    sender = WebhookSender(
        sign=sign, kid="k", allowed=LOOPBACK, tls=ssl.create_default_context(), now_ms=lambda: NOW_MS
    )
    try:
        return await sender.send(DELIVERY, WebhookTarget("endpoint", "parent", url), BODY)
    finally:
        await sender.close()
        listening.close()


async def silent(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def endless_body(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00" * 100)
    await writer.drain()


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (silent, AttemptResult.LATER),
        (dripping, AttemptResult.LATER),
        (endless_body, AttemptResult.ACCEPTED),
        (garbage, AttemptResult.LATER),
    ],
)
def test_hostile_receivers(
    answer: Callable[[asyncio.StreamWriter], Any], result: AttemptResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "ATTEMPT_WITHIN_S", 0.5)
    assert asyncio.run(hostile(answer)).result is result


NAMES = {
    "a private address": ["10.0.0.1"],
    "the metadata of a cloud": ["169.254.169.254"],
    "loopback": ["127.0.0.1"],
    "IPv6 loopback": ["::1"],
    "an IPv4 address in IPv6": ["::ffff:127.0.0.1"],
    "several, all private": ["10.0.0.1", "fd00::1"],
}


@pytest.mark.parametrize("addresses", NAMES.values(), ids=NAMES)
def test_names_that_lead_inside_are_not_connected_to(addresses: list[str]) -> None:
    resolve, asked = names(hooks=addresses)
    with receiving() as receiver:
        port = receiver.url.partition("127.0.0.1:")[2]
        made = attempt(f"https://hooks.example:{port}", (), resolve=resolve)
    assert made.result is AttemptResult.LATER
    assert made.reason == "its address is not public, and the settings of this server do not allow it"
    assert asked == ["hooks.example"]
    assert receiver.received == []


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "017700000001", "0"])
def test_odd_spellings_of_addresses_are_not_connected_to(host: str) -> None:
    with receiving() as receiver:
        port = receiver.url.partition("127.0.0.1:")[2].partition("/")[0]
        made = attempt(f"https://{host}:{port}/", ())
    assert made.reason == "its address is not public, and the settings of this server do not allow it"
    assert receiver.received == []


def test_the_address_that_was_checked_is_connected_to() -> None:
    """A name server that answers differently the second time is not asked a second time."""
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    async def resolve(_: str, __: int) -> Sequence[IpAddress]:
        return [ip_address(each) for each in answers.pop(0)]

    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        assert attempt(url, resolve=resolve).result is AttemptResult.ACCEPTED
    assert len(answers) == 1


def test_private_addresses_of_a_name_are_left_out() -> None:
    resolve, _ = names(localhost=["10.0.0.1", "127.0.0.1"])
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        assert attempt(url, resolve=resolve).result is AttemptResult.ACCEPTED


def test_a_name_without_an_address() -> None:
    async def resolve(_: str, __: int) -> Sequence[IpAddress]:
        raise OSError("no such name")

    made = attempt("https://hooks.example/", resolve=resolve)
    assert (made.result, made.status) == (AttemptResult.LATER, 0)


def test_an_address_that_the_settings_no_longer_allow() -> None:
    with receiving() as receiver:
        made = attempt(receiver.url, ())
    assert made.result is AttemptResult.REFUSED
    assert receiver.received == []


def test_connections_are_used_again() -> None:
    resolve, asked = names(localhost=["127.0.0.1"])
    with receiving() as receiver:
        attempt(receiver.url.replace("127.0.0.1", "localhost"), resolve=resolve, times=5)
        assert len(receiver.received) == 5
    assert len(asked) == 1


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def secured(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("name", "trusted", "result"),
    [
        ("localhost", True, AttemptResult.ACCEPTED),
        ("other.example", True, AttemptResult.LATER),
        ("localhost", False, AttemptResult.LATER),
    ],
)
def test_certificates_are_verified(authority: trustme.CA, name: str, trusted: bool, result: AttemptResult) -> None:
    client = ssl.create_default_context()
    if trusted:
        authority.configure_trust(client)
    with receiving(tls=secured(authority, name)) as receiver:
        made = attempt(receiver.url.replace("127.0.0.1", "localhost"), tls=client)
    assert made.result is result
    assert len(receiver.received) == (result is AttemptResult.ACCEPTED)


def test_the_system_resolves_literals() -> None:
    async def run() -> Sequence[IpAddress]:
        resolver = SystemResolver()
        try:
            return await resolver("127.0.0.1", 80)
        finally:
            resolver.close()

    assert asyncio.run(run()) == [ip_address("127.0.0.1")]


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert attempt(receiver.url).result is AttemptResult.ACCEPTED
        assert proxy.received == []
