"""What a transaction adds to the counters of velocity controls: it reads each counter, checks and adds.

Here: the steps that both databases share. Not here: the statements (`sql`), the sums (`organizations.velocity`),
the transaction (`sqlite.database`, `postgres.transactions`).

Why a limit holds: the counters are locked before they are read, and until the transaction ends. On SQLite there is
one writer, and PostgreSQL locks their rows (`lock_counters`). Every process locks counters before it inserts
anything, in one order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from keystead.organizations.velocity.counters import NOTHING_COUNTED, Counted, CounterState, rows_after
from keystead.storage.database import Selected
from keystead.storage.rows import Row


def by_organization(counted: Sequence[Counted]) -> Iterator[tuple[str, Sequence[Counted]]]:
    """The additions of each organization, in the order in which every process locks."""
    in_order = sorted(counted, key=lambda each: each.place)  # those of one counter stay in the order of the commits
    for organization_id, of_organization in itertools.groupby(in_order, key=lambda each: each.organization_id):
        yield organization_id, list(of_organization)


def counter_ids(counted: Sequence[Counted]) -> list[str]:
    return list(dict.fromkeys(each.counter_id for each in counted))


def newest_ms(counted: Sequence[Counted]) -> int:
    """The time at which the windows are read."""
    return max(each.at_ms for each in counted)


def states(selected: Selected) -> dict[str, CounterState]:
    """By counter, from the rows of the statement `counters`."""
    return {
        id_: CounterState(at_ms, int(total), first_at_ms, None if first_before is None else int(first_before))
        for id_, at_ms, total, first_at_ms, first_before in selected
    }


def rows_of_counters(
    organization_id: str, counted: Sequence[Counted], known: Mapping[str, CounterState]
) -> list[tuple[str, Row]] | None:
    """The rows of the counters after these additions, by table. None if a decision relied on what does not hold."""
    rows: list[tuple[str, Row]] = []
    for id_, of_counter in itertools.groupby(counted, key=lambda each: each.counter_id):
        after = rows_after(known.get(id_, NOTHING_COUNTED), list(of_counter))
        if after is None:
            return None
        rows += [(row.table.name, (organization_id, *row.row())) for row in after]
    return rows
