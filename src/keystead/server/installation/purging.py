"""Deleting what has expired: one-time codes, their counts, used tokens, messages, the events of e-mails,
entries of velocity controls.

Each process does it, in small steps that delay no request. Several may do it at the same time. Not here: which
tables these are (`storage.tables`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from keystead.failures.rounds import Rounds
from keystead.storage.tables import EXPIRING

logger = logging.getLogger("keystead.server")

ROWS_AT_ONCE = 200
"""Rows that one transaction deletes. Commits that wait for the same transaction wait for this."""

PAUSE_S = 0.05
"""Seconds between two steps, so that the steps take a small share of the time of the database."""

FIRST_WITHIN_S, PERIOD_S = 60.0, 600.0
"""The first round begins within FIRST_WITHIN_S seconds. PERIOD_S: seconds between two rounds."""

GRACE_MS = 3_600_000
"""Rows are kept for this long after they have expired. So a late attempt at a code is told that the code has
expired, and the clocks of several machines may differ."""


class ExpiredRows(Protocol):
    """All methods raise Unavailable while the database does not answer."""

    async def has_expired(self, table: str, before_ms: int) -> bool: ...

    async def purge_expired(self, table: str, before_ms: int, limit: int) -> None: ...

    async def has_old_entries(self) -> bool: ...

    async def purge_entries(self, limit: int) -> None: ...


async def purge_expired(rows: ExpiredRows, now_ms: int) -> int:
    """Delete every row that has expired, step by step. Returns the number of steps."""
    steps, before_ms = 0, now_ms - GRACE_MS
    for table in EXPIRING:
        while await rows.has_expired(table.name, before_ms):
            await rows.purge_expired(table.name, before_ms, ROWS_AT_ONCE)
            steps += 1
            await asyncio.sleep(PAUSE_S)
    while await rows.has_old_entries():
        await rows.purge_entries(ROWS_AT_ONCE)
        steps += 1
        await asyncio.sleep(PAUSE_S)
    return steps


async def keep_purging(rows: ExpiredRows, now_ms: Callable[[], int], random_fraction: Callable[[], float]) -> None:
    """Purge from time to time until cancelled. Processes that started together do not purge together."""
    rounds = Rounds(logger, "expired rows could not be deleted", PERIOD_S)
    await rounds.wait(FIRST_WITHIN_S * random_fraction())
    while True:
        with rounds.logged():
            await purge_expired(rows, now_ms())
        await rounds.wait(PERIOD_S)
