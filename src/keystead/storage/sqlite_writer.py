"""The one thread of a process that writes to its SQLite database: all commits that wait share a transaction, and
whoever holds an organization has one alone.

Here: the thread, its connection, transactions, and what their errors mean. Not here: reading (`sqlite`), which
commits fit together (`groups`).

Why a commit is safe: BEGIN IMMEDIATE takes the database's one write lock, so between the compare-and-swap of a
version or revision and COMMIT no other process writes. With synchronous=FULL, COMMIT returns once the log is on
disk, and only then is any outcome reported. A transaction that is not wholly as wanted is rolled back. A hold is
that same lock, taken before it is known what to write: nobody writes to the database meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence

from keystead.api.errors import Unavailable
from keystead.pipeline.store import CommitOutcome
from keystead.storage.base import already_there, unwritten
from keystead.storage.groups import Group, gather
from keystead.storage.promises import Hold, Pending, Settled
from keystead.storage.sqlite_connection import DatabaseFile, translated
from keystead.storage.statements import SqliteStatements
from keystead.storage.write_set import IF_SKIPPED, Row

_GROUP_MAX = 256
"""So many commits that share a transaction are not joined by more: the first would wait for ever more."""


class SqliteWriter:
    """Takes commits from the event loop and gives their outcomes back to it, in the order they came.

    `settle` runs on the event loop, `lost` too: after the connection had to be made anew.
    """

    def __init__(
        self,
        file: DatabaseFile,
        statements: SqliteStatements,
        settle: Callable[[Settled], None],
        lost: Callable[[], None],
    ) -> None:
        self._file = file
        self._statements = statements
        self._settle = settle
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[Sequence[Pending] | Hold | None] = queue.SimpleQueue()
        self._set_aside: list[Hold | None] = []
        self._ended = self._loop.create_future()
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._thread.start()

    def hand_in(self, arrived: Sequence[Pending]) -> None:
        self._waiting.put(arrived)

    def take(self, hold: Hold) -> None:
        """After what has been handed in before."""
        self._waiting.put(hold)

    async def close(self) -> None:
        """Returns when everything handed in is settled and the connection closed."""
        self._waiting.put(None)
        await self._ended
        self._thread.join()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            if isinstance(work, Hold):
                self._obey(work)
            else:
                self._tell(self._settle, self._outcomes(work))
        self._disconnect()
        self._tell(self._ended.set_result, None)

    def _tell(self, callback: Callable[..., object], *arguments: object) -> None:
        # A loop that was closed without closing the store first has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _next(self) -> list[Pending] | Hold | None:
        """Waits for a commit, then takes all that are there; or a hold. None: closing, and everything is done."""
        batch: list[Pending] = []
        arrived = self._set_aside.pop() if self._set_aside else self._waiting.get()
        while arrived is not None and not isinstance(arrived, Hold):
            batch += arrived
            if len(batch) >= _GROUP_MAX or self._waiting.empty():
                return batch
            arrived = self._waiting.get()
        if not batch:
            return arrived
        self._set_aside.append(arrived)  # comes after this batch
        return batch

    def _outcomes(self, batch: Sequence[Pending]) -> Settled:
        """All together if all of them hold, else each in a transaction of its own, in their order."""
        outcome = self._attempt(batch)
        if outcome is CommitOutcome.COMMITTED or isinstance(outcome, Unavailable) or len(batch) == 1:
            return [(pending, outcome) for pending in batch]
        settled: list[tuple[Pending, CommitOutcome | Exception]] = []
        for pending in batch:
            # While the database does not answer, each would wait for it as long as the one before.
            outcome = outcome if isinstance(outcome, Unavailable) else self._attempt([pending])
            settled.append((pending, outcome))
        return settled

    def _attempt(self, batch: Sequence[Pending]) -> CommitOutcome | Exception:
        def together() -> CommitOutcome:
            group = gather(pending.rows for pending in batch)
            return CommitOutcome.CONFLICT if group is None else self._transact(group)

        return self._tried(together)

    def _obey(self, hold: Hold) -> None:
        if hold.order.done():  # its caller gave up
            return
        outcome = self._tried(lambda: self._in_transaction(lambda connection: self._ordered(connection, hold)))
        self._tell(lambda: self._settle(hold.end(outcome)))

    def _ordered(self, connection: sqlite3.Connection, hold: Hold) -> CommitOutcome:
        self._tell(hold.enter)
        pending = hold.order.result()
        group = gather([pending.rows]) if pending is not None else None
        return CommitOutcome.CONFLICT if group is None else self._write(connection, group)

    def _tried(self, attempt: Callable[[], CommitOutcome]) -> CommitOutcome | Exception:
        try:
            return attempt()
        except sqlite3.IntegrityError as error:
            return already_there(error)
        except sqlite3.Error as error:
            self._disconnect()
            return translated(error)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits; the thread must go on
            self._disconnect()
            return unwritten(error)

    def _transact(self, group: Group) -> CommitOutcome:
        return self._in_transaction(lambda connection: self._write(connection, group))

    def _in_transaction(self, work: Callable[[sqlite3.Connection], CommitOutcome]) -> CommitOutcome:
        connection = self._connected()
        self._file.begin(connection)
        try:
            outcome = work(connection)
            connection.execute("COMMIT" if outcome is CommitOutcome.COMMITTED else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return outcome

    def _write(self, connection: sqlite3.Connection, group: Group) -> CommitOutcome:
        sql = self._statements
        for statement, steps in (
            (sql.swap_version, group.version_swaps),
            (sql.swap_activity, group.activity_swaps),
            (sql.swap_setting, group.setting_swaps),
        ):
            for step in steps:
                if connection.execute(statement.sql, statement.arguments(step.parameters())).rowcount != 1:
                    return CommitOutcome.CONFLICT
        for table, inserts in sql.inserts.items():
            if rows := group.rows.get(table):
                inserted = _insert(connection, inserts, rows)
                if inserted != len(rows) and table in IF_SKIPPED:
                    return IF_SKIPPED[table]
        for table, keys in group.deleted.items():
            connection.executemany(sql.deletions[table], keys)
        for contents in group.emptied_wallets:
            for statement in sql.empty_wallet:
                connection.execute(statement.sql, statement.arguments(contents.parameters()))
        for organization_id in group.deleted_organizations:
            for each in sql.delete_organization:
                connection.execute(each, (organization_id,))
        return CommitOutcome.COMMITTED

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and not self._file.is_still_there():
            self._disconnect()
        if self._connection is None:
            self._connection = self._file.connect()
        return self._connection

    def _disconnect(self) -> None:
        """The next transaction begins with a fresh connection, whatever state the error left this one in."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
            self._tell(self._lost)


def _insert(connection: sqlite3.Connection, inserts: dict[int, str], rows: Sequence[Row]) -> int:
    inserted = done = 0
    for at_once, sql in inserts.items():
        while len(rows) - done >= at_once:
            values = [value for row in rows[done : done + at_once] for value in row]
            inserted += connection.execute(sql, values).rowcount
            done += at_once
    return inserted
