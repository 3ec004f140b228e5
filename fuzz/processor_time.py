"""The processor time of a server and its database, so that a wait counts no time that other programs took.

Here: reading it, on Linux. Not here: what is measured with it (`delays`).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.databases import PostgresDatabase
from tests.support.servers import Server


@dataclass(frozen=True)
class Processes:
    """`postgres`: the first process of PostgreSQL, whose children serve its connections; None with SQLite."""

    server: int
    postgres: int | None

    def used_s(self) -> float:
        """The processor time of all their threads; the time on the clock where the system does not tell it."""
        if sys.platform != "linux":
            return time.perf_counter()
        return sum(map(_used_s, [self.server, *self._of_connections()]))

    def _of_connections(self) -> list[int]:
        if self.postgres is None:
            return []
        children = Path(f"/proc/{self.postgres}/task/{self.postgres}/children").read_text()
        return [int(pid) for pid in children.split()]


def processes_of(server: Server) -> Processes:
    """The server and its database. The signer is left out: it works for the attacker alone."""
    database = server.installation.database
    if not isinstance(database, PostgresDatabase):
        return Processes(server.pid, None)
    ((pid_file,),) = database.rows("SELECT pg_read_file('postmaster.pid')")
    return Processes(server.pid, int(pid_file.split()[0]))


def _used_s(pid: int) -> float:
    try:
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) makes it of a process id
    except OSError:  # it has ended
        return 0.0
