"""Merges several commits into one transaction of few statements. Pure.

Not here: which commits wait together (`group_commit`), the transaction (`sqlite_writer`, `postgres_transactions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TypeVar

import msgspec

from keystead.organizations.organization import Version
from keystead.storage.write_set import (
    ActivitySwap,
    InstanceValueSwap,
    Purge,
    Row,
    RowSwap,
    VersionSwap,
    WriteSet,
)

KeyT = TypeVar("KeyT")
SwapT = TypeVar("SwapT", ActivitySwap, RowSwap, InstanceValueSwap)

_SORTED_BY = {"activity": itemgetter(0, 2), "snapshot": itemgetter(0, 1), "lookup": itemgetter(0, 1, 2)}
"""By table: the columns by which rows are sorted. An insert into these tables may wait for another transaction that
inserts the same values of these columns."""


class Batch(msgspec.Struct, frozen=True):
    """What one transaction writes: at most one swap per organization, per activity and per row, and each row once.

    `version_checks`: organizations that the transaction does not change, and the version that each must have.
    `row_swaps`, `rows`, `deleted`: by table.

    Swaps are in order of ids, new activities in order of fingerprints, snapshots in order of digests, look-ups in
    order of values. Every process locks them in this order, so that no two transactions wait for each other.
    `deleted`: keys of rows to delete; `rows` has no row of these keys.
    """

    version_checks: dict[str, Version]
    version_swaps: list[VersionSwap]
    activity_swaps: list[ActivitySwap]
    row_swaps: dict[str, list[RowSwap]]
    rows: dict[str, list[Row]]
    deleted: dict[str, list[Row]]
    deleted_organizations: list[str]
    instance_value_swaps: list[InstanceValueSwap]
    purges: list[Purge]


def merge(commits: Iterable[WriteSet], key_lengths: Mapping[str, int]) -> Batch | None:
    """The write sets as one batch. None if they cannot all succeed, because a swap does not start from the result
    of the swap before it.

    Consecutive swaps of one organization's version become one swap from the first version to the last: no other
    transaction sees the versions between. For the same reason only the last state of a record, a text or a look-up
    is written. Swaps of one activity are not merged, because each is decided on the activity as it was read.

    `key_lengths`: `tables.merged_key_lengths`; a later commit may replace or delete rows of these tables.
    """
    merging = _Merging(key_lengths)
    for commit in commits:
        if not merging.add(commit):
            return None
    return merging.batch()


class _Merging:
    """The write sets that are merged so far."""

    def __init__(self, key_lengths: Mapping[str, int]) -> None:
        self._key_lengths = key_lengths
        self._version_checks: dict[str, Version] = {}
        self._version_swaps: dict[Row, VersionSwap] = {}
        self._activity_swaps: dict[Row, ActivitySwap] = {}
        self._instance_value_swaps: dict[Row, InstanceValueSwap] = {}
        self._row_swaps: dict[tuple[str, Row], RowSwap] = {}
        self._rows: dict[str, list[Row]] = {}
        self._last: dict[tuple[str, Row], Row | None] = {}  # of the tables in `key_lengths`; None: deleted
        self._deleted_organizations: list[str] = []
        self._purges: list[Purge] = []

    def add(self, commit: WriteSet) -> bool:
        """Add the next write set. Returns False if it cannot succeed after the others; then nothing follows."""
        for organization_id, version in commit.version_checks:
            if not self._add_version_check(organization_id, version):
                return False
        if commit.version_swap is not None and not self._add_version_swap(commit.version_swap):
            return False
        activity, instance_value = commit.activity_swap, commit.instance_value_swap
        if activity is not None and not _add(self._activity_swaps, activity.key(), activity):
            return False
        if instance_value is not None and not _add(
            self._instance_value_swaps, instance_value.key(), instance_value
        ):
            return False
        for swap in commit.row_swaps:
            if not _add(self._row_swaps, (swap.table, swap.key()), swap):
                return False
        self._add_rows(commit)
        self._deleted_organizations.extend(commit.deleted_organizations)
        self._purges.extend(commit.purges)
        return True

    def _add_version_check(self, organization_id: str, version: Version) -> bool:
        """Returns False if the organization has another version after the write sets so far."""
        swap = self._version_swaps.get((organization_id,))
        newest = swap.after if swap is not None else self._version_checks.setdefault(organization_id, version)
        return newest == version

    def _add_version_swap(self, swap: VersionSwap) -> bool:
        organization_id = swap.organization_id
        if (earlier := self._version_swaps.get(swap.key())) is not None:
            if earlier.after != swap.before or organization_id in self._deleted_organizations:
                return False
            swap = VersionSwap(organization_id, earlier.before, swap.after, swap.record_count)
        elif self._version_checks.pop(organization_id, swap.before) != swap.before:
            return False
        self._version_swaps[swap.key()] = swap
        return True

    def _add_rows(self, commit: WriteSet) -> None:
        for place in commit.deleted:
            self._last[place] = None
        for table, row in commit.rows:
            if table in self._key_lengths:
                self._last[table, row[: self._key_lengths[table]]] = row
            else:
                self._rows.setdefault(table, []).append(row)

    def batch(self) -> Batch:
        """The batch of all write sets. Called once, after the last one."""
        rows, deleted = self._rows, dict[str, list[Row]]()
        for (table, key), last_row in self._last.items():
            if last_row is None:
                deleted.setdefault(table, []).append(key)
            else:
                rows.setdefault(table, []).append(last_row)
        for table, key_of in _SORTED_BY.items():
            if table in rows:
                rows[table].sort(key=key_of)
        return Batch(
            dict(sorted(self._version_checks.items())),
            [self._version_swaps[key] for key in sorted(self._version_swaps)],
            [self._activity_swaps[key] for key in sorted(self._activity_swaps)],
            _by_table(self._row_swaps),
            rows,
            deleted,
            self._deleted_organizations,
            [self._instance_value_swaps[key] for key in sorted(self._instance_value_swaps)],
            self._purges,
        )


def _add(swaps: dict[KeyT, SwapT], key: KeyT, swap: SwapT) -> bool:
    """Add the swap. Returns False if there is one of the same key: each is decided on what was read."""
    return swaps.setdefault(key, swap) is swap


def _by_table(swaps: dict[tuple[str, Row], RowSwap]) -> dict[str, list[RowSwap]]:
    by_table: dict[str, list[RowSwap]] = {}
    for table, key in sorted(swaps):
        by_table.setdefault(table, []).append(swaps[table, key])
    return by_table
