"""The file of a SQLite database: connections to it, the check that it still exists, the translation of its errors.

Here: the settings of every connection. Not here: statements (`database`, `storage.schema`).
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from keystead.api.errors import Unavailable
from keystead.storage.errors import NotMigrated, unavailable

_PAGES_UNTIL_CHECKPOINT = 4000
_RETRY_S = 0.001


class DatabaseFile:
    """`lock_wait_s`: how long a statement waits for other processes before Unavailable."""

    def __init__(self, path: Path, *, lock_wait_s: float) -> None:
        self.path = path
        self._lock_wait_s = lock_wait_s
        self._identity: tuple[int, int] | None = None

    def connect(self, *, create: bool = False) -> sqlite3.Connection:
        """A connection without implicit transactions. A missing file is created only with `create`."""
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True,
            timeout=self._lock_wait_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._set_wal_mode(connection)
            connection.execute("PRAGMA synchronous=FULL")
            # On macOS a plain fsync leaves the data in the drive's cache.
            connection.execute("PRAGMA fullfsync=ON")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute(f"PRAGMA wal_autocheckpoint={_PAGES_UNTIL_CHECKPOINT}")
            self._identity = self._file_identity()
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_wal_mode(self, connection: sqlite3.Connection) -> None:
        """Set WAL mode, which a file needs once. SQLite does not wait by itself if another process opens the new
        file at the same time."""
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

        SQLite's own wait checks the lock less and less often, finally ten times a second. A process that writes
        without a pause would then keep all others from writing.
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
                time.sleep(_RETRY_S)

    def is_same_file(self) -> bool:
        """Whether the path still names the file of the last connection. SQLite continues to write to a file that
        was deleted or replaced."""
        return self._file_identity() == self._identity

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def error_for_caller(error: sqlite3.Error) -> Unavailable:
    """The error for the caller. It has SQLite's message, which never quotes values."""
    if "no such table" in str(error):
        refusal: Unavailable = NotMigrated()
    else:
        refusal = unavailable(f"did not do this ({error})")
    refusal.__cause__ = error
    return refusal
