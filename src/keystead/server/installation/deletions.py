"""Finishing deletions: the rows of deleted wallets and organizations, and old tombstones of removed records.

Each process does this in small steps. It begins at once after a deletion of its own. When it starts, and then every
PERIOD_S, it also finishes deletions of other processes, such as one that was killed. Not here: the steps
(`storage.purger`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from keystead.failures.rounds import Rounds
from keystead.storage.purger import Deletion
from keystead.storage.store import DatabaseStore

logger = logging.getLogger("keystead.server")

ROWS_AT_ONCE: Final = 200
"""Rows that one transaction deletes, and as many look-ups. Commits that share the transaction wait for this."""

PAUSE_S: Final = 0.02
"""Seconds between two steps, so that the steps take a small share of the time of the database."""

FIRST_WITHIN_S, PERIOD_S = 5.0, 600.0
"""The first round begins within FIRST_WITHIN_S seconds, which are also the pause after a failure. PERIOD_S: seconds
between two rounds."""

TOMBSTONES_KEPT: Final = 100
"""How many tombstones of an organization are kept: the rows of removed records, by which other processes learn of
the removals. A process that missed more removals loads the whole organization, another only what changed."""

NOTED_MAX: Final = 10_000
"""The most organizations whose tombstones are purged in one round. Others wait for their next removal."""


class Deletions:
    """The deletions that this process has to finish."""

    def __init__(self, store: DatabaseStore, random_fraction: Callable[[], float]) -> None:
        self._store = store
        self._random_fraction = random_fraction
        self._removed_in: set[str] = set()
        self._rounds = Rounds(
            logger, "rows of deleted wallets and organizations could not be deleted", FIRST_WITHIN_S
        )

    def note_removal(self, organization_id: str, begins_deletion: bool) -> None:
        """Note that this process has committed the removal of records. `begins_deletion`: rows are left to
        delete."""
        if len(self._removed_in) < NOTED_MAX:
            self._removed_in.add(organization_id)
        if begins_deletion:
            self._rounds.wake()

    async def run(self) -> None:
        """Finish deletions until cancelled. Processes that started together do not begin together."""
        await self._rounds.wait(FIRST_WITHIN_S * self._random_fraction())
        while True:
            with self._rounds.logged():
                await finish_deletions(self._store, pause_s=PAUSE_S)
                await self._purge_tombstones()
            await self._rounds.wait(PERIOD_S)

    async def _purge_tombstones(self) -> None:
        while self._removed_in:
            organization_id = next(iter(self._removed_in))
            if not await self._store.purger.purge_tombstones(organization_id, TOMBSTONES_KEPT, ROWS_AT_ONCE):
                self._removed_in.discard(organization_id)
            await asyncio.sleep(PAUSE_S)


async def finish_deletions(store: DatabaseStore, *, pause_s: float = 0.0) -> int:
    """Delete, step by step, every row of deleted wallets and organizations. Returns the number of steps.

    Raises Unavailable; what was done until then stays done.
    """
    steps = 0
    while deletions := await store.purger.unfinished(limit=ROWS_AT_ONCE):
        for deletion in deletions:
            steps += await _finish(store, deletion, pause_s)
    return steps


async def _finish(store: DatabaseStore, deletion: Deletion, pause_s: float) -> int:
    organization = await store.organization(deletion.organization_id)
    parent_id = "" if organization is None else organization.profile.parent_id or ""
    steps = 1
    while await store.purger.take_step(deletion, parent_id, ROWS_AT_ONCE):
        steps += 1
        await asyncio.sleep(pause_s)
    return steps
