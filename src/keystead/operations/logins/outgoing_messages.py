"""Messages that activities send: the row that is committed with the activity.

Here: e-mails and SMS for codes and credential bundles. A message needs a `MessageOrigin` and a `CountedMessage`, so
none is sent with a sender that a sub-organization chose, and none that is not counted. Not here: their texts
(`delivery.templates`), sending (`delivery.outbox`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.delivery.message import Message
from keystead.delivery.templates import EmailContent
from keystead.operations.logins.message_context import CountedMessage
from keystead.operations.logins.message_origins import MessageOrigin
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.outgoing_messages import MessageChannel, OutgoingMessage
from keystead.pipeline.execution import Execution

LOG_LINES_LAST_MS: Final = 365 * 24 * 3_600_000
"""How long a line for the log waits for a server."""


def check_channel(execution: Execution, channel: MessageChannel) -> None:
    """Raise InvalidRequest if this server has no sender for the channel."""
    if channel not in execution.messages.channels:
        setting = "KEYSTEAD_SMTP_HOST or KEYSTEAD_MESSAGE_HOOK_URL"
        needed = setting if channel == "email" else "KEYSTEAD_MESSAGE_HOOK_URL"
        raise InvalidRequest(f"this server sends no {channel}; its operator must set {needed}")


async def email_to(
    execution: Execution,
    recipient: str,
    content: EmailContent,
    secret: str,
    origin: MessageOrigin,
    counted: CountedMessage,
    lasts_ms: int,
) -> tuple[VersionedRow, ...]:
    """The row of an e-mail, and those that count it. `secret`: the code or bundle in its text, which is valid for
    `lasts_ms`."""
    message = Message(
        id=execution.new_id(),
        organization_id=execution.organization.id,
        channel="email",
        recipient=recipient,
        subject=content.subject,
        text=content.text,
        html=content.html,
        sender_address=origin.sender_address,
        sender_name=origin.sender_name,
        reply_to=origin.reply_to,
        secret=secret,
        template_id=origin.template_id,
        template_variables=origin.template_variables,
    )
    return await _rows(execution, message, counted, lasts_ms)


async def sms_to(
    execution: Execution, recipient: str, text: str, secret: str, counted: CountedMessage, lasts_ms: int
) -> tuple[VersionedRow, ...]:
    """The row of an SMS, and those that count it; see `email_to`."""
    message = Message(
        id=execution.new_id(),
        organization_id=execution.organization.id,
        channel="sms",
        recipient=recipient,
        text=text,
        secret=secret,
    )
    return await _rows(execution, message, counted, lasts_ms)


async def log_line(execution: Execution, text: str) -> OutgoingMessage:
    """The row of a line for the log of a server: of one that runs now, or of the next one that starts."""
    message = Message(
        id=execution.new_id(), organization_id=execution.organization.id, channel="log", recipient="", text=text
    )
    return await _sealed_row(execution, message, execution.now_ms + LOG_LINES_LAST_MS)


async def _rows(
    execution: Execution, message: Message, counted: CountedMessage, lasts_ms: int
) -> tuple[VersionedRow, ...]:
    # A message that arrives after its code has expired is useless.
    give_up_at_ms = execution.now_ms + min(lasts_ms, execution.messages.last_ms)
    return await _sealed_row(execution, message, give_up_at_ms), *counted.windows


async def _sealed_row(execution: Execution, message: Message, give_up_at_ms: int) -> OutgoingMessage:
    organization, now_ms = execution.organization, execution.now_ms
    sealed = await execution.signer.seal_message(
        organization_id=organization.id,
        data_key=organization.data_key.sealed,
        message_id=message.id,
        text=msgspec.json.encode(message),
    )
    return OutgoingMessage(
        id=message.id,
        organization_id=organization.id,
        channel=message.channel,
        recipient=message.recipient,
        sender=message.sender_address or "",
        sealed=sealed,
        created_at_ms=now_ms,
        due_ms=now_ms,
        give_up_at_ms=give_up_at_ms,
        expires_at_ms=give_up_at_ms + execution.messages.kept_ms,
    )
