"""The file of a SQLite database: connecting to it, noticing that it is gone, and what its errors mean.

Here: settings of every connection. Not here: what is done with them (`sqlite`, `sqlite_writer`, `schema`).
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from keystead.api.errors import Unavailable
from keystead.storage.errors import NotMigrated, unavailable

_PAGES_UNTIL_CHECKPOINT = 4000
_LOOK_AGAIN_S = 0.001


class DatabaseFile:
    """`lock_wait_s`: how long a statement waits for other processes before Unavailable."""

    def __init__(self, path: Path, *, lock_wait_s: float) -> None:
        self.path = path
        self._lock_wait_s = lock_wait_s
        self._identity: tuple[int, int] | None = None

    def connect(self, *, create: bool = False) -> sqlite3.Connection:
        """A connection without implicit transactions. A file that is missing is not created unless asked."""
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True,
            timeout=self._lock_wait_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._write_ahead(connection)
            connection.execute("PRAGMA synchronous=FULL")
            # macOS: a plain fsync there leaves the data in the drive's own cache.
            connection.execute("PRAGMA fullfsync=ON")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute(f"PRAGMA wal_autocheckpoint={_PAGES_UNTIL_CHECKPOINT}")
            self._identity = self._found()
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Needed once per file. SQLite itself does not wait with this while others open the new file too."""
        give_up_at = time.monotonic() + self._lock_wait_s
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up_at:
                    raise
                time.sleep(0.005)

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a transaction that writes, on a connection that does nothing else.

        SQLite itself would look for the lock ever more rarely, ten times a second in the end: whoever lets go of it
        only to take it again would keep everybody else out.
        """
        connection.execute("PRAGMA busy_timeout=0")
        give_up_at = time.monotonic() + self._lock_wait_s
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up_at:
                    raise
                time.sleep(_LOOK_AGAIN_S)

    def is_still_there(self) -> bool:
        """Whether the path still leads to the file that was connected to last: SQLite itself would go on writing
        to a file that was deleted or replaced."""
        return self._found() == self._identity

    def _found(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def translated(error: sqlite3.Error) -> Unavailable:
    """What a caller may be told. SQLite's messages name no values."""
    if "no such table" in str(error):
        refusal: Unavailable = NotMigrated()
    else:
        refusal = unavailable(f"did not do this ({error})")
    refusal.__cause__ = error
    return refusal
