"""A message to one recipient, complete and ready to be sent.

Not here: how its text is made (`templates`), who sends it (`smtp`, `hook`).
"""

from __future__ import annotations

from keystead.api.developer_controls import SentMessage
from keystead.organizations.contacts.outgoing_messages import MessageChannel


class Message(SentMessage, frozen=True, kw_only=True):
    """`id` stays the same over retries, so that a receiver can recognize a message that it got twice.

    `recipient`: an e-mail address, or a phone number in E.164. Only e-mails have `html` and `subject`. If
    `sender_address`, `sender_name` or `reply_to` is None, the operator's settings decide. `secret`: the code or
    the credential bundle in the text, for a hook that writes its own texts; the caller may name `template_id` and
    `template_variables` (JSON) for that.
    """

    organization_id: str
    channel: MessageChannel
    html: str | None = None
    sender_address: str | None = None
    sender_name: str | None = None
    reply_to: str | None = None
    template_id: str | None = None
    template_variables: str | None = None
