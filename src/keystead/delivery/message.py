"""A message to one recipient, complete and ready to be sent.

Not here: how its text is made (`templates`), who sends it (`smtp`, `hook`).
"""

from __future__ import annotations

import msgspec

from keystead.organizations.contacts.outgoing_messages import MessageChannel


class Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`id` stays the same over retries, so that a receiver can recognize a message that it got twice.

    `recipient`: an e-mail address, or a phone number in E.164. Only e-mails have `html` and `subject`. If
    `sender_address`, `sender_name` or `reply_to` is None, the operator's settings decide. `secret`: the code or
    the credential bundle in the text, for a hook that writes its own texts; the caller may name `template_id` and
    `template_variables` (JSON) for that.
    """

    id: str
    organization_id: str
    channel: MessageChannel
    recipient: str
    text: str
    subject: str = ""
    html: str | None = None
    sender_address: str | None = None
    sender_name: str | None = None
    reply_to: str | None = None
    secret: str | None = None
    template_id: str | None = None
    template_variables: str | None = None

    def __repr__(self) -> str:
        return f"Message(id={self.id!r}, channel={self.channel!r})"
