"""/dev/v1/snapshots, /dev/v1/restore, /dev/v1/reset: named snapshots of everything stored, and going back to one.

The snapshot "start" is taken when the server starts. They are in memory, and end with the server. Not here: copying
the tables (`storage.sqlite_snapshots`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from keystead.api.errors import InvalidRequest, LimitReached, NotFound
from keystead.api.identifiers import Uuid
from keystead.server.development.control import Control, ControlAnswer, ControlRequest
from keystead.storage.sqlite import SqliteStore
from keystead.storage.sqlite_snapshots import Snapshot, put_back, put_organization_back, take_snapshot

START = "start"
SNAPSHOTS_MAX = 20
BYTES_MAX = 1024 * 1024 * 1024
"""Of all snapshots together."""

Name = Annotated[str, Meta(min_length=1, max_length=64)]


class SnapshotNames(ControlAnswer, frozen=True):
    """In the order in which they were taken."""

    snapshots: tuple[str, ...]


class SnapshotChange(ControlRequest, frozen=True):
    """name: what the snapshot that is taken now is called; one of that name is replaced."""

    name: Name


class RestoreChange(ControlRequest, frozen=True):
    """name: the snapshot to go back to. It stays."""

    name: Name


class ResetChange(ControlRequest, frozen=True):
    """organization_id: the organization that goes back to how it was when the server started, with its
    sub-organizations; one that was made since is removed. Without it everything goes back: what is stored,
    messages, requests seen, faults, outcomes, rate limit and clock."""

    organization_id: Uuid | None = None


class Snapshots:
    """`forget` is called after everything went back to its start.

    One change at a time: the limits count what other calls take, and no snapshot is closed while it is put back.
    """

    def __init__(self, store: SqliteStore, forget: Callable[[], None]) -> None:
        self._store = store
        self._forget = forget
        self._taken: dict[str, Snapshot] = {}
        self._changing = asyncio.Lock()

    async def take_start(self) -> None:
        """Remember how everything is now as the start."""
        self._taken[START] = await take_snapshot(self._store)

    def state(self) -> SnapshotNames:
        return SnapshotNames(snapshots=tuple(self._taken))

    async def take(self, change: SnapshotChange) -> SnapshotNames:
        """Raises InvalidRequest for the name "start", LimitReached for too many or too large ones."""
        if change.name == START:
            raise InvalidRequest(f"field `name`: {START!r} is how everything was when the server started")
        async with self._changing:
            if len(self._taken) >= SNAPSHOTS_MAX and change.name not in self._taken:
                raise LimitReached(f"there are {SNAPSHOTS_MAX} snapshots: take one of their names again")
            others = sum(one.bytes for name, one in self._taken.items() if name != change.name)
            taken = await take_snapshot(self._store)
            if others + taken.bytes > BYTES_MAX:
                taken.close()
                raise LimitReached(f"the snapshots would take more than {BYTES_MAX} bytes of memory")
            replaced = self._taken.pop(change.name, None)
            if replaced is not None:
                replaced.close()
            self._taken[change.name] = taken
            return self.state()

    async def restore(self, change: RestoreChange) -> SnapshotNames:
        """Raises NotFound."""
        async with self._changing:
            snapshot = self._taken.get(change.name)
            if snapshot is None:
                raise NotFound(
                    f"field `name`: there is no snapshot {change.name!r}; there are {', '.join(self._taken)}"
                )
            await put_back(self._store, snapshot)
            return self.state()

    async def reset(self, change: ResetChange) -> SnapshotNames:
        """Raises NotFound for an organization that is neither here nor was here at the start."""
        async with self._changing:
            start = self._taken[START]
            if change.organization_id is None:
                await put_back(self._store, start)
                self._forget()
            elif not await put_organization_back(self._store, start, change.organization_id):
                raise NotFound(f"field `organizationId`: there is no organization {change.organization_id}")
            return self.state()

    def controls(self) -> tuple[Control, ...]:
        return (
            Control(name="snapshots", read=self.state, change=self.take, change_type=SnapshotChange),
            Control(name="restore", change=self.restore, change_type=RestoreChange),
            Control(name="reset", change=self.reset, change_type=ResetChange),
        )
