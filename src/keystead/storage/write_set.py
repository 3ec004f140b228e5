"""The write set of a commit: its rows, its deletions, and the compare-and-swaps that must succeed.

Here: the values. Not here: what each row holds (`rows`), which commits share a transaction (`batch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from keystead.organizations.organization import Version

Row = tuple[Any, ...]

TOMBSTONE = b""
"""The body in the row of a removed record. By this row, other processes learn of the removal."""

ACTIVITY_CHANGES = (
    "status",
    "result",
    "app_proofs",
    "failure",
    "proofs",
    "approvals_since_ms",
    "revision",
    "updated_at_ms",
)
"""The columns that a later revision of an activity replaces: the last columns of its row, in order."""


class VersionSwap(msgspec.Struct, frozen=True):
    """Compare-and-swap of an organization's version: fails unless `before` is still the newest. `record_count`: how
    many records it has afterwards."""

    organization_id: str
    before: Version
    after: Version
    record_count: int

    def parameters(self) -> dict[str, str | int]:
        return {
            "organization_id": self.organization_id,
            "before_number": self.before.number,
            "before_changed_by": self.before.changed_by,
            "after_number": self.after.number,
            "after_changed_by": self.after.changed_by,
            "record_count": self.record_count,
        }

    def key(self) -> Row:
        return (self.organization_id,)

    def expected(self) -> Row:
        """The row that the swap needs in the database."""
        return (self.organization_id, self.before.number, self.before.changed_by)


class ActivitySwap(msgspec.Struct, frozen=True):
    """Compare-and-swap of an activity's revision: fails unless `before` is still the newest.

    `values` are the new values of ACTIVITY_CHANGES.
    """

    organization_id: str
    activity_id: str
    before: int
    values: Row

    def parameters(self) -> dict[str, Any]:
        after = {f"after_{name}": value for name, value in zip(ACTIVITY_CHANGES, self.values, strict=True)}
        return {
            "organization_id": self.organization_id,
            "activity_id": self.activity_id,
            "before_revision": self.before,
            **after,
        }

    def key(self) -> Row:
        return (self.organization_id, self.activity_id)

    def expected(self) -> Row:
        """The row that the swap needs in the database."""
        return (self.organization_id, self.activity_id, self.before)


class RowSwap(msgspec.Struct, frozen=True):
    """Compare-and-swap of a row with a revision: fails unless `before` is still its revision.

    `key_values`: the columns of the key with their values. `values`: all other columns with their new values.
    """

    table: str
    key_values: tuple[tuple[str, str], ...]
    before: int
    values: tuple[tuple[str, Any], ...]

    def parameters(self) -> dict[str, Any]:
        after = {f"after_{name}": value for name, value in self.values}
        return {**dict(self.key_values), "before_revision": self.before, **after}

    def key(self) -> Row:
        return tuple(value for _, value in self.key_values)

    def expected(self) -> Row:
        """The row that the swap needs in the database."""
        return (*self.key(), self.before)


class InstanceValueSwap(msgspec.Struct, frozen=True):
    """Compare-and-swap of a value of the instance: fails unless `before` is still its value."""

    name: str
    before: bytes
    after: bytes

    def parameters(self) -> dict[str, Any]:
        return {"instance_name": self.name, "before_value": self.before, "after_value": self.after}

    def key(self) -> Row:
        return (self.name,)

    def expected(self) -> Row:
        """The row that the swap needs in the database."""
        return (self.name, self.before)


Swap = VersionSwap | ActivitySwap | RowSwap | InstanceValueSwap


class ExpiredPurge(msgspec.Struct, frozen=True):
    """Deletes at most `limit` rows of a table that expired before `before_ms`, in milliseconds since the epoch."""

    table: str
    before_ms: int
    limit: int

    def parameters(self) -> dict[str, int]:
        return {"before_ms": self.before_ms, "limit": self.limit}


class OrganizationPurge(msgspec.Struct, frozen=True):
    """Deletes at most `limit` rows of an organization in a table."""

    table: str
    organization_id: str
    limit: int

    def parameters(self) -> dict[str, str | int]:
        return {"organization_id": self.organization_id, "limit": self.limit}


class TombstonePurge(msgspec.Struct, frozen=True):
    """Deletes at most `limit` tombstones: those of records that were removed in this version of the organization or
    before."""

    organization_id: str
    version: int
    limit: int

    def parameters(self) -> dict[str, str | int | bytes]:
        return {
            "organization_id": self.organization_id,
            "version": self.version,
            "limit": self.limit,
            "body": TOMBSTONE,
        }


Purge = ExpiredPurge | OrganizationPurge | TombstonePurge
"""One step of a deletion of rows that no read finds any more."""


class WriteSet(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one commit writes, and the compare-and-swaps that must succeed for it.

    `rows` are (table, values in the order of the table's columns); `deleted` are (table, key). If a deleted key is
    also in `rows`, its row exists afterwards. The records and secrets of `deleted_organizations` are deleted, and
    these are no longer sub-organizations. `version_checks`: organizations that it does not change, and the version
    that must be the newest of each.
    """

    rows: list[tuple[str, Row]] = []
    deleted: list[tuple[str, Row]] = []
    version_swap: VersionSwap | None = None
    version_checks: list[tuple[str, Version]] = []
    activity_swap: ActivitySwap | None = None
    row_swaps: list[RowSwap] = []
    deleted_organizations: list[str] = []
    instance_value_swap: InstanceValueSwap | None = None
    purges: list[Purge] = []

    @property
    def versions_before(self) -> Iterator[tuple[str, Version]]:
        """The organizations whose version must be the newest, with that version."""
        yield from self.version_checks
        if self.version_swap is not None:
            yield self.version_swap.organization_id, self.version_swap.before

    @property
    def size(self) -> int:
        """How many rows it writes and deletes by their keys."""
        return len(self.rows) + len(self.deleted)
