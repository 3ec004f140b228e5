"""Several commits written as one transaction of few statements.

Here: merging commits. Not here: which commits wait together (`group_commit`), the transaction (`sqlite_writer`,
`postgres_transactions`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

import msgspec

from keystead.organizations.organization import Version
from keystead.storage.steps import Move, Revaluation, Revision, Row, Rows, WalletContents

KEY_LENGTHS = {
    "shared_body": 2,
    "record": 3,
    "interface_text": 2,
    "wallet_account": 2,
    "sealed_secret": 3,
    "lookup": 5,
}
"""Tables in which a later commit may repeat, replace or delete what an earlier one wrote: how long the keys are."""

_SORTED_BY = {"activity": itemgetter(0, 2), "shared_body": itemgetter(0, 1)}
"""Tables whose rows are written under no lock of their organization: the columns by which another insert of the
same row waits for this one."""


class Batch(msgspec.Struct, frozen=True):
    """What one transaction writes: at most one step per organization and per activity, and each row once.

    `version_checks`: organizations that the transaction does not change, and the version that each must have.

    Steps are in order of ids, new activities in order of fingerprints, shared bodies in order of digests: every
    process locks them in this order, so that no two transactions wait for each other. `gone` are keys of rows to
    delete; none of them is in `rows`.
    """

    version_checks: dict[str, Version]
    moves: list[Move]
    revisions: list[Revision]
    rows: dict[str, list[Row]]
    gone: dict[str, list[Row]]
    dissolved: list[str]
    emptied: list[WalletContents]
    revaluations: list[Revaluation]


def merge(commits: Iterable[Rows]) -> Batch | None:
    """The commits as one group, or None if they cannot all hold: one does not begin where the one before it ends.

    A chain of moves of one organization, each beginning where the one before ended, is one move from its first
    version to its last: inside a transaction nobody sees the versions between. For the same reason only the last
    state of a record, a text or a look-up is written. Activities do not chain: who revises one has read it.
    """
    checks: dict[str, Version] = {}
    moves: dict[Row, Move] = {}
    revisions: dict[Row, Revision] = {}
    revaluations: dict[Row, Revaluation] = {}
    rows: dict[str, list[Row]] = {}
    last: dict[tuple[str, Row], Row | None] = {}
    dissolved: list[str] = []
    emptied: list[WalletContents] = []
    for commit in commits:
        if (check := commit.version_check) is not None:
            organization_id, version = check
            earlier = moves.get((organization_id,))
            newest = earlier.after if earlier is not None else checks.setdefault(organization_id, version)
            if newest != version:
                return None
        if (move := commit.move) is not None:
            if (earlier := moves.get(move.key())) is not None:
                if earlier.after != move.before or move.organization_id in dissolved:
                    return None
                move = Move(move.organization_id, earlier.before, move.after)
            elif checks.pop(move.organization_id, move.before) != move.before:
                return None
            moves[move.key()] = move
        if (revision := commit.revision) is not None:
            if revision.key() in revisions:
                return None
            revisions[revision.key()] = revision
        if (revaluation := commit.revaluation) is not None:
            if revaluation.key() in revaluations:
                return None
            revaluations[revaluation.key()] = revaluation
        for place in commit.gone:
            last[place] = None
        for table, row in commit.rows:
            if table in KEY_LENGTHS:
                last[table, row[: KEY_LENGTHS[table]]] = row
            else:
                rows.setdefault(table, []).append(row)
        dissolved.extend(commit.dissolved)
        emptied.extend(commit.emptied)
    gone: dict[str, list[Row]] = {}
    for (table, key), last_row in last.items():
        if last_row is None:
            gone.setdefault(table, []).append(key)
        else:
            rows.setdefault(table, []).append(last_row)
    for table, key_of in _SORTED_BY.items():
        if table in rows:
            rows[table].sort(key=key_of)
    return Batch(
        dict(sorted(checks.items())),
        [moves[key] for key in sorted(moves)],
        [revisions[key] for key in sorted(revisions)],
        rows,
        gone,
        dissolved,
        emptied,
        [revaluations[key] for key in sorted(revaluations)],
    )
