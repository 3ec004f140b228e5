"""The task of a server that purges what has expired: it begins soon, and outlives a failure of the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from keystead.api.errors import Unavailable
from keystead.server.installation import purging
from keystead.server.installation.purging import GRACE_MS, ROWS_AT_ONCE, keep_purging
from keystead.storage.tables import EXPIRING
from tests.support.hanging import PATIENCE_S

NOW_MS = 10 * GRACE_MS


class Rows:
    """A store in which `expired` rows of one table have expired. `failures`: what it raises first."""

    def __init__(self, expired: int, failures: Sequence[Exception] = ()) -> None:
        self.expired = expired
        self.failures = list(failures)
        self.is_empty = asyncio.Event()

    async def has_expired(self, table: str, before_ms: int) -> bool:
        assert before_ms == NOW_MS - GRACE_MS
        if self.failures:
            raise self.failures.pop()
        return table == EXPIRING[-1].name and self.expired > 0

    async def has_old_entries(self) -> bool:
        return False

    async def purge_entries(self, limit: int) -> None:
        raise NotImplementedError

    async def purge_expired(self, table: str, before_ms: int, limit: int) -> None:
        assert (table, before_ms, limit) == (EXPIRING[-1].name, NOW_MS - GRACE_MS, ROWS_AT_ONCE)
        self.expired = max(0, self.expired - limit)
        if not self.expired:
            self.is_empty.set()


AWAY, DEFECT = Unavailable("the database does not answer"), KeyError("name")
LOGGED = {
    AWAY: "expired rows could not be deleted: the database does not answer",
    DEFECT: "expired rows could not be deleted because of a defect of the server: KeyError",
}


@pytest.mark.parametrize("failures", [[], [AWAY, AWAY], [DEFECT]], ids=["none", "an outage", "a defect"])
def test_what_has_expired_is_purged_after_failures(
    failures: list[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(purging, "PERIOD_S", 0.0)
    monkeypatch.setattr(purging, "PAUSE_S", 0.0)

    async def story() -> None:
        rows = Rows(2 * ROWS_AT_ONCE + 1, failures)
        task = asyncio.create_task(keep_purging(rows, lambda: NOW_MS, lambda: 0.0))
        await asyncio.wait_for(rows.is_empty.wait(), PATIENCE_S)
        task.cancel()

    with caplog.at_level(logging.WARNING, logger="keystead.server"):
        asyncio.run(story())
    assert [record.message for record in caplog.records] == [LOGGED[failure] for failure in failures]
