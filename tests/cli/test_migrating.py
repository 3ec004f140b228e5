"""`keystead migrate`: it needs the database only, and refuses one that is newer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keystead.cli.failure import Failure
from keystead.cli.main import app
from keystead.storage.migrations import newest


def run(*arguments: str) -> str:
    """What the command prints. Raises Failure."""
    result = CliRunner().invoke(app, ["migrate", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output.strip()


def test_a_new_file_is_checked_and_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keystead.db"
    with pytest.raises(Failure, match=rf"needs {newest()} migration\(s\): run keystead migrate"):
        run("--check", "--database-url", url)
    assert not list(tmp_path.iterdir()), "--check changes nothing"
    assert run("--database-url", url) == "The database is migrated."
    assert run("--database-url", url) == "Nothing to do: the database needs no migration."
    assert run("--check", "--database-url", url) == "The database needs no migration."
    assert (tmp_path / "keystead.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("options", [[], ["--check"]], ids=["migrate", "check"])
def test_a_newer_database_is_refused(options: list[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keystead.db"
    run("--database-url", url)
    with closing(sqlite3.connect(tmp_path / "keystead.db", isolation_level=None)) as connection:
        connection.execute("UPDATE schema_version SET version = 9999")
        connection.execute("UPDATE instance SET value = '9999' WHERE name = 'oldest_server'")
    with pytest.raises(Failure, match=f"tables have version 9999, this version knows {newest()}; run the newer"):
        run(*options, "--database-url", url)


def test_a_bad_url_is_one_line() -> None:
    with pytest.raises(Failure, match="database URLs begin with"):
        run("--database-url", "mysql://localhost/keystead")
