"""Messages to the operator's hook: what is sent, how it is signed, and what each answer means."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json

import pytest

from keystead.delivery.hook import SIGNATURE_HEADER, TIMESTAMP_HEADER, HookSender
from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed

SECRET = b"s" * 32
MESSAGE = Message(id="m1", organization_id="o", channel="sms", recipient="+15550100", text="Your code: 123456")


async def send_to(answer: bytes, requests: list[bytes]) -> str:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        requests.append(head + await reader.readexactly(length))
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        return await HookSender(f"http://127.0.0.1:{port}/send", SECRET, lambda: 1234, timeout_s=2).send(MESSAGE)
    finally:
        listening.close()


def test_sent_and_signed() -> None:
    requests: list[bytes] = []
    asyncio.run(send_to(b"HTTP/1.1 204 No Content\r\n\r\n", requests))
    head, _, body = requests[0].partition(b"\r\n\r\n")
    headers = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    lower = {name.lower(): value.decode() for name, value in headers.items()}
    expected = hmac.new(SECRET, b"1234." + body, hashlib.sha256).hexdigest()
    assert lower[SIGNATURE_HEADER.lower().encode()] == expected
    assert lower[TIMESTAMP_HEADER.lower().encode()] == "1234"
    assert json.loads(body) == {
        "id": "m1",
        "organizationId": "o",
        "channel": "sms",
        "recipient": "+15550100",
        "text": "Your code: 123456",
    }


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(400, True), (404, True), (302, True), (408, False), (429, False), (500, False), (503, False)],
)
def test_refused(status: int, permanent: bool) -> None:
    with pytest.raises(SendFailed) as failed:
        asyncio.run(send_to(b"HTTP/1.1 %d Answer\r\nlocation: http://127.0.0.1:9/\r\n\r\n" % status, []))
    assert failed.value.permanent is permanent
    assert str(status) in failed.value.reason


def test_nobody_listens() -> None:
    with pytest.raises(SendFailed) as failed:
        asyncio.run(HookSender("http://127.0.0.1:9/", SECRET, lambda: 0).send(MESSAGE))
    assert not failed.value.permanent
