"""The cache of organizations. Before every use, the store is asked whether the cached version is still the newest.

Here: what is cached, and how it catches up with the database. Not here: the SQL (`store`), eviction
(`primitives.lru`), sizes (`organizations.memory_size`). For one event loop, not for threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec

from keystead.organizations.organization import (
    Change,
    ChangingOrganization,
    Organization,
    OrganizationBuilder,
    Put,
    Version,
    ordered_changes,
)
from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds
from keystead.primitives.lru import Lru
from keystead.primitives.share import Share


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one process's cache. `bytes_max` bounds the measured bytes of records and of encoded answers."""

    organizations_max: int = 10_000
    bytes_max: int = 256 * 1024 * 1024


class ChangedSince(msgspec.Struct, frozen=True):
    """The newest version of an organization, and the changes of its records after the given version.

    The changes have no order. A removed record may be one that did not exist in the given version. `is_whole`: the
    changes are all records of the organization.
    """

    version: Version
    changes: Sequence[Change]
    is_whole: bool = False


class Known(msgspec.Struct, frozen=True):
    """What the cache had at a moment. `clearings`: how often it had been cleared."""

    organization: Organization | None
    clearings: int

    @property
    def version_number(self) -> int | None:
        return None if self.organization is None else self.organization.version.number


class OrganizationSource(Protocol):
    """The results of both methods include everything that was committed before the call. `share`: large
    organizations are read in turns."""

    share: Share

    async def version(self, organization_id: str) -> Version | None: ...

    async def changed_since(self, organization_id: str, version_number: int | None) -> ChangedSince | None:
        """The changes after this version number, or every record; None asks for every record."""
        ...


class Answers:
    """Encoded answers about one version of an organization; dropped with it. Their bytes count in the cache.

    `bytes_max` bounds the bytes of the organization and its answers together.
    """

    def __init__(self, organization: Organization, cache: Lru[str, Answers], bytes_max: int) -> None:
        self.organization = organization
        self._cache = cache
        self._bytes_max = bytes_max
        self._answers: dict[Hashable, bytes] = {}
        self._size = organization.bytes

    def get(self, key: Hashable) -> bytes | None:
        return self._answers.get(key)

    def keep(self, key: Hashable, answer: bytes) -> None:
        """Cache an answer, unless there is no room for it or this version is no longer cached."""
        size = self._size + len(answer) - len(self._answers.get(key, b""))
        if size > self._bytes_max or self._cache.peek(self.organization.id) is not self:
            return
        self._answers[key] = answer
        self._size = size
        self._cache.put(self.organization.id, self, self._size)


class OrganizationCache:
    def __init__(
        self,
        source: OrganizationSource,
        limits: CacheLimits,
        kinds: RecordKinds = RECORD_KINDS,
    ) -> None:
        self._source = source
        self._kinds = kinds
        # The newest entry stays, however large. Otherwise it would be loaded again for each request.
        self.entries = Lru[str, Answers](limits.bytes_max, limits.organizations_max, keeps_newest=True)
        # One organization with its answers must not evict all others.
        self._answers_bytes_max = limits.bytes_max // 2
        self._loads: dict[str, asyncio.Task[Organization | None]] = {}
        self._clearings = 0

    async def newest(self, organization_id: str) -> Organization | None:
        """The newest committed version. It includes every commit that was reported before the call."""
        version = await self._source.version(organization_id)
        entry = self.entries.get(organization_id)
        if entry is not None and entry.organization.version == version:
            return entry.organization
        return await self._catch_up(organization_id, version)

    async def at(self, organization_id: str, version: Version | None) -> Organization | None:
        """This version, which was just read as the newest, or a newer one; None if the organization does not
        exist."""
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
                # Either this process committed while the version was read, or the database has lost commits (it was
                # restored or replaced). A second read, after the entry was committed, shows which.
                version = await self._source.version(organization_id)
                if version is None or version.number <= entry.organization.version.number:
                    if version == entry.organization.version:
                        return entry.organization
                    self.entries.remove(organization_id)
                continue
            organization = await self._load(organization_id)
            if organization is None or organization.version.number >= version.number:
                return organization
            # Either the load began before the version was read, or the database lost commits in between. A second
            # read of the version, after the load, shows which.
            version = await self._source.version(organization_id)
        self.entries.remove(organization_id)
        return None

    async def _load(self, organization_id: str) -> Organization | None:
        """Load an organization once for all tasks that wait for it."""
        load = self._loads.get(organization_id)
        if load is None:
            load = self._loads[organization_id] = asyncio.create_task(self._load_now(organization_id))
        return await asyncio.shield(load)

    async def _load_now(self, organization_id: str) -> Organization | None:
        try:
            return await self._read_organization(organization_id)
        finally:
            # Here and not in a callback: a task that calls after the result is known must start a new load.
            del self._loads[organization_id]

    async def _read_organization(self, organization_id: str) -> Organization | None:
        while True:
            known = self.known(organization_id)
            changed = await self._source.changed_since(organization_id, known.version_number)
            if changed is None and known.clearings == self._clearings:
                return None
            if changed is not None and (kept := await self._keep_changed(organization_id, known, changed)):
                return kept

    def known(self, organization_id: str) -> Known:
        """The cached version, for `after`."""
        entry = self.entries.peek(organization_id)
        return Known(entry.organization if entry is not None else None, self._clearings)

    def known_version(self, organization_id: str) -> Version | None:
        """The version that is cached; None if the organization is not."""
        entry = self.entries.peek(organization_id)
        return None if entry is None else entry.organization.version

    async def after(self, organization_id: str, known: Known, changed: ChangedSince | None) -> Organization | None:
        """The newest version: `known` with the changes that were just read. None if the organization does not
        exist."""
        if changed is None:
            return await self.at(organization_id, None)
        is_usable = known.organization is not None and known.clearings == self._clearings
        if not is_usable or (self.known(organization_id).version_number or 0) >= changed.version.number:
            return await self.at(organization_id, changed.version)
        kept = await self._keep_changed(organization_id, known, changed)
        return kept or await self.at(organization_id, changed.version)

    async def _keep_changed(self, organization_id: str, known: Known, changed: ChangedSince) -> Organization | None:
        """Cache the version after the changes. None if the cache was cleared since `known`: then the changes may be
        of another database."""
        if known.clearings != self._clearings:
            return None
        if known.organization is not None and not changed.is_whole:
            emptied, changes = ordered_changes(known.organization, changed.changes)
            changing = ChangingOrganization(emptied)
            await self._source.share.each(organization_id, changing.change, changes)
            newest = changing.organization(changed.version)
        else:
            builder = OrganizationBuilder(self._kinds)
            records = (change.record for change in changed.changes if isinstance(change, Put))
            await self._source.share.each(organization_id, builder.add, records)
            newest = builder.organization(organization_id, changed.version)
        if known.clearings != self._clearings:
            return None
        return self.keep(newest)

    def keep(self, organization: Organization) -> Organization:
        """Cache a committed version unless a newer one is cached. Returns the newer of the two."""
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
        """The encoded answers about this version. If it is not cached: an empty object that stores no answers."""
        entry = self.entries.peek(organization.id)
        if entry is not None and entry.organization is organization:
            return entry
        return Answers(organization, self.entries, self._answers_bytes_max)

    def clear(self) -> None:
        """Drop everything: after the connection to the database was lost, the next one may reach another
        database."""
        self.entries.clear()
        self._clearings += 1
