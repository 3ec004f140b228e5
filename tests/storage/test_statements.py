"""The generated SQL is what is declared, finds rows by an index, and agrees with code that counts columns."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keystead.cli.main import COMMANDS
from keystead.storage.batch import KEY_LENGTHS
from keystead.storage.declared import generate
from keystead.storage.declared.tables import activity, metadata
from keystead.storage.rows import of_commit
from keystead.storage.statements import Statement, postgres_statements, sqlite_statements
from keystead.storage.write_set import ACTIVITY_CHANGES, IF_SKIPPED
from tests.storage.conftest import MakeDatabase
from tests.support.commit_history import CommitHistory
from tests.support.commit_samples import an_organization


def test_the_generated_files_are_current() -> None:
    assert generate.main(["--check"]) == 0, "run make generate"


def test_they_are_read_as_they_were_declared() -> None:
    assert sqlite_statements() == generate.sqlite_statements()
    assert postgres_statements() == generate.postgres_statements()
    # The order is that of writing, and of trying.
    assert list(sqlite_statements().inserts) == list(generate.sqlite_statements().inserts)
    assert list(postgres_statements().inserts) == list(generate.postgres_statements().inserts)
    for by_count in sqlite_statements().inserts.values():
        assert list(by_count) == sorted(by_count, reverse=True)
        assert list(by_count)[-1] == 1


def test_check_tells_and_writing_mends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "GENERATED", tmp_path)
    assert generate.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (tmp_path / "sqlite.json").write_text("edited by hand")
    assert generate.main(["--check"]) == 1


@pytest.mark.parametrize(
    "modules",
    [
        "keystead.server.run, keystead.cli.main, keystead.cli.serving, keystead.storage.sqlite",
        "keystead.server.run, keystead.storage.postgres",
        ", ".join(sorted({f"keystead.cli.{target.partition(':')[0]}" for target in COMMANDS.values()})),
        "keystead.signer.process, keystead.testing",
    ],
)
def test_servers_and_commands_do_without_sqlalchemy(modules: str) -> None:
    said = f"import sys, {modules}; print(sorted({{'sqlalchemy', 'alembic', 'mako'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True).stdout == "[]\n"


def test_a_new_database_is_made_without_alembic(tmp_path: Path) -> None:
    said = (
        "import sys; from keystead.storage.schema import migrate; "
        f"print(migrate('sqlite:///{tmp_path}/new.db'), {{'sqlalchemy', 'alembic'}} & sys.modules.keys())"
    )
    run = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True)
    assert run.stdout == "True set()\n"


def test_rows_are_counted_as_the_tables_are_declared() -> None:
    for table, length in KEY_LENGTHS.items():
        columns = metadata.tables[table].columns.keys()
        assert columns[:length] == metadata.tables[table].primary_key.columns.keys(), table
    assert tuple(activity.columns.keys()[-len(ACTIVITY_CHANGES) :]) == ACTIVITY_CHANGES
    step = CommitHistory(an_organization()).step()
    assert step.activity is not None
    for table, row in of_commit(step).rows:
        columns = metadata.tables[table].columns.keys()
        assert len(row) == len(columns), table
        if table == "activity":
            assert row[columns.index("request")] == step.activity.request
            assert row[columns.index("fingerprint")] == step.activity.fingerprint


def test_what_is_skipped_is_no_error_of_the_database() -> None:
    for table in IF_SKIPPED:
        inserts = [postgres_statements().inserts[table], *sqlite_statements().inserts[table].values()]
        assert all(insert.endswith("ON CONFLICT DO NOTHING") for insert in inserts), table


def test_no_statement_walks_through_a_table_on_sqlite(new_sqlite: MakeDatabase) -> None:
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    for sql in _every_sql(sqlite_statements()):
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
        for *_, step in plan:
            table = re.match(r"SCAN (\w+)", step)
            assert table is None or table[1] not in metadata.tables, f"{step}\n{sql}"
    connection.close()


def _every_sql(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, Statement):
        yield part.sql
    elif isinstance(part, Mapping):
        for inner in part.values():
            yield from _every_sql(inner)
    elif isinstance(part, tuple):
        for inner in part:
            yield from _every_sql(inner)
    else:
        yield from _every_sql(msgspec.structs.asdict(part))


def test_accounts_are_found_by_their_own_index_on_sqlite(new_sqlite: MakeDatabase) -> None:
    """However many there are: a walk through all accounts of an organization would not show as a scan."""
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    reads = sqlite_statements().reads
    for statement, index in [
        (reads.accounts_with_address, "wallet_account_by_address"),
        (reads.accounts_at, "wallet_account_by_path"),
        (reads.accounts_called, "wallet_account_by_name"),
        (reads.accounts_of_ids, "sqlite_autoindex_wallet_account_1"),
    ]:
        arguments = [None] * statement.sql.count("?")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", arguments).fetchall()
        assert any(f"USING INDEX {index} " in step for *_, step in plan), (index, plan)
    connection.close()
