"""A store in memory, for one organization, whose commits a test can hold back, refuse or precede."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from keystead.activities.activity import Activity
from keystead.activities.store import Commit, CommitOutcome
from keystead.organizations.organization import Organization

Outcome = CommitOutcome | Exception


class FakeStore:
    """Implements as much of `activities.store.Store` as a submission needs.

    `before_commit` runs when a commit is handed in, as if another process had been faster. While `holding`, commits
    wait for `release`.
    """

    def __init__(self, organization: Organization) -> None:
        self.current = organization
        self.activities: dict[str, Activity] = {}
        self.handed_in: list[Commit] = []
        self.holding = False
        self.before_commit: Callable[[Commit], Any] = lambda _: None
        self._held: list[tuple[Commit, asyncio.Future[CommitOutcome]]] = []

    async def organization(self, organization_id: str) -> Organization | None:
        return self.current if organization_id == self.current.id else None

    async def activity_with_fingerprint(self, organization_id: str, fingerprint: str) -> Activity | None:
        return self.activities.get(fingerprint)

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        self.before_commit(commit)
        self.handed_in.append(commit)
        future: asyncio.Future[CommitOutcome] = asyncio.get_running_loop().create_future()
        self._held.append((commit, future))
        if not self.holding:
            self.release()
        return future

    async def until_handed_in(self, count: int) -> None:
        """Until so many commits were handed in."""
        while len(self.handed_in) < count:  # noqa: ASYNC110 - a turn of the loop, not a time, is waited for
            await asyncio.sleep(0)

    def release(self, *outcomes: Outcome) -> None:
        """Settle what waits, in order: as the rules of a store say, or with these outcomes, one after the other."""
        self.holding = False
        forced = list(outcomes)
        while self._held:
            commit, future = self._held.pop(0)
            outcome = forced.pop(0) if forced else self._write(commit)
            if isinstance(outcome, CommitOutcome):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _write(self, commit: Commit) -> CommitOutcome:
        assert commit.activity is not None
        if commit.activity.fingerprint in self.activities:
            return CommitOutcome.DUPLICATE
        if commit.change is not None:
            if commit.change.before != self.current.version:
                return CommitOutcome.CONFLICT
            self.current = commit.change.after
        self.activities[commit.activity.fingerprint] = commit.activity
        return CommitOutcome.COMMITTED
