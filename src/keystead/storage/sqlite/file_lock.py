"""An advisory lock between the processes that use one SQLite file.

SQLite has no row locks. A process that lost a race for an organization takes this lock before it decides again.
While the file is locked, commits of other processes that change an organization end in a conflict. Compare-and-swap
keeps every commit correct with or without it. Not here: when it is taken (`pipeline.organization_writer`), what is
written under it (`sqlite`).
"""

from __future__ import annotations

import asyncio
import fcntl
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from keystead.storage.errors import unavailable

_POLL_S = 0.005


class FileLock:
    """A lock file beside the database. The operating system releases the lock when its process ends."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}-lock")
        self._owners = 0

    @asynccontextmanager
    async def lock(self, wait_s: float) -> AsyncIterator[None]:
        """Lock the file. After `wait_s` seconds continue without the lock, because its owner may be suspended.

        Raises Unavailable if there is no database, or if the lock file cannot be created.
        """
        with self._open() as file:  # closing it releases the lock
            deadline_s = asyncio.get_running_loop().time() + wait_s
            while (  # noqa: ASYNC110 (another process releases the lock, so nothing here can wait for an event)
                not _try_lock(file, fcntl.LOCK_EX) and asyncio.get_running_loop().time() < deadline_s
            ):
                await asyncio.sleep(random.uniform(0, _POLL_S))  # noqa: S311 (not a secret)
            self._owners += 1
            try:
                yield
            finally:
                self._owners -= 1

    def is_locked_by_another_process(self) -> bool:
        """Whether another process has locked the file now. Any thread may call this."""
        if self._owners:
            return False
        try:
            file = self._path.open("rb")
        except OSError:  # no process has taken it yet
            return False
        with file:
            return not _try_lock(file, fcntl.LOCK_SH)

    def _open(self) -> IO[bytes]:
        if not self._database.exists():
            raise unavailable("has no file")
        try:
            return self._path.open("ab")
        except OSError:
            raise unavailable("cannot be locked") from None


def _try_lock(file: IO[bytes], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
