"""The commands of docs/point-in-time.md: an archive, a base backup, and the database of a moment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from keystead.keys import master_key
from keystead.storage.schema import migrate
from tests.conftest import StartServer
from tests.documentation.blocks import blocks_of
from tests.support.databases import PostgresDatabase
from tests.support.hanging import PATIENCE_S
from tests.support.postgres import BINARIES, PostgresServer, running_postgres
from tests.support.servers import Installation, Server, bootstrap_installation, free_port
from tests.support.source_tree import ROOT

ARCHIVE, BASE, PUT_ON_RECORD, RESTORE, CHECK = [
    block.text for block in blocks_of(ROOT / "docs" / "point-in-time.md") if block.language == "bash"
]


class Places:
    """Where the commands run: those of PostgreSQL as its user, in a folder of its own; the others as ours."""

    def __init__(self, server: PostgresServer, tmp_path: Path) -> None:
        self.server = server
        self.folder = server._home / "page"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.tmp_path = tmp_path
        self.restored_port = free_port()
        parts = urlsplit(server.url())
        for folder in (self.folder, tmp_path):
            passwords = folder / "passwords"
            passwords.write_text(f"*:*:*:{parts.username}:{parts.password}\n")
            passwords.chmod(0o600)
        account = server._as_user
        if account:
            os.chown(self.folder / "passwords", account["user"], account["group"])
        self.variables = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": str(parts.username),
            "ARCHIVE": str(self.folder / "archive"),
            "BASE": str(self.folder / "base"),
            "RESTORED": str(self.folder / "restored"),
            "RESTORED_PORT": str(self.restored_port),
        }

    def as_postgres(self, block: str, **more: str) -> str:
        paths = os.pathsep.join([str(self.server._install / "bin"), os.environ["PATH"]])
        environment = {**self.variables, "PATH": paths, "PGPASSFILE": str(self.folder / "passwords"), **more}
        return _run(block, self.folder, environment, **self.server._as_user)

    def as_keystead(self, block: str, **more: str) -> str:
        paths = os.pathsep.join([str(Path(sys.executable).parent), str(BINARIES), os.environ["PATH"]])
        return _run(block, self.tmp_path, {"PATH": paths, **more})

    def restored_url(self, url: str) -> str:
        return url.replace(f":{self.server.port}/", f":{self.restored_port}/")


def _run(block: str, folder: Path, environment: dict[str, str], **user: Any) -> str:
    command = ["bash", "-euc", block]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        **user,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def restored(places: Places, moment: str) -> Iterator[None]:
    """The database of the moment, served until the block ends. Then its folder is gone."""
    places.as_postgres(RESTORE, MOMENT=moment)
    try:
        yield
    finally:
        places.as_postgres('pg_ctl --pgdata="$RESTORED" --mode=immediate stop')
        shutil.rmtree(places.variables["RESTORED"])


def wallet(server: Server, name: str) -> str:
    made: str = server.caller.result("create_wallet", {"walletName": name, "accounts": []})["walletId"]
    return made


def test_the_database_of_a_moment(start: StartServer, tmp_path: Path) -> None:
    """Restored twice from one base backup: to the moment before the last activities, and to one before that."""
    with running_postgres() as postgres:
        places = Places(postgres, tmp_path)
        url = postgres.create_database()
        migrate(url)
        database = PostgresDatabase(url)
        installation = bootstrap_installation(database)
        master_key.create(tmp_path / "master.key", installation.master_key)
        places.as_postgres(ARCHIVE)
        database.close()
        postgres.stop()
        postgres.start()
        server = start(installation)
        made = [wallet(server, "before the base backup")]
        places.as_postgres(BASE)
        places.as_keystead(PUT_ON_RECORD, KEYSTEAD_DATABASE_URL=url)
        moments = []
        for name in ("first", "second"):
            made.append(wallet(server, name))
            moments.append(postgres.run("SELECT clock_timestamp()"))
        made.append(wallet(server, "after both"))
        server.caller.submitted("delete_wallets", {"walletIds": [made[0]], "deleteWithoutExport": True})
        assert server.stop() == 0
        database.close()
        postgres.stop()
        for moment, wallets in ((moments[1], made[:3]), (moments[0], made[:2])):
            with restored(places, moment):
                at = places.restored_url(url)
                checked = places.as_keystead(CHECK, RESTORED_URL=at)
                assert checked.splitlines()[-1] == "No problem found."
                _look(start, installation, at, wallets)


def _look(start: StartServer, installation: Installation, url: str, wallets: list[str]) -> None:
    """A server on the restored database has these wallets, and works."""
    database = PostgresDatabase(url)
    server = start(Installation(**{**vars(installation), "database": database}))
    listed = server.caller.asked("list_wallets")["wallets"]
    assert [one["walletId"] for one in listed] == wallets
    wallet(server, "after both")  # the name is free: nothing is known of what came later
    assert server.stop() == 0
    database.close()
