"""Organizations kept in memory, never shown before the store was asked whether they are still the newest.

Here: what is kept, catching up, and dropping what was long unused. Not here: the questions' SQL (`base`).
One event loop uses it; nothing here is for threads.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from keystead.organizations.organization import Change, Organization, Put, Version, apply_unordered, from_records
from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one process keeps; `bytes_max` is compared with an estimate."""

    organizations_max: int = 10_000
    bytes_max: int = 256 * 1024 * 1024


class ChangedSince(msgspec.Struct, frozen=True):
    """The newest version of an organization, and what became of each record after the version asked about.

    In no order. A removed record need not have been there in that version.
    """

    version: Version
    changes: Sequence[Change]


class Source(Protocol):
    """Both answers hold everything that was committed when the question was put."""

    async def version(self, organization_id: str) -> Version | None: ...

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """None asks for every record that is there."""
        ...


class _Entry:
    __slots__ = ("answers", "bytes", "organization")

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.answers: dict[Any, bytes] = {}
        self.bytes = organization.bytes


class OrganizationCache:
    def __init__(self, source: Source, limits: CacheLimits, kinds: RecordKinds = RECORD_KINDS) -> None:
        self._kinds = kinds
        self._source = source
        self._limits = limits
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0
        self._loads: dict[str, asyncio.Task[Organization | None]] = {}
        self._clearings = 0

    async def newest(self, organization_id: str) -> Organization | None:
        """The newest committed version: nothing that was reported before the call is missing from it."""
        return await self.at(organization_id, await self._source.version(organization_id))

    async def at(self, organization_id: str, version: Version | None) -> Organization | None:
        """A version that was the newest just now, or a newer one; None if there was none."""
        entry = self._entries.get(organization_id)
        if entry is not None and entry.organization.version == version:
            self._entries.move_to_end(organization_id)
            return entry.organization
        return await self._catch_up(organization_id, version)

    async def _catch_up(self, organization_id: str, version: Version | None) -> Organization | None:
        while version is not None:
            entry = self._entries.get(organization_id)
            if entry is not None and entry.organization.version.number >= version.number:
                if entry.organization.version == version:
                    return entry.organization
                # Either our own commit came between question and answer, or the database has lost commits (it
                # was restored, or another took its place). A second question, put after the entry was
                # committed, tells which.
                version = await self._source.version(organization_id)
                if version is None or version.number <= entry.organization.version.number:
                    if version == entry.organization.version:
                        return entry.organization
                    self._drop(organization_id)
                continue
            organization = await self._load(organization_id)
            # A load that began before our question may be older than its answer: then load again.
            if organization is None or organization.version.number >= version.number:
                return organization
        self._drop(organization_id)
        return None

    async def _load(self, organization_id: str) -> Organization | None:
        """Everybody who misses the same organization waits for one load of it."""
        load = self._loads.get(organization_id)
        if load is None:
            load = self._loads[organization_id] = asyncio.create_task(self._load_now(organization_id))
        return await asyncio.shield(load)

    async def _load_now(self, organization_id: str) -> Organization | None:
        try:
            return await self._loaded(organization_id)
        finally:
            # Here and not in a callback: whoever comes once the answer is known must begin a load of its own.
            del self._loads[organization_id]

    async def _loaded(self, organization_id: str) -> Organization | None:
        while True:
            clearings = self._clearings
            entry = self._entries.get(organization_id)
            known = entry.organization if entry is not None else None
            found = await self._source.changed_since(organization_id, known.version.number if known else None)
            if found is None:
                return None
            if known is None:
                records = [change.record for change in found.changes if isinstance(change, Put)]
                return self.keep(from_records(organization_id, found.version, records, self._kinds))
            if clearings == self._clearings:
                return self.keep(apply_unordered(known, found.changes, found.version))

    def keep(self, organization: Organization) -> Organization:
        """Keep a committed version, unless a newer one is here; the newer of the two."""
        entry = self._entries.get(organization.id)
        if entry is not None and entry.organization.version.number >= organization.version.number:
            return entry.organization
        self._drop(organization.id)
        entry = self._entries[organization.id] = _Entry(organization)
        self._bytes += entry.bytes
        # The newest stays, however large: otherwise it would be loaded again for each request.
        while len(self._entries) > 1 and (
            len(self._entries) > self._limits.organizations_max or self._bytes > self._limits.bytes_max
        ):
            self._drop(next(iter(self._entries)))
        return organization

    def answers(self, organization: Organization) -> dict[Any, bytes]:
        """Encoded answers kept as long as this very version is; empty, and not kept, where it is not cached."""
        entry = self._entries.get(organization.id)
        return entry.answers if entry is not None and entry.organization is organization else {}

    def clear(self) -> None:
        """Forget everything: after the connection to the database was lost, since another may take its place."""
        self._entries.clear()
        self._bytes = 0
        self._clearings += 1

    def _drop(self, organization_id: str) -> None:
        entry = self._entries.pop(organization_id, None)
        if entry is not None:
            self._bytes -= entry.bytes
