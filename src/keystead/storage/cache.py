"""Organizations kept in memory. The store is asked before every use whether a version is still the newest.

Here: what is kept, and catching up with the database. Not here: the SQL (`base`), dropping (`api.lru`), sizes
(`organizations.memory_size`). One event loop uses it; nothing here is for threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec

from keystead.api.lru import Lru
from keystead.organizations.organization import Change, Organization, Put, Version, apply_unordered, from_records
from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one process keeps. `bytes_max` bounds the measured bytes of records and of encoded answers."""

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


class Answers:
    """Encoded answers about one version of an organization, dropped with it. Their bytes count in the cache.

    `bytes_max` bounds the bytes of the organization and its answers together.
    """

    def __init__(self, organization: Organization, cache: Lru[str, Answers], bytes_max: int) -> None:
        self.organization = organization
        self._cache = cache
        self._bytes_max = bytes_max
        self._kept: dict[Hashable, bytes] = {}
        self._size = organization.bytes

    def get(self, key: Hashable) -> bytes | None:
        return self._kept.get(key)

    def keep(self, key: Hashable, answer: bytes) -> None:
        """Keep an answer, unless there is no room for it or this version is no longer cached."""
        size = self._size + len(answer) - len(self._kept.get(key, b""))
        if size > self._bytes_max or self._cache.peek(self.organization.id) is not self:
            return
        self._kept[key] = answer
        self._size = size
        self._cache.put(self.organization.id, self, self._size)


class OrganizationCache:
    def __init__(self, source: Source, limits: CacheLimits, kinds: RecordKinds = RECORD_KINDS) -> None:
        self._source = source
        self._kinds = kinds
        # The newest stays, however large: otherwise it would be loaded again for each request.
        self.entries = Lru[str, Answers](limits.bytes_max, limits.organizations_max, keeps_newest=True)
        # One organization with its answers does not take the place of all others.
        self._answers_bytes_max = limits.bytes_max // 2
        self._loads: dict[str, asyncio.Task[Organization | None]] = {}
        self._clearings = 0

    async def newest(self, organization_id: str) -> Organization | None:
        """The newest committed version: nothing that was reported before the call is missing from it."""
        return await self.at(organization_id, await self._source.version(organization_id))

    async def at(self, organization_id: str, version: Version | None) -> Organization | None:
        """A version that was the newest just now, or a newer one; None if there was none."""
        entry = self.entries.get(organization_id)
        if entry is not None and entry.organization.version == version:
            return entry.organization
        return await self._catch_up(organization_id, version)

    async def _catch_up(self, organization_id: str, version: Version | None) -> Organization | None:
        while version is not None:
            entry = self.entries.peek(organization_id)
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
                    self.entries.remove(organization_id)
                continue
            organization = await self._load(organization_id)
            # A load that began before our question may be older than its answer: then load again.
            if organization is None or organization.version.number >= version.number:
                return organization
        self.entries.remove(organization_id)
        return None

    async def _load(self, organization_id: str) -> Organization | None:
        """One load of an organization serves all tasks that miss it."""
        load = self._loads.get(organization_id)
        if load is None:
            load = self._loads[organization_id] = asyncio.create_task(self._load_now(organization_id))
        return await asyncio.shield(load)

    async def _load_now(self, organization_id: str) -> Organization | None:
        try:
            return await self._loaded(organization_id)
        finally:
            # Here and not in a callback: a task that comes once the answer is known must begin a load of its own.
            del self._loads[organization_id]

    async def _loaded(self, organization_id: str) -> Organization | None:
        while True:
            clearings = self._clearings
            entry = self.entries.peek(organization_id)
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
        entry = self.entries.peek(organization.id)
        if entry is not None and entry.organization.version.number >= organization.version.number:
            return entry.organization
        self.entries.put(
            organization.id,
            Answers(organization, self.entries, self._answers_bytes_max),
            organization.bytes,
        )
        return organization

    def answers(self, organization: Organization) -> Answers:
        """The encoded answers about this very version; empty, and keeping none, where it is not cached."""
        entry = self.entries.peek(organization.id)
        if entry is not None and entry.organization is organization:
            return entry
        return Answers(organization, self.entries, self._answers_bytes_max)

    def clear(self) -> None:
        """Drop everything: after the connection to the database was lost, another may take its place."""
        self.entries.clear()
        self._clearings += 1
