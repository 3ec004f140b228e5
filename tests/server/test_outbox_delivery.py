"""From init_otp to a real mail server, on both databases: a process that is killed loses and repeats nothing."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller

from keystead.delivery.outbox import LEASE_MS
from tests.conftest import MakeDatabase, StartServer
from tests.support.callers import Caller
from tests.support.codes import outbox_of
from tests.support.example_codes import an_address, code_params
from tests.support.hanging import PATIENCE_S
from tests.support.moved_clock import MovedClock
from tests.support.servers import Installation, bootstrap_installation, running


class Mailbox:
    def __init__(self) -> None:
        self.taken: list[bytes] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.taken.append(envelope.content)
        return "250 OK: queued"


class SilentMailbox(Mailbox):
    """Gets messages and never says that it took them."""

    def __init__(self) -> None:
        super().__init__()
        self.got_one = threading.Event()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.got_one.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")


@contextmanager
def mail_server(port: int, mailbox: Mailbox | None = None, **options: Any) -> Iterator[Mailbox]:
    """`options`: of the package's SMTP server, such as its certificate."""
    mailbox = mailbox or Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def events(caller: Caller, address: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.asked("list_email_events", email=address)["emailEvents"]
    return found


def wait_for_event(caller: Caller, address: str, event_type: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := [one for one in events(caller, address) if one["eventType"] == event_type]):
        assert time.monotonic() < deadline, events(caller, address)
        time.sleep(0.05)
    return found[0]


def test_a_message_outlives_the_process_that_wrote_it(installation: Installation, start: StartServer) -> None:
    address, port = an_address(), free_port()
    server = start(installation, smtp_port=port)
    server.caller.result("init_otp", code_params(address))
    delayed = wait_for_event(server.caller, address, "DeliveryDelay")
    assert delayed["details"]["diagnosticCode"].startswith("the server could not be reached")
    server.kill()
    with mail_server(port) as mailbox:
        server.start()
        sent = wait_for_event(server.caller, address, "Send")
        assert sent["messageId"] == delayed["messageId"]
        assert (sent["fromAddress"], sent["toAddress"]) == ("wallets@example.com", address)
        server.stop()
        server.start()
        other = an_address()
        server.caller.result("init_otp", code_params(other))
        wait_for_event(server.caller, other, "Send")
    messages = [message_from_bytes(one, policy=default) for one in mailbox.taken]
    assert [message["To"] for message in messages] == [address, other], "each was sent once"
    text = messages[0].get_body(("plain",))
    assert text is not None
    (code,) = re.findall(r"is: (\w+)", text.get_content())
    server.stop()
    assert code not in server.log.read_text()


def test_a_message_that_nobody_takes_is_given_up(installation: Installation, start: StartServer) -> None:
    address = an_address()
    server = start(installation, smtp_port=free_port(), messages_last_s=1)
    server.caller.result("init_otp", code_params(address))
    wait_for_event(server.caller, address, "Bounce")
    assert [one["eventType"] for one in events(server.caller, address)] == ["Bounce"]


def test_a_message_of_a_killed_process_is_sent_by_another_when_its_lease_is_over(
    installation: Installation, tmp_path: Path
) -> None:
    """And by nobody once its success is on record, however much time passes, and if any process is killed."""
    clock, silent, ports = MovedClock(tmp_path / "clock"), SilentMailbox(), (free_port(), free_port())
    first, second, third = (an_address() for _ in range(3))
    settings = [{"smtp_port": port} for port in ports]
    with (
        mail_server(ports[0], silent),
        mail_server(ports[1]) as mailbox,
        running(installation, tmp_path / "killed", settings[0], clock) as killed,
    ):
        killed.caller.result("init_otp", code_params(first))
        assert silent.got_one.wait(PATIENCE_S)
        with running(installation, tmp_path / "other", settings[1], clock) as other:
            killed.kill()
            other.caller.result("init_otp", code_params(second))
            wait_for_event(other.caller, second, "Send")
            assert recipients(mailbox) == [second], "the first message is leased"
            clock.advance(LEASE_MS // 1000)
            wait_for_event(other.caller, first, "Send")
            other.kill()
            clock.advance(2 * LEASE_MS // 1000)
            other.start()
            other.caller.result("init_otp", code_params(third))
            wait_for_event(other.caller, third, "Send")
            assert [one["eventType"] for one in events(other.caller, first)] == ["Send"]
    assert recipients(mailbox) == [second, first, third]


def recipients(mailbox: Mailbox) -> list[str]:
    return [str(message_from_bytes(one, policy=default)["To"]) for one in mailbox.taken]


def test_a_development_server_keeps_messages_over_restarts_and_for_every_process(
    make_database: MakeDatabase, tmp_path: Path
) -> None:
    installation = bootstrap_installation(make_database(), mode="dev")
    address = an_address()
    with running(installation, tmp_path / "first") as server:
        server.caller.result("init_otp", code_params(address))
        code = outbox_of(server).code(address)
    values = installation.database.values()
    assert not any(code.encode() in value for value in values), "its text is sealed"
    with running(installation, tmp_path / "second") as second, running(installation, tmp_path / "third") as third:
        for server in (second, third):
            assert outbox_of(server).code(address) == code
        second.caller.result("init_otp", code_params(address))
        newest = outbox_of(third).code(address, count=2)
        assert [one.secret for one in outbox_of(second).messages(address)] == [code, newest]
    installation.database.close()
