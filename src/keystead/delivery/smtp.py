"""E-mail by SMTP: STARTTLS or TLS, with a name and a password if the mail server needs them.

Here: one connection per message. Not here: the text (`templates`), retries (`outbox`).
"""

from __future__ import annotations

import ssl
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from enum import StrEnum

import aiosmtplib
import msgspec

from keystead.delivery.message import Message
from keystead.delivery.sender import SendFailed

DEFAULT_SENDER_NAME = "Notifications"


class SmtpSecurity(StrEnum):
    """How the connection is protected. NONE is for a server on the same machine."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class SmtpServer(msgspec.Struct, frozen=True, kw_only=True):
    """The mail server. `ca_file`: certificates to trust in place of the system's, as PEM."""

    host: str
    port: int
    security: SmtpSecurity
    sender_address: str
    username: str | None = None
    password: str | None = None
    ca_file: str | None = None
    timeout_s: float = 20.0

    def __repr__(self) -> str:
        return f"SmtpServer(host={self.host!r}, port={self.port}, security={self.security.value!r})"


class SmtpSender:
    """Implements `sender.Sender` for e-mails."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._tls = None
        if server.security is not SmtpSecurity.NONE:
            self._tls = ssl.create_default_context(cafile=server.ca_file)

    async def send(self, message: Message) -> str:
        server = self._server
        try:
            email = email_of(message, server.sender_address)
        except (ValueError, MessageError) as refused:
            raise SendFailed(
                f"the message cannot be written as an e-mail: {type(refused).__name__}", permanent=True
            ) from None
        try:
            _, answer = await aiosmtplib.send(
                email,
                hostname=server.host,
                port=server.port,
                use_tls=server.security is SmtpSecurity.TLS,
                start_tls=server.security is SmtpSecurity.STARTTLS,
                tls_context=self._tls,
                username=server.username,
                password=server.password,
                timeout=server.timeout_s,
            )
        except aiosmtplib.SMTPRecipientsRefused as refused:
            codes = [recipient.code for recipient in refused.recipients]
            raise _refusal("the server refused the recipient", max(codes, default=0)) from None
        except aiosmtplib.SMTPResponseException as refused:
            raise _refusal("the server refused the message", refused.code) from None
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as failed:
            raise SendFailed(f"the server could not be reached: {type(failed).__name__}", permanent=False) from None
        return answer[:200]


def email_of(message: Message, default_address: str) -> EmailMessage:
    """The message in the form of RFC 5322. Raises ValueError if a header would hold a line break."""
    email = EmailMessage()
    address = Address(
        display_name=message.sender_name or DEFAULT_SENDER_NAME,
        addr_spec=message.sender_address or default_address,
    )
    email["From"] = address
    email["To"] = Address(addr_spec=message.recipient)
    if message.reply_to is not None:
        email["Reply-To"] = Address(addr_spec=message.reply_to)
    email["Subject"] = message.subject
    email["Date"] = format_datetime(localtime())
    email["Message-ID"] = f"<{message.id}@{address.domain}>"
    email["Auto-Submitted"] = "auto-generated"
    email.set_content(message.text)
    if message.html is not None:
        email.add_alternative(message.html, subtype="html")
    return email


def _refusal(what: str, code: int) -> SendFailed:
    """4xx answers are temporary and 5xx answers are permanent (RFC 5321, section 4.2.1).

    A failed authentication (530, 534, 535) counts as temporary: the operator can correct it while the message
    waits.
    """
    return SendFailed(f"{what}: {code}", permanent=500 <= code < 600 and code not in (530, 534, 535))
