"""Messages that wait to be sent, and the events of e-mails: rows that change without a new version.

Here: the rows. Not here: the text of a message, which is sealed (`delivery`), sending it (`delivery.outbox`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from keystead.organizations.attached_rows import EXPIRY, AttachedRow, AttachedTable, VersionedRow
from keystead.organizations.kinds.data_key import Sealed

MessageChannel = Literal["email", "sms", "log"]
"""How a message is sent. `log`: a server writes it into its log, for the operator. It has no recipient."""

_encode = msgspec.json.Encoder().encode


class MessageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for messages.

    `channels`: the channels that this server has a sender for. `last_ms`: milliseconds until a message is given up.
    `kept_ms`: milliseconds for which a finished message and the events of an e-mail stay on record. `has_sandbox`:
    the sandbox contacts get the fixed code. `console_url`: where links to the console lead; "" for nowhere.
    """

    channels: frozenset[MessageChannel] = frozenset()
    last_ms: int = 600_000
    kept_ms: int = 30 * 24 * 3_600_000
    has_sandbox: bool = False
    console_url: str = ""


class SendResult(StrEnum):
    """The outcome of an attempt to send, in the words of e-mail events."""

    SENT = "Send"
    DELAYED = "DeliveryDelay"
    GIVEN_UP = "Bounce"


class OutgoingMessage(VersionedRow, frozen=True, kw_only=True):
    """A message in the outbox. `revision` distinguishes one lease from an earlier one. Times are ms since the
    epoch.

    - `due_ms`: when a process may lease it; None after it was sent or given up. Then `sealed` is None, too, except
      on a development server that keeps texts.
    - `failures`: attempts that failed so far.
    - `give_up_at_ms`: after this time a temporary failure is final.
    - `sender`: the address that the caller chose, "" for the address of the operator's setting.
    """

    table = AttachedTable(
        name="outgoing_message",
        key=(("id", str),),
        columns=(("revision", int), ("due_ms", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
    )

    id: str
    organization_id: str
    channel: MessageChannel
    recipient: str
    sender: str
    sealed: Sealed | None
    created_at_ms: int
    due_ms: int | None
    give_up_at_ms: int
    expires_at_ms: int
    failures: int = 0

    def leased(self, until_ms: int) -> OutgoingMessage:
        return replace(self, revision=self.revision + 1, due_ms=until_ms)

    def after_attempt(
        self, result: SendResult, next_attempt_ms: int | None, *, keeps_text: bool = False
    ) -> OutgoingMessage:
        """The message after an attempt. `next_attempt_ms`: None after the last attempt; then the text is deleted,
        unless `keeps_text`."""
        return replace(
            self,
            revision=self.revision + 1,
            due_ms=next_attempt_ms,
            failures=self.failures + (result is not SendResult.SENT),
            sealed=self.sealed if keeps_text or next_attempt_ms is not None else None,
        )


class EmailEventRow(AttachedRow, frozen=True, kw_only=True):
    """The outcome of one attempt to send an e-mail. `detail`: the server's answer, or the reason of the failure."""

    table = AttachedTable(
        name="email_event",
        key=(("id", str),),
        columns=(("recipient", str), ("event_type", str), (EXPIRY, int), ("body", bytes)),
    )

    id: str
    message_id: str
    type: SendResult
    sender: str
    recipient: str
    at_ms: int
    expires_at_ms: int
    detail: str

    def row(self) -> tuple[Any, ...]:
        return (self.id, self.recipient.lower(), str(self.type), self.expires_at_ms, _encode(self))
