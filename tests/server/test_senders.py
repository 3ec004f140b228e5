"""From settings to the senders of messages: required settings, and the errors for wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keystead.delivery.hook import HookSender
from keystead.delivery.kept import KeepingSender
from keystead.delivery.sender import LogSender
from keystead.delivery.smtp import SmtpSender
from keystead.server.senders import senders_of
from keystead.server.settings.settings import Settings, SettingsError
from keystead.server.sources import SystemClock

SMTP = {"smtp_host": "mail.example.com", "smtp_sender": "wallets@example.com"}
HOOK = {"message_hook_url": "https://example.com/messages"}


class Case(NamedTuple):
    name: str
    settings: dict[str, Any]
    senders: dict[str, type]


CASES = [
    Case("nothing is set: nothing is sent", {}, {}),
    Case("a mail server sends e-mails alone", SMTP, {"email": SmtpSender}),
    Case("a hook takes both", HOOK, {"email": HookSender, "sms": HookSender}),
    Case("a mail server beside a hook", {**SMTP, **HOOK}, {"email": SmtpSender, "sms": HookSender}),
    Case("a development server keeps both", {"mode": "dev"}, {"email": KeepingSender, "sms": KeepingSender}),
    Case("it sends where it is told how", {"mode": "dev", **SMTP}, {"email": SmtpSender, "sms": KeepingSender}),
]


@pytest.fixture
def secret_file(tmp_path: Path) -> str:
    file = tmp_path / "secret"
    file.write_text("s" * 32 + "\n")
    return str(file)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_senders(case: Case, secret_file: str) -> None:
    settings = Settings(database_url="", message_hook_secret_file=secret_file, **case.settings)
    senders = senders_of(settings, SystemClock())
    by_channel = {channel: type(sender) for channel, sender in senders.by_channel.items()}
    assert by_channel == {"log": LogSender, **case.senders}


REFUSED = [
    ({"smtp_host": "mail.example.com"}, "KEYSTEAD_SMTP_SENDER: set"),
    ({**SMTP, "smtp_username": "name"}, "set both or none"),
    ({**SMTP, "smtp_username": "name", "smtp_password_file": "/nowhere"}, "KEYSTEAD_SMTP_PASSWORD_FILE: cannot be"),
    ({**SMTP, "smtp_ca_file": "/nowhere"}, "KEYSTEAD_SMTP_CA_FILE: cannot be read"),
    ({"message_hook_url": "http://example.com"}, "https://"),
    (HOOK, "KEYSTEAD_MESSAGE_HOOK_SECRET_FILE: set it to a file"),
    ({**HOOK, "message_hook_secret_file": "SHORT"}, "32 bytes or more, got 5"),
]


@pytest.mark.parametrize(("settings", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_wrong_settings(settings: dict[str, Any], told: str, tmp_path: Path) -> None:
    if settings.get("message_hook_secret_file") == "SHORT":
        short = tmp_path / "short"
        short.write_text("short")
        settings = {**settings, "message_hook_secret_file": str(short)}
    with pytest.raises(SettingsError, match=told):
        senders_of(Settings(database_url="", **settings), SystemClock())
