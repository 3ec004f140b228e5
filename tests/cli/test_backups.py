"""`keystead backup`, `restore` and `check` on SQLite, as an operator runs them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from keystead.keys import master_key
from keystead.storage.sqlite.backup import back_up
from tests.conftest import MakeDatabase
from tests.faults.test_signer_dies import WalletLoad
from tests.support.commands import run_keystead as keystead
from tests.support.databases import SqliteDatabase
from tests.support.servers import Installation, Server, bootstrap_installation


def refused(*words: str | Path) -> str:
    """Why the command failed: one line."""
    done = keystead(*words)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    return line.removeprefix("keystead: ")


@pytest.fixture
def sqlite_installation(make_sqlite: MakeDatabase) -> Installation:
    return bootstrap_installation(make_sqlite())


def path_of(installation: Installation) -> Path:
    assert isinstance(installation.database, SqliteDatabase)
    return installation.database.path


def test_backup_of_a_running_database(
    sqlite_installation: Installation, start: Callable[..., Server], tmp_path: Path
) -> None:
    """Everything that was answered before the backup began is in it, and it is whole."""
    key = tmp_path / "master.key"
    master_key.create(key, sqlite_installation.master_key)
    server, copy = start(sqlite_installation), tmp_path / "copy.db"
    with WalletLoad(server.caller, threads=2) as load:
        load.wait_for(10)
        before = len(load.answers)
        done = keystead("backup", copy, "--database-url", sqlite_installation.database.url)
        assert done.returncode == 0, done.stderr
        load.wait_for(5)
    assert copy.stat().st_mode & 0o077 == 0
    database = tmp_path / "restored.db"
    done = keystead("restore", copy, "--database-url", f"sqlite:///{database}")
    assert done.returncode == 0, done.stderr
    checked = keystead("check", "--database-url", f"sqlite:///{database}", "--master-key-file", key)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.splitlines()[-1] == "No problem found."
    assert {path.name for path in tmp_path.glob("*.db*") if "-" not in path.name} == {"copy.db", "restored.db"}
    restored = SqliteDatabase(database)
    wallets = restored.rows("SELECT count(*) FROM record WHERE kind = 'wallet'")[0][0]
    assert before <= wallets < len(load.answers)
    restored.close()
    assert not list(tmp_path.glob("*.unfinished"))


def test_what_backup_refuses(sqlite_installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "there.db").write_text("kept")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE anything (id)").connection.close()
    (tmp_path / "text.db").write_text("no database " * 100)
    url, new = sqlite_installation.database.url, tmp_path / "new.db"
    cases = [
        (url, tmp_path / "there.db", "there.db exists already: give another file"),
        (f"sqlite:///{tmp_path}/none.db", new, "there is no database file"),
        (f"sqlite:///{tmp_path}/other.db", new, "other.db is not a database of Keystead"),
        (f"sqlite:///{tmp_path}/text.db", new, "file is not a database"),
        (url, tmp_path / "no" / "folder.db", "unable to open database file"),
        ("postgresql://localhost/keystead", new, "use PostgreSQL's own pg_dump, as docs/backup.md says"),
    ]
    for database_url, target, message in cases:
        assert message in refused("backup", target, "--database-url", database_url)
    assert (tmp_path / "there.db").read_text() == "kept"
    assert not new.exists()


def test_what_restore_refuses(sqlite_installation: Installation, tmp_path: Path) -> None:
    """A database that is there already, a part of one, a file that is not a backup, a newer backup, a trigger."""
    backup, newer, text = tmp_path / "backup.db", tmp_path / "newer.db", tmp_path / "text.db"
    assert keystead("backup", backup, "--database-url", sqlite_installation.database.url).returncode == 0
    shutil.copy(backup, newer)
    with closing(sqlite3.connect(newer, isolation_level=None)) as connection:
        connection.execute("UPDATE schema_version SET version = 9999")
    tampered = tmp_path / "tampered.db"
    shutil.copy(backup, tampered)
    with closing(sqlite3.connect(tampered, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER adds AFTER INSERT ON activity BEGIN DELETE FROM organization; END")
    text.write_text("no database " * 100)
    used, part = path_of(sqlite_installation), tmp_path / "part.db"
    (tmp_path / "part.db-wal").write_bytes(b"what another database left")
    before, new = used.read_bytes(), tmp_path / "new.db"
    cases = [
        (backup, used, "a backup is restored only where there is no database"),
        (backup, part, "part.db-wal exists already"),
        (newer, new, "have version 9999"),
        (text, new, "file is not a database"),
        (tampered, new, "has a trigger, 'adds', which Keystead did not make"),
        (tmp_path / "none.db", new, "there is no backup"),
    ]
    for source, database, message in cases:
        assert message in refused("restore", source, "--database-url", f"sqlite:///{database}")
    assert used.read_bytes() == before
    assert not new.exists()
    assert not part.exists()


def test_an_interrupted_backup_leaves_nothing_and_is_repeated(
    sqlite_installation: Installation, tmp_path: Path
) -> None:
    """Stopped between two steps: Ctrl-C raises this while progress is reported."""
    database, copy = path_of(sqlite_installation), tmp_path / "copy.db"

    def interrupt(_copied: int, _pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(database, copy, interrupt)
    assert not list(tmp_path.iterdir())
    assert keystead("backup", copy, "--database-url", sqlite_installation.database.url).returncode == 0


def test_check_says_each_problem(sqlite_installation: Installation, tmp_path: Path) -> None:
    """Exit code 1, for another master key, for a damaged file, and for a database that is not migrated."""
    key, other = tmp_path / "master.key", tmp_path / "other.key"
    master_key.create(key, sqlite_installation.master_key)
    master_key.create(other)
    database = path_of(sqlite_installation)
    words = ("check", "--database-url", sqlite_installation.database.url, "--master-key-file")
    done = keystead(*words, other)
    assert done.returncode == 1
    assert "it is under key" in done.stdout
    assert "the data is probably under another master key" in done.stderr
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ', version)', ', kind)') WHERE name = 'record_by_version'"
        )
    done = keystead(*words, key)
    assert done.returncode == 1
    assert "the database file: " in done.stdout
    assert refused("check", "--database-url", f"sqlite:///{tmp_path}/none.db", "--master-key-file", key).startswith(
        "there is no database file"
    )
