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
    Swap,
    VersionSwap,
    WriteSet,
)

SwapT = TypeVar("SwapT", bound=Swap)

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
    merger = _Merger(key_lengths)
    return merger.batch() if all(map(merger.add, commits)) else None


class _Merger:
    """Collects write sets, which are added in their order. `last`: the last state of each row of a merged table, by
    table and key; None for a deleted row. `rows`: those of the other tables."""

    def __init__(self, key_lengths: Mapping[str, int]) -> None:
        self._key_lengths = key_lengths
        self._version_checks: dict[str, Version] = {}
        self._version_swaps: dict[Row, VersionSwap] = {}
        self._activity_swaps: dict[Row, ActivitySwap] = {}
        self._instance_value_swaps: dict[Row, InstanceValueSwap] = {}
        self._row_swaps: dict[tuple[str, Row], RowSwap] = {}
        self._rows: dict[str, list[Row]] = {}
        self._last: dict[tuple[str, Row], Row | None] = {}
        self._deleted_organizations: list[str] = []
        self._purges: list[Purge] = []

    def add(self, commit: WriteSet) -> bool:
        """Add a write set. Returns False if it cannot succeed in one transaction with those before it."""
        if not (
            all(self._holds(organization_id, version) for organization_id, version in commit.version_checks)
            and (commit.version_swap is None or self._add_version_swap(commit.version_swap))
            and (commit.activity_swap is None or _add_new(self._activity_swaps, commit.activity_swap))
            and (
                commit.instance_value_swap is None
                or _add_new(self._instance_value_swaps, commit.instance_value_swap)
            )
            and all(map(self._add_row_swap, commit.row_swaps))
        ):
            return False
        for place in commit.deleted:
            self._last[place] = None
        for table, row in commit.rows:
            if table in self._key_lengths:
                self._last[table, row[: self._key_lengths[table]]] = row
            else:
                self._rows.setdefault(table, []).append(row)
        self._deleted_organizations.extend(commit.deleted_organizations)
        self._purges.extend(commit.purges)
        return True

    def _holds(self, organization_id: str, version: Version) -> bool:
        """Whether the organization has this version after the swaps so far. Without a swap it is checked in the
        database."""
        swap = self._version_swaps.get((organization_id,))
        newest = swap.after if swap is not None else self._version_checks.setdefault(organization_id, version)
        return newest == version

    def _add_version_swap(self, swap: VersionSwap) -> bool:
        earlier = self._version_swaps.get(swap.key())
        if earlier is None:
            checked = self._version_checks.pop(swap.organization_id, swap.before)
            self._version_swaps[swap.key()] = swap
            return checked == swap.before
        self._version_swaps[swap.key()] = VersionSwap(swap.organization_id, earlier.before, swap.after)
        return earlier.after == swap.before and swap.organization_id not in self._deleted_organizations

    def _add_row_swap(self, swap: RowSwap) -> bool:
        place = swap.table, swap.key()
        is_new = place not in self._row_swaps
        self._row_swaps[place] = swap
        return is_new

    def batch(self) -> Batch:
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
            version_checks=dict(sorted(self._version_checks.items())),
            version_swaps=_in_order(self._version_swaps),
            activity_swaps=_in_order(self._activity_swaps),
            row_swaps=_by_table(self._row_swaps),
            rows=rows,
            deleted=deleted,
            deleted_organizations=self._deleted_organizations,
            instance_value_swaps=_in_order(self._instance_value_swaps),
            purges=self._purges,
        )


def _add_new(swaps: dict[Row, SwapT], swap: SwapT) -> bool:
    """Add a swap. Returns False if there is one of the same row already."""
    is_new = swap.key() not in swaps
    swaps[swap.key()] = swap
    return is_new


def _in_order(swaps: Mapping[Row, SwapT]) -> list[SwapT]:
    return [swaps[key] for key in sorted(swaps)]


def _by_table(swaps: dict[tuple[str, Row], RowSwap]) -> dict[str, list[RowSwap]]:
    by_table: dict[str, list[RowSwap]] = {}
    for table, key in sorted(swaps):
        by_table.setdefault(table, []).append(swaps[table, key])
    return by_table
