"""Who chooses what a message says about its sender: its name and logo, its link, its sender and reply address.

People trust a message of the application that they use. So what it says comes from the parent or its
authentication proxy, and where they choose nothing, from the operator's settings. A sub-organization, which anybody
may make, chooses nothing. Not here: the texts (`delivery.templates`), the row of a message (`outgoing_messages`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText
from keystead.delivery.templates import Branding, checked_branding
from keystead.operations.logins.message_context import MessageContext
from keystead.organizations.contacts.contacts import check_email

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
    app_name: Label
    logo_url: MessageUrl | None = None
    magic_link_template: MessageUrl | None = None
    template_variables: TemplateVariables | None = None
    template_id: ShortText | None = None


def named_customization(custom: EmailCustomizationParams | None) -> EmailAuthCustomizationParams:
    """The customization of an older request as the current one has it. Where it names no application, the name is
    "", and the name of the organization, or of its parent, stands for it."""
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


class MessageChoices(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says about the origin of its message. `app_name`: the name of the application, or ""."""

    app_name: str
    email: EmailCustomizationParamsV2 | EmailAuthCustomizationParams | None
    sms: SmsCustomizationParams | None = None
    send_from_email_address: str | None
    send_from_email_sender_name: str | None
    reply_to_email_address: str | None

    def chosen(self) -> dict[str, str | None]:
        """The choices by the name of their field, without the name of the application, which newer requests must
        have."""
        email = self.email or EmailCustomizationParamsV2()
        return {
            "emailCustomization.logoUrl": email.logo_url,
            "emailCustomization.magicLinkTemplate": email.magic_link_template,
            "emailCustomization.templateVariables": email.template_variables,
            "emailCustomization.templateId": email.template_id,
            "smsCustomization.template": self.sms.template if self.sms else None,
            "sendFromEmailAddress": self.send_from_email_address,
            "sendFromEmailSenderName": self.send_from_email_sender_name,
            "replyToEmailAddress": self.reply_to_email_address,
        }


class MessageOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What a message says about its sender. Only `message_origin` makes it, and each message needs one. The
    operator's settings decide what is None."""

    branding: Branding
    sms_template: str | None = None
    sender_address: str | None = None
    sender_name: str | None = None
    reply_to: str | None = None
    template_id: str | None = None
    template_variables: str | None = None


def message_origin(choices: MessageChoices, context: MessageContext) -> MessageOrigin:
    """The origin of a message. If a user of a sub-organization asks for it, it is that of the parent, with the
    parent's name.

    Raises InvalidRequest for a choice by a sub-organization, and for a malformed choice.
    """
    chosen = choices.chosen()
    if context.room == "tenants":
        for field, value in chosen.items():
            if value:
                raise InvalidRequest(
                    f"field `parameters.{field}`: a sub-organization does not choose what a message says about its "
                    "sender: leave this field out, or let the parent or its authentication proxy send the message"
                )
        return MessageOrigin(branding=checked_branding(context.root_name, None, None))
    for field in ("sendFromEmailAddress", "replyToEmailAddress"):
        if address := chosen[field]:
            check_email(address, f"parameters.{field}")
    email = choices.email or EmailCustomizationParamsV2()
    return MessageOrigin(
        branding=checked_branding(choices.app_name or context.root_name, email.logo_url, email.magic_link_template),
        sms_template=choices.sms.template if choices.sms else None,
        sender_address=choices.send_from_email_address or None,
        sender_name=choices.send_from_email_sender_name or None,
        reply_to=choices.reply_to_email_address or None,
        template_id=email.template_id,
        template_variables=email.template_variables,
    )
