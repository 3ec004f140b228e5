"""The rows that a commit or a transaction writes, and the compare-and-swaps that must succeed for it. Pure.

Here: the value, and how the rows of several commits become those of one transaction. Not here: what each row holds
(`row_encoding`), which commits share a transaction (`group_commit`), the statements (`sqlite.database`,
`postgres.transactions`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeVar

import msgspec

from keystead.api.errors import ServiceError
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.organization import Organization, Version
from keystead.organizations.velocity.counters import Counted
from keystead.pipeline.store import CommitResult

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


Outcome = CommitResult | ServiceError
"""The result of a transaction, or the error for the callers that wait for its commits."""


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
        return tuple([value for _, value in self.key_values])

    def place(self) -> Row:
        """The table and the key."""
        return (self.table, *self.key())

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
SwapT = TypeVar("SwapT", ActivitySwap, RowSwap, InstanceValueSwap)


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


class EntryPurge(msgspec.Struct, frozen=True):
    """Deletes at most `limit` entries of counters that are older than the window of their counter."""

    limit: int

    def parameters(self) -> dict[str, int]:
        return {"limit": self.limit}


Purge = ExpiredPurge | OrganizationPurge | TombstonePurge | EntryPurge
"""One step of a deletion of rows that no read finds any more."""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a commit or a transaction writes, and the compare-and-swaps that must succeed for it.

    - `inserted`: (table, values in the order of the table's columns). `deleted`: (table, key). If a deleted key is
      also in `inserted`, its row exists afterwards.
    - `version_checks`: organizations that it does not change, and the version that must be the newest of each.
    - `counted`: what it adds to counters, which must be as the decisions relied on (`counting`).
    - `deleted_organizations`: their records and secrets are deleted, and they are no longer sub-organizations.
    - `organizations`: the organizations that it changes or makes, as they are afterwards.
    - `attached`: the rows with a revision of their own among `inserted` and `row_swaps`.
    - `removes_records`: the organizations whose records it removes.
    """

    inserted: list[tuple[str, Row]] = []
    deleted: list[tuple[str, Row]] = []
    version_checks: list[tuple[str, Version]] = []
    version_swaps: list[VersionSwap] = []
    activity_swaps: list[ActivitySwap] = []
    row_swaps: list[RowSwap] = []
    instance_value_swaps: list[InstanceValueSwap] = []
    counted: list[Counted] = []
    deleted_organizations: list[str] = []
    purges: list[Purge] = []
    organizations: list[Organization] = []
    attached: list[VersionedRow] = []
    removes_records: list[str] = []

    @property
    def size(self) -> int:
        """How many rows it writes and deletes by their keys."""
        return len(self.inserted) + len(self.deleted)

    def versions_before(self) -> list[tuple[str, Version]]:
        """The organizations whose version must be the newest, with that version."""
        swapped = [(swap.organization_id, swap.before) for swap in self.version_swaps] if self.version_swaps else []
        return [*self.version_checks, *swapped]

    def swaps(self) -> Iterable[tuple[str, Sequence[Swap]]]:
        """Its compare-and-swaps by table, those of organizations first. Each is in the order in which every process
        locks."""
        if self.version_swaps:
            yield "organization", self.version_swaps
        if self.activity_swaps:
            yield "activity", self.activity_swaps
        if self.instance_value_swaps:
            yield "instance", self.instance_value_swaps
        for table, swaps in itertools.groupby(self.row_swaps, attrgetter("table")):
            yield table, list(swaps)


SORTED_BY: Final = {"activity": itemgetter(0, 2), "snapshot": itemgetter(0, 1), "lookup": itemgetter(0, 1, 2)}
"""By table: the columns by which rows are sorted. An insert into these tables may wait for another transaction that
inserts the same values of these columns."""


def by_table(places: Iterable[tuple[str, Row]]) -> dict[str, list[Row]]:
    """The rows or keys of each table."""
    tables: dict[str, list[Row]] = {}
    for table, row in places:
        tables.setdefault(table, []).append(row)
    return tables


def merge(commits: Sequence[Rows], key_lengths: Mapping[str, int]) -> Rows | None:
    """The rows of the transaction that writes these commits. None if they cannot all succeed, because a swap does
    not start from the result of the swap before it.

    Consecutive swaps of one organization's version become one swap from the first version to the last: no other
    transaction sees the versions between. For the same reason only the last state of a record, a text or a look-up
    is written. Swaps of one activity or row are not merged, because each is decided on what was read.

    Swaps are in order of ids, new activities in order of fingerprints, snapshots in order of digests, look-ups in
    order of values. Every process locks them in this order, so that no two transactions wait for each other.
    `key_lengths`: `tables.merged_key_lengths`; a later commit may replace or delete rows of these tables.
    """
    versions = _merged_versions(commits)
    if versions is None:
        return None
    checks, swaps = versions
    merged = Rows(
        version_checks=sorted(checks.items()),
        version_swaps=list(map(swaps.__getitem__, sorted(swaps))),
    )
    for commit in commits:
        merged.activity_swaps.extend(commit.activity_swaps)
        merged.row_swaps.extend(commit.row_swaps)
        merged.instance_value_swaps.extend(commit.instance_value_swaps)
        merged.counted.extend(commit.counted)
        merged.deleted_organizations.extend(commit.deleted_organizations)
        merged.purges.extend(commit.purges)
    activity_swaps, row_swaps, value_swaps = merged.activity_swaps, merged.row_swaps, merged.instance_value_swaps
    if (
        (len(activity_swaps) > 1 and not _sort_unless_repeated(activity_swaps, ActivitySwap.key))
        or (len(row_swaps) > 1 and not _sort_unless_repeated(row_swaps, RowSwap.place))
        or (len(value_swaps) > 1 and not _sort_unless_repeated(value_swaps, InstanceValueSwap.key))
    ):
        return None
    _merge_rows(commits, merged, key_lengths)
    return merged


def _merged_versions(commits: Sequence[Rows]) -> tuple[dict[str, Version], dict[str, VersionSwap]] | None:
    """The versions that the transaction checks and swaps, by organization. None if the commits cannot all
    succeed."""
    checks, swaps, deleted = dict[str, Version](), dict[str, VersionSwap](), set[str]()
    for commit in commits:
        for organization_id, version in commit.version_checks:
            swap = swaps.get(organization_id)
            if version != (checks.setdefault(organization_id, version) if swap is None else swap.after):
                return None
        for swap in commit.version_swaps:
            organization_id, before = swap.organization_id, swap.before
            if (earlier := swaps.get(organization_id)) is not None:
                if earlier.after != before or organization_id in deleted:
                    return None
                swap = VersionSwap(organization_id, earlier.before, swap.after, swap.record_count)
            elif checks.pop(organization_id, before) != before:
                return None
            swaps[organization_id] = swap
        deleted.update(commit.deleted_organizations)
    return checks, swaps


def _sort_unless_repeated(swaps: list[SwapT], key_of: Callable[[SwapT], Row]) -> bool:
    """Sort the swaps. Returns False if two have one key."""
    swaps.sort(key=key_of)
    return all(key_of(one) != key_of(next_) for one, next_ in itertools.pairwise(swaps))


def _merge_rows(commits: Sequence[Rows], merged: Rows, key_lengths: Mapping[str, int]) -> None:
    """Add the rows and keys of the commits to `merged`, by table, in the order in which every process locks."""
    tables: dict[str, list[Row]] = {}
    last: dict[tuple[str, Row], Row | None] = {}  # of the tables in `key_lengths`; None: deleted
    for commit in commits:
        for place in commit.deleted:
            last[place] = None
        for table, row in commit.inserted:
            if table in key_lengths:
                last[table, row[: key_lengths[table]]] = row
            else:
                tables.setdefault(table, []).append(row)
    for (table, key), last_row in last.items():
        if last_row is None:
            merged.deleted.append((table, key))
        else:
            tables.setdefault(table, []).append(last_row)
    for table, rows in tables.items():
        if table in SORTED_BY:
            rows.sort(key=SORTED_BY[table])
        merged.inserted.extend(zip(itertools.repeat(table), rows))
