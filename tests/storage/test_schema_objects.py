"""What a database lacks of the objects that migrations make, and functions that were altered."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from keystead.storage.migrations import newest
from keystead.storage.schema_objects import declared_objects, schema_problems
from keystead.storage.statements import SQL, Dialect
from keystead.storage.tables import TABLES
from tests.storage.conftest import MakeDatabase, opened
from tests.storage.test_schema import executed

LOCK = SQL / "postgresql" / "0005_lock_and_read.sql"


def problems(url: str) -> list[str]:
    async def run() -> list[str]:
        async with opened(url) as store:
            return await schema_problems(store)

    return asyncio.run(run())


def test_a_migrated_database_has_everything(database: str) -> None:
    assert problems(database) == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_declared_objects(dialect: Dialect) -> None:
    declared = declared_objects(dialect)
    tables = {name for kind, name in declared if kind == "table"}
    assert tables >= {table.name for table in TABLES} | {"schema_version", "unfinished_deletion"}
    assert declared["index", "wallet_account_by_name"].file.name.startswith("0004"), "it was made anew"
    is_postgresql = dialect == "postgresql"
    assert (("function", "lock_and_read") in declared) == is_postgresql
    assert (("index", "organization_pkey") in declared) == is_postgresql


def test_an_object_that_a_later_migration_drops_is_not_missing(tmp_path: Path) -> None:
    folder = shutil.copytree(SQL, tmp_path / "sql")
    (folder / "sqlite" / f"{newest() + 1:04}_drop.sql").write_text("-- Why.\nDROP INDEX record_removed;\n")
    assert ("index", "record_removed") in declared_objects("sqlite")
    assert ("index", "record_removed") not in declared_objects("sqlite", folder)


@pytest.mark.parametrize(
    ("statement", "missing", "file"),
    [
        ("DROP INDEX record_removed", "index record_removed", "0004_deletions.sql"),
        ("DROP INDEX lookup_exclusive", "index lookup_exclusive", "0001_first_tables.sql"),
        ("DROP VIEW kept_account", "view kept_account", "0004_deletions.sql"),
    ],
)
def test_what_is_missing(statement: str, missing: str, file: str, database: str) -> None:
    executed(database, statement)
    (problem,) = problems(database)
    assert problem.startswith(f"the {missing} is missing: create it as {SQL}")
    assert problem.endswith(f"{file} declares it")


@pytest.mark.parametrize("table", ["instance", "process"])
def test_a_table_that_is_missing(table: str, database: str) -> None:
    executed(database, f"DROP TABLE {table}")
    assert any(problem.startswith(f"the table {table} is missing: ") for problem in problems(database))


def test_a_primary_key_that_is_missing(new_postgres: MakeDatabase) -> None:
    url = new_postgres()
    executed(url, "ALTER TABLE lookup DROP CONSTRAINT lookup_pkey")
    (problem,) = problems(url)
    assert problem.startswith("the primary key of lookup is missing: ")


def test_a_function_that_is_missing(new_postgres: MakeDatabase) -> None:
    """As after a restore of the tables alone. The file of its migration is a script that makes it again."""
    url = new_postgres()
    executed(url, "DROP FUNCTION lock_and_read")
    assert problems(url) == [f"the function lock_and_read is missing: create it as {LOCK} declares it"]
    executed(url, LOCK.read_text())
    assert problems(url) == []


DECLARED = LOCK.read_text()
ALTERED = {
    "another body": DECLARED.replace("FOR NO KEY UPDATE", "FOR UPDATE"),
    "no lock": DECLARED.replace("PERFORM FROM", "-- PERFORM FROM"),
    "stable": DECLARED.replace("VOLATILE", "STABLE"),
    "with the rights of its owner": DECLARED.replace("VOLATILE", "SECURITY DEFINER"),
    "another result": DECLARED.replace("version BIGINT, changed_by TEXT", "version INTEGER, changed_by TEXT"),
    "other arguments": DECLARED.replace("known_version BIGINT", "known_version INTEGER"),
    "its own setting": DECLARED.replace("VOLATILE", "VOLATILE SET work_mem = '4MB'"),
}


@pytest.mark.parametrize("change", ALTERED)
def test_a_function_that_was_altered(change: str, new_postgres: MakeDatabase) -> None:
    assert ALTERED[change] != DECLARED
    url = new_postgres()
    executed(url, "DROP FUNCTION lock_and_read")
    executed(url, ALTERED[change])
    expected = f"the function lock_and_read is not the one of this version: drop it, and create it as {LOCK}"
    assert problems(url) == [f"{expected} declares it"]


SAME = {
    "in other letters": DECLARED.replace("RETURNS TABLE (", "returns  table("),
    "without its default": DECLARED.replace(" VOLATILE", ""),
    "in other quotes": DECLARED.replace("AS '", "AS $anything$").replace("END';", "END$anything$;"),
}


@pytest.mark.parametrize("writing", SAME)
def test_a_function_in_another_writing_is_the_same(writing: str, new_postgres: MakeDatabase) -> None:
    assert SAME[writing] != DECLARED
    url = new_postgres()
    executed(url, "DROP FUNCTION lock_and_read")
    executed(url, SAME[writing])
    assert problems(url) == []


def test_distributed_tables_need_no_function(new_postgres: MakeDatabase) -> None:
    """But everything else."""
    url = new_postgres()
    executed(url, "DROP FUNCTION lock_and_read")
    executed(url, "INSERT INTO instance (name, value) VALUES ('distribution', 'citus')")
    assert problems(url) == []
    executed(url, "DROP INDEX record_removed")
    assert len(problems(url)) == 1


def test_functions_of_others_are_left_alone(new_postgres: MakeDatabase) -> None:
    """Objects of another schema and of an extension, and an aggregate, which has no definition of this kind."""
    url = new_postgres()
    for statement in (
        "CREATE SCHEMA elsewhere",
        "CREATE FUNCTION elsewhere.lock_and_read() RETURNS INTEGER LANGUAGE sql AS 'SELECT 1'",
        "CREATE AGGREGATE total(INTEGER) (SFUNC = int4pl, STYPE = INTEGER)",
    ):
        executed(url, statement)
    assert problems(url) == []
    executed(url, "DROP FUNCTION public.lock_and_read")
    assert len(problems(url)) == 1
