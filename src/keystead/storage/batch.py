"""Merges several commits into one transaction of few statements. Pure.

Not here: which commits wait together (`group_commit`), the transaction (`sqlite_writer`, `postgres_transactions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

import msgspec

from keystead.organizations.organization import Version
from keystead.storage.write_set import (
    ActivitySwap,
    Cleaning,
    Row,
    RowSwap,
    SettingSwap,
    VersionSwap,
    WriteSet,
)

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
    setting_swaps: list[SettingSwap]
    cleanings: list[Cleaning]


def merge(commits: Iterable[WriteSet], key_lengths: Mapping[str, int]) -> Batch | None:
    """The write sets as one batch. None if they cannot all succeed, because a swap does not start from the result
    of the swap before it.

    Consecutive swaps of one organization's version become one swap from the first version to the last: no other
    transaction sees the versions between. For the same reason only the last state of a record, a text or a look-up
    is written. Swaps of one activity are not merged, because each is decided on the activity as it was read.

    `key_lengths`: `tables.merged_key_lengths`; a later commit may replace or delete rows of these tables.
    """
    version_checks: dict[str, Version] = {}
    version_swaps: dict[Row, VersionSwap] = {}
    activity_swaps: dict[Row, ActivitySwap] = {}
    setting_swaps: dict[Row, SettingSwap] = {}
    row_swaps: dict[tuple[str, Row], RowSwap] = {}
    rows: dict[str, list[Row]] = {}
    last: dict[tuple[str, Row], Row | None] = {}
    deleted_organizations: list[str] = []
    cleanings: list[Cleaning] = []
    for commit in commits:
        for organization_id, version in commit.version_checks:
            swap = version_swaps.get((organization_id,))
            newest = swap.after if swap is not None else version_checks.setdefault(organization_id, version)
            if newest != version:
                return None
        if (version_swap := commit.version_swap) is not None:
            if (earlier := version_swaps.get(version_swap.key())) is not None:
                if earlier.after != version_swap.before or version_swap.organization_id in deleted_organizations:
                    return None
                version_swap = VersionSwap(version_swap.organization_id, earlier.before, version_swap.after)
            elif version_checks.pop(version_swap.organization_id, version_swap.before) != version_swap.before:
                return None
            version_swaps[version_swap.key()] = version_swap
        if (activity_swap := commit.activity_swap) is not None:
            if activity_swap.key() in activity_swaps:
                return None
            activity_swaps[activity_swap.key()] = activity_swap
        if (setting_swap := commit.setting_swap) is not None:
            if setting_swap.key() in setting_swaps:
                return None
            setting_swaps[setting_swap.key()] = setting_swap
        for row_swap in commit.row_swaps:
            place = row_swap.table, row_swap.key()
            if place in row_swaps:
                return None
            row_swaps[place] = row_swap
        for place in commit.deleted:
            last[place] = None
        for table, row in commit.rows:
            if table in key_lengths:
                last[table, row[: key_lengths[table]]] = row
            else:
                rows.setdefault(table, []).append(row)
        deleted_organizations.extend(commit.deleted_organizations)
        cleanings.extend(commit.cleanings)
    deleted: dict[str, list[Row]] = {}
    for (table, key), last_row in last.items():
        if last_row is None:
            deleted.setdefault(table, []).append(key)
        else:
            rows.setdefault(table, []).append(last_row)
    for table, key_of in _SORTED_BY.items():
        if table in rows:
            rows[table].sort(key=key_of)
    return Batch(
        dict(sorted(version_checks.items())),
        [version_swaps[key] for key in sorted(version_swaps)],
        [activity_swaps[key] for key in sorted(activity_swaps)],
        _by_table(row_swaps),
        rows,
        deleted,
        deleted_organizations,
        [setting_swaps[key] for key in sorted(setting_swaps)],
        cleanings,
    )


def _by_table(swaps: dict[tuple[str, Row], RowSwap]) -> dict[str, list[RowSwap]]:
    by_table: dict[str, list[RowSwap]] = {}
    for table, key in sorted(swaps):
        by_table.setdefault(table, []).append(swaps[table, key])
    return by_table
