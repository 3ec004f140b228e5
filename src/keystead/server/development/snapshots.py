"""/dev/v1/snapshots, /dev/v1/restore, /dev/v1/reset: takes named snapshots of the database, and restores them.

The snapshot "start" is taken when the server starts. Snapshots are in memory, and are lost when the server stops.
Not here: copying the tables (`storage.sqlite.snapshots`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from keystead.api import developer_controls
from keystead.api.errors import InvalidRequest, LimitReached, NotFound
from keystead.server.bounds import SNAPSHOTS_BYTES_MAX, SNAPSHOTS_MAX
from keystead.server.development.control import ServedControl
from keystead.storage.sqlite.snapshots import Snapshot, restore_organization, restore_snapshot, take_snapshot
from keystead.storage.store import DatabaseStore

START = "start"


class Snapshots:
    """`forget` is called after everything was reset.

    Changes run one after the other, so that the limits hold and no snapshot is closed while it is restored.
    """

    def __init__(self, store: DatabaseStore, forget: Callable[[], None]) -> None:
        self._store = store
        self._forget = forget
        self._taken: dict[str, Snapshot] = {}
        self._changing = asyncio.Lock()

    async def take_start(self) -> None:
        """Take the snapshot "start"."""
        self._taken[START] = await take_snapshot(self._store)

    def state(self) -> developer_controls.SnapshotNames:
        return developer_controls.SnapshotNames(snapshots=tuple(self._taken))

    async def take(self, change: developer_controls.SnapshotUpdate) -> developer_controls.SnapshotNames:
        """Raises InvalidRequest for the name "start", LimitReached for too many or too large ones."""
        if change.name == START:
            raise InvalidRequest(f"field `name`: {START!r} is the snapshot of the start; choose another name")
        async with self._changing:
            if len(self._taken) >= SNAPSHOTS_MAX and change.name not in self._taken:
                raise LimitReached(
                    f"there are {SNAPSHOTS_MAX} snapshots already; use the name of one of them to replace it"
                )
            others = sum(snapshot.bytes for name, snapshot in self._taken.items() if name != change.name)
            taken = await take_snapshot(self._store)
            if others + taken.bytes > SNAPSHOTS_BYTES_MAX:
                taken.close()
                raise LimitReached(f"the snapshots would take more than {SNAPSHOTS_BYTES_MAX} bytes of memory")
            replaced = self._taken.pop(change.name, None)
            if replaced is not None:
                replaced.close()
            self._taken[change.name] = taken
            return self.state()

    async def restore(self, change: developer_controls.RestoreUpdate) -> developer_controls.SnapshotNames:
        """Raises NotFound."""
        async with self._changing:
            snapshot = self._taken.get(change.name)
            if snapshot is None:
                raise NotFound(
                    f"field `name`: there is no snapshot {change.name!r}; there are {', '.join(self._taken)}"
                )
            await restore_snapshot(self._store, snapshot)
            return self.state()

    async def reset(self, change: developer_controls.ResetUpdate) -> developer_controls.SnapshotNames:
        """Raises NotFound for an organization that does not exist and did not exist at the start."""
        async with self._changing:
            start = self._taken[START]
            if change.organization_id is None:
                await restore_snapshot(self._store, start)
                self._forget()
            elif not await restore_organization(self._store, start, change.organization_id):
                raise NotFound(f"field `organizationId`: there is no organization {change.organization_id}")
            return self.state()

    def controls(self) -> tuple[ServedControl, ...]:
        return (
            ServedControl(declared=developer_controls.SNAPSHOTS, read=self.state, change=self.take),
            ServedControl(declared=developer_controls.RESTORE, change=self.restore),
            ServedControl(declared=developer_controls.RESET, change=self.reset),
        )
