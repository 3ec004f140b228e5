"""The list of migrations, and those that a database still needs.

Here: the numbered files `sql/DIALECT/NNNN_name.sql`, and the error for a database of a newer version. Not here:
running them (`schema`).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

from keystead.api.errors import Unavailable
from keystead.storage.base import DatabaseStore
from keystead.storage.statements import SQL, Dialect

_FILE = re.compile(r"(\d{4})_\w+\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One migration, from version `number - 1` to version `number`."""

    number: int
    sql: str


class SchemaTooNew(Unavailable):
    """The database was migrated by a newer version of Keystead; this version must not write to it."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"the database is newer than this version of Keystead: its tables have version {version}, this version "
            f"knows {newest()}; run the newer version"
        )


def migrations(dialect: Dialect, folder: Path = SQL) -> tuple[Migration, ...]:
    """All migrations, in order. Raises ValueError if their numbers do not go from 1 up without gaps."""
    files = sorted(file for file in (folder / dialect).iterdir() if _FILE.fullmatch(file.name))
    numbers = [int(file.name[:4]) for file in files]
    if numbers != list(range(1, len(files) + 1)):
        raise ValueError(f"the migrations in {folder / dialect} are not numbered 0001, 0002, …: {numbers}")
    return tuple(Migration(number, file.read_text()) for number, file in zip(numbers, files, strict=True))


@functools.cache
def newest() -> int:
    """The version that the tables have after all migrations."""
    return len(migrations("sqlite"))


def pending(steps: tuple[Migration, ...], version: int) -> tuple[Migration, ...]:
    """The migrations that a database of this version needs (0: no tables). Raises SchemaTooNew."""
    if version > len(steps):
        raise SchemaTooNew(version)
    return steps[version:]


async def is_current(store: DatabaseStore) -> bool:
    """Whether the tables are those of this version. Raises Unavailable while the database does not answer, and
    SchemaTooNew."""
    version = await store.schema_version()
    if version > newest():
        raise SchemaTooNew(version)
    return version == newest()
