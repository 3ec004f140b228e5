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
from msgspec.structs import replace

from keystead.api.records import User
from keystead.organizations.organization import Change, Organization, Put, Remove, Version, apply, founded
from keystead.storage.rows import MAP_OF

# Measured: what a record takes as Python values, and half as much again for the answers that list it.
_RECORD_BYTES = 1_000
_CREDENTIAL_BYTES = 1_500


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one process keeps; `bytes_max` is compared with an estimate."""

    organizations_max: int = 10_000
    bytes_max: int = 256 * 1024 * 1024


class ChangedSince(msgspec.Struct, frozen=True):
    """The newest version of an organization, and what became of every record since the version asked about.

    The last state of each, in no order: a record that came and went since is removed without having been known.
    """

    version: Version
    changes: Sequence[Change]


class Source(Protocol):
    """Both answers hold everything that was committed when the question was put."""

    async def version(self, organization_id: str) -> Version | None: ...

    async def changed_since(self, organization_id: str, version_number: int) -> ChangedSince | None: ...


class _Entry:
    __slots__ = ("answers", "bytes", "organization")

    def __init__(self, organization: Organization) -> None:
        self.organization = organization
        self.answers: dict[Any, bytes] = {}
        self.bytes = estimated_bytes(organization)


class OrganizationCache:
    def __init__(self, source: Source, limits: CacheLimits) -> None:
        self._source = source
        self._limits = limits
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0
        self._loads: dict[str, asyncio.Task[Organization | None]] = {}
        self._clearings = 0

    async def newest(self, organization_id: str) -> Organization | None:
        """The newest committed version: nothing that was reported before the call is missing from it."""
        version = await self._source.version(organization_id)
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
            found = await self._source.changed_since(organization_id, known.version.number if known else -1)
            if found is None:
                return None
            if known is None:
                records = [change.record for change in found.changes if isinstance(change, Put)]
                return self.keep(founded(organization_id, found.version, records))
            if clearings == self._clearings:
                return self.keep(caught_up(known, found))

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


def caught_up(known: Organization, since: ChangedSince) -> Organization:
    """The organization as it is now, whatever the order of the changes.

    A credential may have moved from one user to another. So removals come first, then every changed user loses
    the credentials known of it, and only then does each get those that it has now.
    """
    removals = [c for c in since.changes if isinstance(c, Remove) and c.id in getattr(known, MAP_OF[c.kind])]
    puts = [c for c in since.changes if isinstance(c, Put)]
    bared = [
        Put(replace(known.users[c.record.user_id], api_keys=(), authenticators=()))
        for c in puts
        if isinstance(c.record, User) and c.record.user_id in known.users
    ]
    return apply(known, [*removals, *bared, *puts], since.version)


def estimated_bytes(organization: Organization) -> int:
    records = 1 + sum(len(getattr(organization, field)) for field in MAP_OF.values())
    credentials = len(organization.api_key_holders) + len(organization.authenticator_holders)
    return records * _RECORD_BYTES + credentials * _CREDENTIAL_BYTES
