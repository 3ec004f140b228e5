"""Every place that logs a defect logs where it was, and no message of an exception."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec
import pytest

from keystead.api.developer_controls import Control, ControlAnswer
from keystead.delivery.outbox import Outbox
from keystead.delivery.webhooks.dispatcher import WebhookDispatcher
from keystead.organizations.contacts.outgoing_messages import OutgoingMessage
from keystead.organizations.kinds.data_key import Sealed
from keystead.server.application import Application
from keystead.server.background import background_task, log_unhandled
from keystead.server.development.application import DevelopmentApplication
from keystead.server.development.control import ServedControl
from keystead.server.http.messages import CallerAddress, HttpAnswer, HttpRequest
from keystead.server.installation.deletions import Deletions
from keystead.server.installation.purging import keep_purging
from keystead.server.service import Service
from keystead.server.settings.settings import AllSettings
from keystead.signer.long_calls import LongCalls
from keystead.signer.process import ServerConnection
from keystead.signer.process import _log_unhandled as log_unhandled_of_signer
from keystead.signer.rpc import Request
from keystead.storage.errors import duplicate_key_error, failed_write_error
from tests.support.logged_lines import logged_lines
from tests.support.raised_defects import DEFECTS, SECRET, raised
from tests.support.webhook_dispatching import an_organization, waiting

Place = Callable[[Exception], Coroutine[Any, Any, None]]


class Failing:
    """Every method, of any name and arguments, raises the error; `results` are returned instead."""

    def __init__(self, error: Exception, **results: Any) -> None:
        self._error = error
        self._results = results

    @property
    def deliveries(self) -> Failing:
        return self

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def method(*_: object, **__: object) -> Any:
            if name in self._results:
                return self._results[name]
            raise self._error

        return method


async def some_turns(work: Coroutine[Any, Any, None]) -> None:
    """Run a loop of the server for some turns of the event loop."""
    task = asyncio.create_task(work)
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


MESSAGE = OutgoingMessage(
    id="m1",
    organization_id="o",
    channel="email",
    recipient="a@example.com",
    sender="",
    sealed=Sealed("key", b"text"),
    created_at_ms=0,
    due_ms=0,
    give_up_at_ms=10**9,
    expires_at_ms=10**9,
)


def outbox(store: Any, error: Exception) -> Outbox:
    sender: Any = Failing(error)
    return Outbox(
        store,
        {"email": sender},
        Failing(error).open_message,
        now_ms=lambda: 0,
        new_id=lambda: "event",
        random_fraction=lambda: 0.0,
        kept_ms=0,
    )


def dispatcher(store: Any, send: Any = None) -> WebhookDispatcher:
    return WebhookDispatcher(store, send, holder="p", now_ms=lambda: 0, random_fraction=lambda: 0.0)


async def reading_the_outbox(error: Exception) -> None:
    await some_turns(outbox(Failing(error), error).run())


async def sending_a_message(error: Exception) -> None:
    await outbox(Failing(error, lease_messages=[MESSAGE]), error).send_due()


async def reading_webhooks(error: Exception) -> None:
    await some_turns(dispatcher(Failing(error)).run())


async def delivering_webhooks(error: Exception) -> None:
    running = dispatcher(Failing(error, waiting_endpoints=["e"]))
    await running.scan()
    await asyncio.wait(running.serving)


async def sending_a_webhook(error: Exception) -> None:
    store: Any = Failing(
        error,
        waiting_endpoints=["e"],
        waiting_deliveries=[waiting("e", "a")],
        webhook_lease=None,
        write_webhook_lease=True,
        organization=an_organization("e"),
        webhook_event=b"{}",
        record_deliveries=True,
    )
    running = dispatcher(store, Failing(error).send)
    await running.scan()
    await asyncio.wait(running.serving)


async def purging(error: Exception) -> None:
    store: Any = Failing(error)
    await some_turns(keep_purging(store, lambda: 0, lambda: 0.0))


async def finishing_deletions(error: Exception) -> None:
    store: Any = SimpleNamespace(purger=Failing(error))
    deletions = Deletions(store, lambda: 1.0)
    deletions.note_removal("o", begins_deletion=True)
    await some_turns(deletions.run())


async def a_background_task(error: Exception) -> None:
    await asyncio.wait([background_task(Failing(error).run())])  # type: ignore[arg-type]
    await asyncio.sleep(0)


async def the_event_loop(error: Exception) -> None:
    def fail() -> NoReturn:
        raise error

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    loop.call_soon(fail)
    await asyncio.sleep(0)


async def a_request(error: Exception) -> None:
    service: Any = Service(AllSettings(database_url="sqlite:///none.db", log_requests=False))
    service.healthz = Failing(error).healthz
    answer = await Application(service).answer(HttpRequest(method="GET", path="/healthz"))
    assert_hides(answer, error)


async def a_control(error: Exception) -> None:
    def read() -> NoReturn:
        raise error

    unused: Any = None
    inner = Application(Service(AllSettings(database_url="sqlite:///none.db", log_requests=False)))
    broken = ServedControl(declared=Control("broken", ControlAnswer), read=read)
    application = DevelopmentApplication(inner, [broken], unused, unused, unused, unused)
    request = HttpRequest(
        method="GET",
        path="/dev/v1/broken",
        headers=[(b"host", b"localhost")],
        client=CallerAddress(text="127.0.0.1"),
    )
    assert_hides(await application.answer(request), error)


def assert_hides(answer: HttpAnswer, error: Exception) -> None:
    assert answer.status == 500
    assert SECRET.encode() not in answer.body
    assert type(error).__name__.encode() not in answer.body


async def a_commit(error: Exception) -> None:
    failed_write_error(error)


async def a_commit_that_contradicts(error: Exception) -> None:
    duplicate_key_error(error)


async def a_library(error: Exception) -> None:
    logging.getLogger("a library").error("it failed", exc_info=error)


PLACES: Sequence[Place] = (
    reading_the_outbox,
    sending_a_message,
    reading_webhooks,
    delivering_webhooks,
    sending_a_webhook,
    purging,
    finishing_deletions,
    a_background_task,
    the_event_loop,
    a_request,
    a_control,
    a_commit,
    a_commit_that_contradicts,
    a_library,
)


@pytest.mark.parametrize("name", DEFECTS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_message_is_logged(place: Place, name: str, caplog: pytest.LogCaptureFixture) -> None:
    error, expected = raised(name)
    asyncio.run(place(error))
    assert SECRET not in logged_lines(caplog.records)
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    lines = logged_lines([record])
    assert msgspec.json.decode(lines.splitlines()[0])["traceback"].splitlines()[0] == expected[0]
    for part in (*expected, ", in failing"):
        assert lines.count(part) >= 2, "in both forms of the log"
    if place is not a_library:
        assert SECRET not in caplog.text
        assert f"because of a defect of the server: {expected[0]}" in record.getMessage()


async def a_call_of_the_signer(error: Exception) -> None:
    connection: Any = ServerConnection(None, LongCalls())  # type: ignore[arg-type]
    connection._result = Failing(error).result
    connection._transport = SimpleNamespace(is_closing=lambda: True)
    await connection._answer(Request(number=1, call="sign", arguments=msgspec.Raw(b"")))


async def the_event_loop_of_the_signer(error: Exception) -> None:
    log_unhandled_of_signer(asyncio.get_running_loop(), {"message": SECRET, "exception": error})


@pytest.mark.parametrize("name", DEFECTS)
@pytest.mark.parametrize("place", [a_call_of_the_signer, the_event_loop_of_the_signer])
def test_the_signer_logs_no_message(place: Place, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    error, expected = raised(name)
    asyncio.run(place(error))
    line = msgspec.json.decode(capsys.readouterr().err)
    assert line["level"] == "error"
    assert SECRET not in f"{line}"
    assert [part for part in line["traceback"].splitlines() if not part.startswith("  ")] == expected
    assert ", in failing" in line["traceback"]
