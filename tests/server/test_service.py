"""The parts of a server: a start that fails closes what was opened, a background task that fails is logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from keystead.api.errors import Unavailable
from keystead.keys import master_key
from keystead.server import service as service_module
from keystead.server.background import background_task
from keystead.server.opening import NotReady, Opened
from keystead.server.service import Service
from keystead.server.settings.settings import Settings, SettingsError
from tests.support.servers import Installation

Work = Callable[[], Coroutine[Any, Any, None]]


async def _unavailable(*_: object) -> None:
    raise Unavailable("the database does not answer; send the request again")


@pytest.mark.parametrize(
    ("ca_file", "announcement_fails", "expected"),
    [
        ("/there/is/none.pem", False, (SettingsError, "KEYSTEAD_WEBHOOK_CA_FILE")),
        ("", True, (NotReady, "the database does not answer$")),
    ],
    ids=["a setting", "the database"],
)
def test_a_start_that_fails_closes_the_database(
    ca_file: str,
    announcement_fails: bool,
    expected: tuple[type[Exception], str],
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key_file = tmp_path / "master.key"
    master_key.create(key_file, installation.master_key)
    settings = Settings(
        database_url=installation.database.url, master_key_file=str(key_file), webhook_ca_file=ca_file
    )
    closed: list[Opened] = []
    close = Opened.close

    async def noted(opened: Opened) -> None:
        closed.append(opened)
        await close(opened)

    monkeypatch.setattr(Opened, "close", noted)
    if announcement_fails:
        monkeypatch.setattr(service_module, "announce", _unavailable)
    kind, message = expected
    with pytest.raises(kind, match=message):
        asyncio.run(Service(settings).open())
    assert len(closed) == 1


async def _fails() -> None:
    raise RuntimeError("a defect")


async def _waits() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(("work", "lines"), [(_fails, 1), (_waits, 0)], ids=["fails", "is cancelled"])
def test_a_background_task_that_fails_is_logged(work: Work, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        task = background_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with caplog.at_level(logging.ERROR, logger="keystead"):
        asyncio.run(story())
    assert len([record for record in caplog.records if "background task" in record.message]) == lines
