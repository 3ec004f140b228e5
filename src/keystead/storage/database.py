"""What a database does for the store: it runs the statements that read, transactions, and locks.

Here: the interface that SQLite and PostgreSQL implement, and the form in which everything reads. Not here: what is
read (`store` and its neighbours), which commits share a transaction (`group_commit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitResult
from keystead.primitives.share import Share
from keystead.storage.rows import Outcome, Rows
from keystead.storage.statements import Dialect, Reads, Statement

LOWEST, HIGHEST = "", "~"
"""Cursors below and above every id, which is a UUID."""

Selected = Sequence[Sequence[Any]]
"""The rows that a statement selected."""


class DatabaseLock(Protocol):
    """An organization that is locked."""

    @property
    def changes(self) -> Selected | None:
        """The rows of the statement `changed_since` after the known version, read under the lock. None: the lock
        reads nothing."""
        ...

    async def write(self, commits: Sequence[Rows]) -> CommitResult | None:
        """Write the commits together and end the lock. None if they must be written one by one, without the
        lock."""
        ...


class Database(Protocol):
    """Implemented by `sqlite.database.SqliteDatabase` and `postgres.database.PostgresDatabase`. Every method raises
    Unavailable while the database does not answer, and works again when it does."""

    dialect: Dialect

    @property
    def reads(self) -> Reads:
        """The statements that read."""
        ...

    def when_lost(self, call: Callable[[], None]) -> None:
        """`call` is called after a connection was lost. The next one may reach another database."""
        ...

    async def rows(self, statement: Statement, arguments: Sequence[Any]) -> Selected:
        """Run a statement that reads."""
        ...

    def list_argument(self, values: Sequence[str]) -> Any:
        """The values as one argument of a statement."""
        ...

    async def version(self, organization_id: str) -> Version | None:
        """The newest version of an organization. It includes everything that was committed before this turn of the
        event loop began."""
        ...

    async def whole(self, organization_id: str) -> Selected:
        """The rows of the statement `whole`."""
        ...

    async def is_distributed(self) -> bool:
        """Whether the tables are distributed over several nodes. If so, their statements are used from now on."""
        ...

    async def write(self, rows: Rows) -> Outcome:
        """Run a transaction. Returns its result, or the error for its commits."""
        ...

    def locked(self, organization_id: str, known_version: int | None) -> AbstractAsyncContextManager[DatabaseLock]:
        """See `pipeline.store.Store.locked`."""
        ...

    def connections(self) -> Mapping[str, tuple[int, int]]:
        """By purpose: how many connections to a database server are in use, and the most that there can be."""
        ...

    async def check(self) -> None:
        """Raise Unavailable unless the database can be read now."""
        ...

    async def close(self) -> None:
        """Disconnect. Nothing may be written at the same time."""
        ...


class Queries:
    """Runs the statements that read. `share`: large organizations and activities are read in turns."""

    def __init__(self, database: Database, share: Share) -> None:
        self.database = database
        self.share = share

    @property
    def reads(self) -> Reads:
        return self.database.reads

    async def select(self, statement: Statement, **values: Any) -> Selected:
        return await self.database.rows(statement, statement.arguments(values))

    def list_argument(self, values: Sequence[str]) -> Any:
        return self.database.list_argument(values)

    def periods(self, bounds_ms: Sequence[int]) -> dict[str, Any]:
        """The periods between these bounds, as two arguments of a statement."""
        texts = list(map(str, bounds_ms))
        return {"starts": self.list_argument(texts[:-1]), "ends": self.list_argument(texts[1:])}
