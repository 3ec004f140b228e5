"""Messages that activities send: the choices of callers, and the row that is committed with the activity.

Here: e-mails and SMS for codes and credential bundles. Not here: their texts (`delivery.templates`), sending
(`delivery.outbox`).
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText
from keystead.delivery.message import Message
from keystead.delivery.templates import EmailContent
from keystead.organizations.contacts import check_email
from keystead.organizations.outgoing_messages import MessageChannel, OutgoingMessage
from keystead.pipeline.execution_values import Execution

LOG_LINES_LAST_MS: Final = 365 * 24 * 3_600_000
"""How long a line for the log waits for a server."""

MessageUrl = Annotated[str, Meta(max_length=2_048)]
TemplateVariables = Annotated[str, Meta(max_length=8_192)]


class EmailCustomizationParamsV2(RequestStruct, frozen=True):
    """`template_id` and `template_variables` are for the operator's hook; the default texts have no variables."""

    logo_url: MessageUrl | None = None
    magic_link_template: MessageUrl | None = None
    template_variables: TemplateVariables | None = None
    template_id: ShortText | None = None


class EmailCustomizationParams(EmailCustomizationParamsV2, frozen=True):
    app_name: ShortText | None = None


class EmailAuthCustomizationParams(RequestStruct, frozen=True):
    app_name: ShortText
    logo_url: MessageUrl | None = None
    magic_link_template: MessageUrl | None = None
    template_variables: TemplateVariables | None = None
    template_id: ShortText | None = None


def named_customization(custom: EmailCustomizationParams | None) -> EmailAuthCustomizationParams:
    """The customization of an older request as the current one has it. Where it names no application, the name is
    "", and the organization's name stands for it."""
    custom = custom or EmailCustomizationParams()
    return EmailAuthCustomizationParams(
        app_name=custom.app_name or "",
        logo_url=custom.logo_url,
        magic_link_template=custom.magic_link_template,
        template_variables=custom.template_variables,
        template_id=custom.template_id,
    )


class SmsCustomizationParams(RequestStruct, frozen=True):
    template: Annotated[str, Meta(max_length=480)] | None = None


class SenderParams(msgspec.Struct, frozen=True):
    """The sender of an e-mail that a caller chooses."""

    address: str | None
    name: str | None
    reply_to: str | None


def check_sender(sender: SenderParams) -> None:
    """Raise InvalidRequest for a malformed address."""
    for address, field in (
        (sender.address, "parameters.sendFromEmailAddress"),
        (sender.reply_to, "parameters.replyToEmailAddress"),
    ):
        if address:
            check_email(address, field)


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
    sender: SenderParams,
    customization: EmailCustomizationParamsV2 | EmailAuthCustomizationParams | None,
    lasts_ms: int,
) -> OutgoingMessage:
    """The row of an e-mail. `secret`: the code or bundle in its text, which is valid for `lasts_ms`."""
    message = Message(
        id=execution.new_id(),
        organization_id=execution.organization.id,
        channel="email",
        recipient=recipient,
        subject=content.subject,
        text=content.text,
        html=content.html,
        sender_address=sender.address or None,
        sender_name=sender.name or None,
        reply_to=sender.reply_to or None,
        secret=secret,
        template_id=customization.template_id if customization else None,
        template_variables=customization.template_variables if customization else None,
    )
    return await _row(execution, message, lasts_ms)


async def sms_to(execution: Execution, recipient: str, text: str, secret: str, lasts_ms: int) -> OutgoingMessage:
    """The row of an SMS; see `email_to`."""
    message = Message(
        id=execution.new_id(),
        organization_id=execution.organization.id,
        channel="sms",
        recipient=recipient,
        text=text,
        secret=secret,
    )
    return await _row(execution, message, lasts_ms)


async def log_line(execution: Execution, text: str) -> OutgoingMessage:
    """The row of a line for the log of a server: of one that runs now, or of the next one that starts."""
    message = Message(
        id=execution.new_id(), organization_id=execution.organization.id, channel="log", recipient="", text=text
    )
    return await _sealed_row(execution, message, execution.now_ms + LOG_LINES_LAST_MS)


async def _row(execution: Execution, message: Message, lasts_ms: int) -> OutgoingMessage:
    # A message that arrives after its code has expired is useless.
    give_up_at_ms = execution.now_ms + min(lasts_ms, execution.messages.last_ms)
    return await _sealed_row(execution, message, give_up_at_ms)


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
