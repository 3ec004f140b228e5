"""The rows of the installation: its values, the processes that serve; and what commands read of its organizations.

Here: these reads and writes, for both databases. Each write is one commit. Not here: what the values mean
(`server`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.lookups import Lookup, LookupKind
from keystead.pipeline.store import CommitResult, Page
from keystead.storage import row_decoding
from keystead.storage.database import LOWEST, Queries
from keystead.storage.errors import NotMigrated
from keystead.storage.rows import InstanceValueSwap, Rows


class StoredVersions(msgspec.Struct, frozen=True):
    """What the row of an organization says, and what its records say.

    `version`: of the organization. `record_count`: how many records it had in version `counted_version`; both are
    None if a server of an earlier release wrote the row. `newest_record`: the newest version of a record, None
    without records. `records`: how many there are.
    """

    parent_id: str | None
    version: int
    record_count: int | None
    counted_version: int | None
    newest_record: int | None
    records: int


class DatabaseFacts(msgspec.Struct, frozen=True):
    """`software`: its name and version. `size`: of this database, in bytes."""

    software: str
    size: int


class InstallationRows:
    """`commit` commits rows of no organization. Every method raises Unavailable while the database does not
    answer."""

    def __init__(self, queries: Queries, commit: Callable[[str, Rows], Awaitable[CommitResult]]) -> None:
        self._queries = queries
        self._commit = commit

    async def value(self, name: str) -> bytes | None:
        """A value of the whole instance, such as the id of its first organization; None for an unknown name."""
        selected = await self._queries.select(self._queries.reads.instance_value, name=name)
        return selected[0][0] if selected else None

    async def set_value(self, name: str, value: bytes) -> None:
        """Write a value of the instance, and replace the value that it has."""
        while True:
            before = await self.value(name)
            if before is None:
                if await self.add_value(name, value):
                    return
            elif before == value or await self.replace_value(name, before, value):
                return

    async def add_value(self, name: str, value: bytes) -> bool:
        """Write a new value of the instance; False, with nothing changed, if it has one of this name."""
        rows = Rows(inserted=[("instance", (name, value))])
        return await self._commit("", rows) is CommitResult.COMMITTED

    async def replace_value(self, name: str, before: bytes, after: bytes) -> bool:
        """Replace a value of the instance; False, with nothing changed, if `before` is no longer its value."""
        swap = InstanceValueSwap(name, before, after)
        rows = Rows(instance_value_swaps=[swap])
        return await self._commit("", rows) is CommitResult.COMMITTED

    async def write_process(self, process_id: str, expires_at_ms: int, body: bytes) -> None:
        """Write or renew the row of a process that serves."""
        await self._commit("", Rows(inserted=[("process", (process_id, expires_at_ms, body))]))

    async def delete_process(self, process_id: str) -> None:
        """Delete the row of a process that ends."""
        await self._commit("", Rows(deleted=[("process", (process_id,))]))

    async def processes(self, now_ms: int) -> list[bytes]:
        """The rows of the processes that serve (`server.installation.processes`)."""
        return [body for (body,) in await self._queries.select(self._queries.reads.processes, now_ms=now_ms)]

    async def data_keys(self, page: Page) -> list[tuple[str, SealedDataKey]]:
        """The data key of every organization, with its id, in order of ids. `page.after` may be any id."""
        selected = await self._queries.select(
            self._queries.reads.data_keys_above, cursor=page.after or LOWEST, limit=page.limit
        )
        return [(organization_id, row_decoding.data_key_from(body)) for organization_id, body in selected]

    async def stored_versions(self, organization_id: str) -> StoredVersions | None:
        """The versions in the rows of an organization; None if there is no such organization."""
        selected = await self._queries.select(self._queries.reads.stored_versions, id=organization_id)
        return StoredVersions(*selected[0]) if selected else None

    async def ids_not_on_record(self, organization_ids: Sequence[str]) -> list[str]:
        """Those of these ids that no organization has."""
        ids = self._queries.list_argument(organization_ids)
        known = {row[0] for row in await self._queries.select(self._queries.reads.versions, ids=ids)}
        return [id_ for id_ in organization_ids if id_ not in known]

    async def lookups_of(self, organization_id: str) -> dict[Lookup, str]:
        """Every look-up of an organization, with the parent under which it is stored; "" without a parent. Raises
        ValueError for an unknown kind."""
        selected = await self._queries.select(self._queries.reads.lookups_of, organization_id=organization_id)
        return {
            Lookup(LookupKind(kind), value, holder_id): parent_id for kind, value, holder_id, parent_id in selected
        }

    async def organization_count(self, limit: int) -> int:
        """The number of organizations, deleted ones included, counted up to `limit`."""
        return int(
            (await self._queries.select(self._queries.reads.organization_count, cursor=LOWEST, limit=limit))[0][0]
        )

    async def database_facts(self) -> DatabaseFacts:
        """The software of the database, and the size of this one."""
        return DatabaseFacts(*(await self._queries.select(self._queries.reads.database_facts))[0])

    async def schema_objects(self) -> list[tuple[str, str, str]]:
        """The tables, views, indexes and functions of the database: kind, name, and a function's definition."""
        return [
            (kind, name, definition)
            for kind, name, definition in await self._queries.select(self._queries.reads.schema_objects)
        ]

    async def schema_version(self) -> int:
        """The number of the last migration that was run; 0 if there are no tables."""
        try:
            selected = await self._queries.select(self._queries.reads.schema_version)
        except NotMigrated:
            return 0
        return int(selected[0][0]) if selected else 0
