"""Makes the senders of e-mails and SMS that the settings name, and the outbox of this process.

Here: reading the settings of senders, decrypting the text of a message. Not here: sending (`delivery`).
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from keystead.api.identifiers import new_id
from keystead.delivery.kept import KeepingSender, KeptMessages
from keystead.delivery.message import Message
from keystead.delivery.outbox import Outbox
from keystead.delivery.sender import LogSender, Sender, SendFailed
from keystead.organizations.contacts.outgoing_messages import MessageChannel, OutgoingMessage
from keystead.pipeline.ports import Clock
from keystead.pipeline.signer_port import Signer
from keystead.server.settings.settings import Settings, SettingsError
from keystead.storage.store import DatabaseStore

HOOK_SECRET_BYTES_MIN = 32

_SENDER_IN_DEVELOPMENT = "dev@localhost"


class Senders(msgspec.Struct, frozen=True):
    """`keeps_text`: a development server keeps the text of every message, and does not send those for whose channel
    no sender is set. `sender_address`: the sender of
    e-mails; "" if there is none."""

    by_channel: Mapping[MessageChannel, Sender]
    keeps_text: bool = False
    sender_address: str = ""


def senders_of(settings: Settings, clock: Clock) -> Senders:
    """The senders that the settings name. Messages of a channel without a sender are refused. Raises
    SettingsError."""
    by_channel: dict[MessageChannel, Sender] = {"log": LogSender()}
    if settings.message_hook_url:
        from keystead.delivery.hook import HookSender  # slow to import, and few servers need it

        if urlsplit(settings.message_hook_url).scheme != "https":
            raise SettingsError("setting KEYSTEAD_MESSAGE_HOOK_URL: expected an address that begins with https://")
        secret = _secret("MESSAGE_HOOK_SECRET_FILE", settings.message_hook_secret_file).encode()
        if len(secret) < HOOK_SECRET_BYTES_MIN:
            raise SettingsError(
                f"setting KEYSTEAD_MESSAGE_HOOK_SECRET_FILE: expected a secret of {HOOK_SECRET_BYTES_MIN} bytes or "
                f"more, got {len(secret)}"
            )
        hook = HookSender(settings.message_hook_url, secret, clock.now_ms)
        by_channel |= {"email": hook, "sms": hook}
    if settings.smtp_host:
        from keystead.delivery.smtp import SmtpSecurity, SmtpSender, SmtpServer  # as above

        if not settings.smtp_sender:
            raise SettingsError(
                "setting KEYSTEAD_SMTP_SENDER: set the sender's address; KEYSTEAD_SMTP_HOST needs it"
            )
        password_file = settings.smtp_password_file
        if bool(settings.smtp_username) != bool(password_file):
            raise SettingsError("settings KEYSTEAD_SMTP_USERNAME and KEYSTEAD_SMTP_PASSWORD_FILE: set both or none")
        server = SmtpServer(
            host=settings.smtp_host,
            port=settings.smtp_port,
            security=SmtpSecurity(settings.smtp_security),
            sender_address=settings.smtp_sender,
            username=settings.smtp_username or None,
            password=_secret("SMTP_PASSWORD_FILE", password_file) if password_file else None,
            ca_file=settings.smtp_ca_file or None,
        )
        try:
            by_channel["email"] = SmtpSender(server)
        except OSError as refused:
            raise SettingsError(f"setting KEYSTEAD_SMTP_CA_FILE: cannot be read: {refused}") from None
    if settings.mode == "dev":
        keeping = KeepingSender()
        kept: dict[MessageChannel, Sender] = {"email": keeping, "sms": keeping}
        return Senders(
            kept | by_channel, keeps_text=True, sender_address=settings.smtp_sender or _SENDER_IN_DEVELOPMENT
        )
    return Senders(by_channel, sender_address=settings.smtp_sender)


def outbox_of(senders: Senders, store: DatabaseStore, signer: Signer, clock: Clock, kept_ms: int) -> Outbox:
    """The loop of this process that sends waiting messages, including those that another process wrote."""
    return Outbox(
        store.deliveries,
        senders.by_channel,
        _opener(store, signer),
        now_ms=clock.now_ms,
        new_id=new_id,
        random_fraction=random.random,
        kept_ms=kept_ms,
        keeps_text=senders.keeps_text,
        default_sender=senders.sender_address,
    )


def kept_messages_of(senders: Senders, store: DatabaseStore, signer: Signer, clock: Clock) -> KeptMessages | None:
    """The messages that a development server keeps; None for a server that sends."""
    return KeptMessages(store.deliveries, _opener(store, signer), clock.now_ms) if senders.keeps_text else None


def _opener(store: DatabaseStore, signer: Signer) -> Callable[[OutgoingMessage], Awaitable[Message]]:
    async def open_message(row: OutgoingMessage) -> Message:
        """Raises SendFailed if the organization of the message was deleted."""
        organization = await store.organization(row.organization_id)
        if organization is None or organization.profile.deleted or row.sealed is None:
            raise SendFailed("the organization of the message was deleted", permanent=True)
        text = await signer.open_message(
            organization_id=organization.id,
            data_key=organization.data_key.sealed,
            message_id=row.id,
            sealed=row.sealed,
        )
        return msgspec.json.decode(text, type=Message)

    return open_message


def _secret(name: str, file: str) -> str:
    if not file:
        raise SettingsError(f"setting KEYSTEAD_{name}: set it to a file that holds the secret on one line")
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as refused:
        raise SettingsError(f"setting KEYSTEAD_{name}: cannot be read: {type(refused).__name__}") from None
