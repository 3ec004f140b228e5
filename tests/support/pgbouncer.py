"""PgBouncer in transaction mode before a PostgreSQL of the tests: skipped only where there is no PgBouncer.

`make test` unpacks it into the virtual environment (`tools/unpack_debian.sh`) where the machine has none.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.hanging import PATIENCE_S
from tests.support.servers import free_port

_UNPACKED = Path(sys.prefix) / "pgbouncer/usr"
_PROGRAM = shutil.which(
    "pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", f"{_UNPACKED}/sbin"])
)

needs_pgbouncer = pytest.mark.skipif(_PROGRAM is None, reason="PgBouncer is not installed")


class PgBouncer:
    """One process on a loopback port, with at most `sessions` of the server for all its clients."""

    def __init__(self, url: str, home: Path, *, sessions: int) -> None:
        parts = urlsplit(url)
        port = free_port()
        self.url = url.replace(f":{parts.port}/", f":{port}/")
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:  # PgBouncer refuses to run as root
            account = pwd.getpwnam("nobody")
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            home.chmod(0o755)
            home.parent.chmod(home.parent.stat().st_mode | 0o011)
        (home / "users").write_text(f'"{parts.username}" "{parts.password}"\n')
        (home / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={parts.hostname} port={parts.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {home}/users\n"
            f"pool_mode = transaction\ndefault_pool_size = {sessions}\nmax_client_conn = 200\n"
        )
        for name in ("users", "pgbouncer.ini"):
            (home / name).chmod(0o644)

    def start(self) -> None:
        """Start; return when connections are accepted."""
        assert _PROGRAM is not None
        libraries = [str(folder) for folder in (_UNPACKED / "lib").glob("*-linux-gnu")]
        path = os.pathsep.join([*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_PROGRAM, self._home / "pgbouncer.ini"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "LD_LIBRARY_PATH": path},
                **self._as_user,
            )
        deadline = time.monotonic() + PATIENCE_S
        while b"process up" not in (self._home / "log").read_bytes():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = (self._home / "log").read_text()[-4000:]
                self.kill()
                raise RuntimeError(f"PgBouncer did not start:\n{said}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Every connection through it breaks."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            self._process = None
            (self._home / "log").unlink()


@contextmanager
def running_pgbouncer(url: str, *, sessions: int) -> Iterator[PgBouncer]:
    with tempfile.TemporaryDirectory(prefix="keystead-pgbouncer-") as home:
        pooler = PgBouncer(url, Path(home), sessions=sessions)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()
