"""The SQL files: both databases have the same statements, tables and columns, and every read uses an index."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keystead.storage.row_encoding import rows_of
from keystead.storage.rows import ACTIVITY_CHANGES
from keystead.storage.statements import (
    SQL,
    Dialect,
    Statement,
    compile_statement,
    parse,
    postgres_statements,
    sqlite_statements,
)
from keystead.storage.tables import TABLES, IfPresent, Table
from tests.storage.conftest import MakeDatabase
from tests.support.commit_history import CommitHistory
from tests.support.commit_samples import an_organization


def test_both_databases_have_the_same_statements() -> None:
    sqlite, postgresql = [parse((SQL / each / "statements.sql").read_text()) for each in ("sqlite", "postgresql")]
    one = {"lock_organization", "lock_and_read"}
    locks = one | {"lock_organizations", "lock_activities", "lock_instance_values", "check_versions"}
    locks |= {"lock_counters", "insert_counter"}
    assert sqlite.keys() == postgresql.keys() - locks
    for name, sql in sqlite.items():
        assert set(compile_statement(sql, "sqlite").names) == set(
            compile_statement(postgresql[name], "postgresql").names
        ), name
    assert not sqlite.keys() & parse((SQL / "statements.sql").read_text()).keys()


def test_every_statement_is_there_and_used() -> None:
    """Loading raises ValueError otherwise."""
    assert sqlite_statements().reads.version.names == postgres_statements().reads.version.names == ("id",)


PARAMETERS: list[tuple[Dialect, str, str, tuple[str, ...]]] = [
    ("sqlite", "SELECT :a, :b, :a", "SELECT ?, ?, ?", ("a", "b", "a")),
    ("postgresql", "SELECT :a, :b, :a", "SELECT $1, $2, $1", ("a", "b")),
    ("postgresql", "SELECT unnest(:ids::text[])", "SELECT unnest($1::text[])", ("ids",)),
]


@pytest.mark.parametrize(("dialect", "sql", "expected", "names"), PARAMETERS)
def test_parameters(dialect: Dialect, sql: str, expected: str, names: tuple[str, ...]) -> None:
    assert compile_statement(sql, dialect) == Statement(expected, names)


def test_a_file_of_statements() -> None:
    text = (
        "-- About.\n\n-- name: one\n-- Why.\nSELECT 1\n-- In it.\nFROM a;\n-- Heading.\n-- name: two\nSELECT 2;\n"
    )
    assert parse(text) == {"one": "SELECT 1\nFROM a", "two": "SELECT 2"}
    with pytest.raises(ValueError, match="two statements"):
        parse("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;\n")


def test_rows_have_the_columns_of_their_tables() -> None:
    tables = {table.name: table for table in TABLES}
    assert tables["activity"].names[-len(ACTIVITY_CHANGES) :] == ACTIVITY_CHANGES
    step = CommitHistory(an_organization()).step()
    assert step.activity is not None
    for name, row in rows_of(step).inserted:
        assert len(row) == len(tables[name].columns), name
        for (column, type_), value in zip(tables[name].columns, row, strict=True):
            assert value is None or type(value) is type_, (name, column)
        if name == "activity":
            by_column = dict(zip(tables[name].names, row, strict=True))
            assert by_column["request"] == step.activity.request
            assert by_column["fingerprint"] == step.activity.fingerprint


def test_a_row_that_is_skipped_raises_no_error() -> None:
    assert all(table.if_present is IfPresent.SKIP for table in TABLES if table.if_skipped is not None)


def test_no_statement_reads_a_whole_table_on_sqlite(new_sqlite: MakeDatabase) -> None:
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    names = {table.name for table in TABLES}
    statements = list(_every_sql(sqlite_statements()))
    assert len(statements) > 60
    for sql in statements:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
        for *_, step in plan:
            table = re.match(r"SCAN (\w+)", step)
            assert table is None or table[1] not in names, f"{step}\n{sql}"
    connection.close()


def _every_sql(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, Table):
        pass
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


def test_comments_and_statements_fit_a_screen() -> None:
    for file in (*SQL.glob("*.sql"), *SQL.glob("*/*.sql")):
        for number, line in enumerate(Path(file).read_text().splitlines(), 1):
            assert len(line) <= 116, f"{file.name}:{number}"
