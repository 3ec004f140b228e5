"""Which commits can be written as one: several waiting commits become one transaction of few statements.

Here: putting commits together. Not here: the transaction (`sqlite_writer`, `postgres_committer`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from keystead.storage.dialects import Row
from keystead.storage.rows import Move, Rows

_KEY_COLUMNS = {"record": 3, "interface_text": 2, "lookup": 5}
"""The tables of which a row may be written again or taken away: how many columns, from the first, are its key."""


class Group(msgspec.Struct, frozen=True):
    """What one transaction writes: at most one move per organization, and each row once; `gone` holds keys.

    `moves` are in order of organization ids: every process locks organizations in this order, so that no two
    transactions wait for each other.
    """

    moves: list[Move]
    rows: dict[str, list[Row]]
    gone: dict[str, list[Row]]


def gather(commits: Iterable[Rows]) -> Group | None:
    """The commits as one group, or None if they cannot all hold: one does not begin where the one before it ends.

    A chain of moves of one organization, each beginning where the one before ended, is one move from its first
    version to its last: inside a transaction nobody sees the versions between. For the same reason only the last
    state of a row is written.
    """
    moves: dict[str, Move] = {}
    rows: dict[str, list[Row]] = {}
    last: dict[str, dict[Row, Row | None]] = {}
    for commit in commits:
        if (move := commit.move) is not None:
            if (earlier := moves.get(move.organization_id)) is not None:
                if earlier.after != move.before:
                    return None
                move = Move(move.organization_id, earlier.before, move.after)
            moves[move.organization_id] = move
        for table, row in commit.rows:
            if (key_columns := _KEY_COLUMNS.get(table)) is not None:
                last.setdefault(table, {})[row[:key_columns]] = row
            else:
                rows.setdefault(table, []).append(row)
        for table, key in commit.gone:
            last.setdefault(table, {})[key] = None
    gone: dict[str, list[Row]] = {}
    for table, states in last.items():
        if written := [row for row in states.values() if row is not None]:
            rows[table] = written
        if len(written) < len(states):
            gone[table] = [key for key, row in states.items() if row is None]
    return Group([moves[organization_id] for organization_id in sorted(moves)], rows, gone)
