"""The list of migrations, those that a database still needs, and which servers may use which tables.

Here: the numbered files `sql/DIALECT/NNNN_name.sql`, and the error for a database of a newer version. Not here:
running them (`schema`).

A migration only adds tables, functions, and columns that may be null or have a default. So servers of the
previous version continue to work while servers are replaced one after another. If older servers cannot work with
the migrated tables, the file of the migration has a line `-- oldest server: NNNN`, with the oldest version of the
tables whose servers may use the database.
"""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from keystead.api.errors import Unavailable
from keystead.storage.statements import SQL, Dialect
from keystead.storage.store import DatabaseStore

OLDEST_SERVER: Final = "oldest_server"
"""The name of the instance value with the oldest version of the tables whose servers may use the database."""

_FILE = re.compile(r"(\d{4})_\w+\.sql")
_OLDEST = re.compile(r"^-- oldest server: (\d{4})$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    """One migration, from version `number - 1` to version `number`. `sql`: the text of `file`. `oldest_server`:
    servers that know the tables of this version, or of a later one, may use the migrated tables."""

    number: int
    file: Path
    sql: str
    oldest_server: int = 1


MigrationBegins = Callable[[int, int], None]
"""Called before a migration, with its number and the number of the last one that the database needs."""


def no_progress(_number: int, _last: int) -> None:
    """Reports no progress."""


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
    made: list[Migration] = []
    for number, file in zip(numbers, files, strict=True):
        sql = file.read_text()
        stated = _OLDEST.search(sql)
        oldest = max(made[-1].oldest_server if made else 1, int(stated[1]) if stated else 1)
        made.append(Migration(number, file, sql, oldest))
    return tuple(made)


def statements_of(script: str) -> Iterator[str]:
    """The statements of a migration, one after another, because Citus sends the text of each to other nodes."""
    unfinished = ""
    for line in script.splitlines(keepends=True):
        unfinished += line
        if sqlite3.complete_statement(unfinished):
            yield unfinished.strip()
            unfinished = ""


@functools.cache
def newest() -> int:
    """The version that the tables have after all migrations."""
    return len(migrations("sqlite"))


def pending(steps: tuple[Migration, ...], version: int, oldest_server: bytes | None) -> tuple[Migration, ...]:
    """The migrations that a database of this version needs (0: no tables). `oldest_server`: its value of that name.

    A newer database that this version may use needs no migration. Raises SchemaTooNew for any other newer database.
    """
    if version > len(steps):
        _require_usable(version, oldest_server, len(steps))
    return steps[version:]


def _require_usable(version: int, oldest_server: bytes | None, known: int) -> None:
    if oldest_server is None or int(oldest_server) > known:
        raise SchemaTooNew(version)


async def is_current(store: DatabaseStore) -> bool:
    """Whether the tables are exactly those of this version. Raises Unavailable while the database does not answer,
    and SchemaTooNew."""
    version = await store.installation.schema_version()
    if version > newest():
        raise SchemaTooNew(version)
    return version == newest()


async def is_usable(store: DatabaseStore) -> bool:
    """Whether a server of this version may use the tables: they are those of this version, or newer ones that only
    have additions. Raises Unavailable while the database does not answer, and SchemaTooNew."""
    version = await store.installation.schema_version()
    if version > newest():
        _require_usable(version, await store.installation.value(OLDEST_SERVER), newest())
        return True
    return version == newest()
