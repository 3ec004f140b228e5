"""Writes the SQL that the stores run: `python -m keystead.storage.declared.generate [--check]`.

Here: what the files of the folder `sql` hold. Not here: the declarations (`tables`, `reads`, `pages`, `writes`),
how the files are read (`keystead.storage.statements`), the migrations (`keystead.storage.migrations`).
"""

from __future__ import annotations

import sys

import msgspec

from keystead.storage.declared.dialects import PostgresDialect, SqliteDialect
from keystead.storage.declared.reads import reads
from keystead.storage.declared.writes import (
    activity_swap,
    check_versions,
    deletions,
    dissolution,
    instance_swap,
    lock_organization,
    organization_swap,
    postgres_inserts,
    sqlite_inserts,
    wallet_emptying,
)
from keystead.storage.migrations.offline import upgrade_sql
from keystead.storage.statements import GENERATED, PostgresStatements, SqliteStatements


def sqlite_statements() -> SqliteStatements:
    dialect = SqliteDialect()
    return SqliteStatements(
        reads=reads(dialect),
        swap_version=organization_swap(dialect).update,
        swap_activity=activity_swap(dialect).update,
        swap_setting=instance_swap(dialect).update,
        inserts=sqlite_inserts(dialect),
        deletions=deletions(dialect),
        delete_organization=dissolution(dialect),
        empty_wallet=wallet_emptying(dialect),
    )


def postgres_statements() -> PostgresStatements:
    dialect = PostgresDialect()
    return PostgresStatements(
        reads=reads(dialect),
        swap_version=organization_swap(dialect),
        swap_activity=activity_swap(dialect),
        swap_setting=instance_swap(dialect),
        lock_organization=lock_organization(dialect),
        check_versions=check_versions(dialect),
        inserts=postgres_inserts(dialect),
        deletions=deletions(dialect),
        delete_organization=dissolution(dialect),
        empty_wallet=wallet_emptying(dialect),
    )


def files() -> dict[str, str]:
    """File name -> text of every generated file."""
    return {
        "sqlite.json": _json(sqlite_statements()),
        "sqlite.sql": upgrade_sql("sqlite", None),
        "postgresql.json": _json(postgres_statements()),
        "postgresql.sql": upgrade_sql("postgresql", None),
    }


def _json(statements: SqliteStatements | PostgresStatements) -> str:
    return msgspec.json.format(msgspec.json.encode(statements), indent=2).decode() + "\n"


def main(arguments: list[str]) -> int:
    """With --check: 1 if a file is not what it would be written as, 0 if all are; writes nothing."""
    stale = 0
    for name, text in files().items():
        path = GENERATED / name
        if arguments == ["--check"]:
            stale |= not path.exists() or path.read_text() != text
        else:
            path.write_text(text)
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
