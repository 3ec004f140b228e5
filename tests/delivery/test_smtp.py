"""E-mail against a real SMTP server: one that takes it, refuses it, hangs, or dies in the middle."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from msgspec.structs import replace

from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed
from keystead.delivery.smtp import SmtpSecurity, SmtpSender, SmtpServer, email_of
from tests.support.hanging import PATIENCE_S

MESSAGE = Message(
    id="01a1ffa0-a19d-72f0-bfb7-5c26d21e7d14",
    organization_id="o",
    channel="email",
    recipient="user@example.com",
    subject="Your code for Wallets",
    text="Your code: 123456\n",
    html="<p>123456</p>",
    sender_name="Wällets",
    reply_to="help@example.com",
)


class Mailbox:
    """Keeps what it takes; answers what it is told to."""

    def __init__(self, rcpt: str = "250 OK", data: str = "250 OK: queued as 7") -> None:
        self.rcpt, self.data = rcpt, data
        self.taken: list[bytes] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if self.rcpt.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.rcpt

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.taken.append(envelope.content)
        return self.data


def authenticated(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
    good = isinstance(given, LoginPassword) and (given.login, given.password) == (b"keystead", b"secret")
    return AuthResult(success=good)


class Certificates:
    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("localhost").configure_cert(self.context)
        self.ca_file = str(folder / "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@asynccontextmanager
async def serving(
    mailbox: Mailbox, security: SmtpSecurity, certificates: Certificates
) -> AsyncIterator[SmtpServer]:
    """An SMTP server on this event loop, and how to reach it."""
    options: dict[str, Any] = {}
    named: dict[str, str] = {}
    if security is SmtpSecurity.STARTTLS:
        options = {
            "require_starttls": True,
            "tls_context": certificates.context,
            "authenticator": authenticated,
            "auth_required": True,
        }
        named = {"username": "keystead", "password": "secret"}
    listening = await asyncio.get_running_loop().create_server(
        lambda: SMTP(mailbox, hostname="localhost", **options),
        "localhost",
        0,
        ssl=certificates.context if security is SmtpSecurity.TLS else None,
    )
    async with listening:
        yield SmtpServer(
            host="localhost",
            port=listening.sockets[0].getsockname()[1],
            security=security,
            sender_address="no-reply@example.com",
            ca_file=certificates.ca_file,
            timeout_s=5.0,
            **named,
        )


async def sent_to(
    mailbox: Mailbox, security: SmtpSecurity, certificates: Certificates, changed: Mapping[str, str | None] = {}
) -> str:
    async with serving(mailbox, security, certificates) as server:
        return await SmtpSender(replace(server, **changed)).send(MESSAGE)


@pytest.mark.parametrize("security", list(SmtpSecurity))
def test_sent(certificates: Certificates, security: SmtpSecurity) -> None:
    mailbox = Mailbox()
    answer = asyncio.run(sent_to(mailbox, security, certificates))
    assert "queued as 7" in answer
    (content,) = mailbox.taken
    email = message_from_bytes(content, policy=default)
    parts = {part.get_content_type(): part.get_content() for part in email.iter_parts()}
    assert email["To"] == "user@example.com"
    assert email["From"] == "Wällets <no-reply@example.com>"
    assert email["Reply-To"] == "help@example.com"
    assert email["Subject"] == "Your code for Wallets"
    assert MESSAGE.id in email["Message-ID"]
    assert parts["text/plain"].split() == ["Your", "code:", "123456"]
    assert parts["text/html"].strip() == "<p>123456</p>"


@pytest.mark.parametrize(
    ("mailbox", "permanent"),
    [
        pytest.param(Mailbox(rcpt="550 no such user"), True, id="the recipient is refused"),
        pytest.param(Mailbox(rcpt="450 try later"), False, id="the recipient is refused for now"),
        pytest.param(Mailbox(data="554 spam"), True, id="the message is refused"),
        pytest.param(Mailbox(data="451 full"), False, id="the message is refused for now"),
    ],
)
def test_refused(certificates: Certificates, mailbox: Mailbox, permanent: bool) -> None:
    with pytest.raises(SendFailed) as failed:
        asyncio.run(sent_to(mailbox, SmtpSecurity.NONE, certificates))
    assert failed.value.permanent is permanent
    assert "123456" not in failed.value.reason


@pytest.mark.parametrize(
    ("security", "changed"),
    [
        pytest.param(SmtpSecurity.STARTTLS, {"password": "wrong"}, id="a wrong password"),
        pytest.param(SmtpSecurity.TLS, {"ca_file": None}, id="a certificate that nobody trusts"),
    ],
)
def test_what_the_operator_can_mend_is_temporary(
    certificates: Certificates, security: SmtpSecurity, changed: Mapping[str, str | None]
) -> None:
    mailbox = Mailbox()
    with pytest.raises(SendFailed) as failed:
        asyncio.run(sent_to(mailbox, security, certificates, changed))
    assert not failed.value.permanent
    assert mailbox.taken == []


def test_the_password_is_in_no_repr() -> None:
    server = SmtpServer(
        host="h", port=25, security=SmtpSecurity.TLS, sender_address="a@example.com", username="u", password="p4ss"
    )
    assert "p4ss" not in repr(server)


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def dies_in_the_middle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 localhost\r\n")
    while line := await reader.readline():
        if line.startswith(b"DATA"):
            writer.write(b"354 go ahead\r\n")
            await reader.readline()
            break
        writer.write(b"250 OK\r\n")
    writer.transport.abort()


async def talks_something_else(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("handler", [hangs, dies_in_the_middle, talks_something_else])
def test_a_server_that_fails(handler: Handler) -> None:
    async def story() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await handler(reader, writer)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            ended.set()

        async with await asyncio.start_server(serve, "localhost", 0) as listening:
            server = SmtpServer(
                host="localhost",
                port=listening.sockets[0].getsockname()[1],
                security=SmtpSecurity.NONE,
                sender_address="no-reply@example.com",
                timeout_s=0.5,
            )
            with pytest.raises(SendFailed) as failed:
                await SmtpSender(server).send(MESSAGE)
            assert not failed.value.permanent
            await asyncio.wait_for(ended.wait(), PATIENCE_S)

    asyncio.run(story())


@pytest.mark.parametrize(
    "changed",
    [
        {"recipient": "user@example.com\r\nBcc: other@example.com"},
        {"recipient": "user@example.com, other@example.com"},
        {"subject": "a\r\nBcc: other@example.com"},
        {"sender_address": "a@example.com>\r\nBcc: other@example.com"},
        {"reply_to": "a@example.com\nBcc: other@example.com"},
        {"sender_name": "a\r\nBcc: other@example.com"},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_no_text_becomes_a_header(changed: dict[str, str]) -> None:
    fields = {name: getattr(MESSAGE, name) for name in MESSAGE.__struct_fields__}
    try:
        email = email_of(Message(**{**fields, **changed}), "no-reply@example.com")
    except ValueError:
        return
    assert email["Bcc"] is None
    assert "other@example.com" not in str(email["To"])
    assert b"\nBcc:" not in email.as_bytes()
