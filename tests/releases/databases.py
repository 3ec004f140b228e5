"""The kept databases of earlier releases, and what is known about them.

Here: reading them into new databases of a test. Not here: how they were made (`make`).
"""

from __future__ import annotations

import asyncio
import lzma
from pathlib import Path
from typing import Any, Final, Self

import asyncpg
import msgspec

from keystead.keys.sealing import MasterKey
from keystead.stamps.signing import api_key_of
from tests.support.callers import Caller
from tests.support.databases import Database, PostgresDatabase, SqliteDatabase
from tests.support.servers import Installation

SQLITE: Final = "keystead.db.xz"
POSTGRESQL: Final = "keystead.sql.xz"
FILES: Final = {"sqlite": SQLITE, "postgres": POSTGRESQL}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Ids and keys of an installation that exists for tests alone. `rows`: how many each table has."""

    organization_id: str
    user_id: str
    api_private_key: str
    master_key: str
    holder_id: str
    holder_private_key: str
    child_id: str
    child_user_id: str
    child_private_key: str
    private_key_id: str
    wallet_id: str
    address: str
    waiting_fingerprint: str
    activity_ids: list[str]
    rows: dict[str, int]

    @classmethod
    def of(cls, folder: Path, engine: str) -> Self:
        return msgspec.json.decode(facts_file(folder, FILES[engine]).read_bytes(), type=cls)

    def installation(self, database: Database) -> Installation:
        return Installation(
            database,
            "dev",
            self.organization_id,
            self.user_id,
            api_key_of(self.api_private_key),
            MasterKey.from_text(self.master_key),
        )


def folder_of(version: int) -> Path:
    """The folder of a release whose tables have this version."""
    return Path(__file__).with_name(f"tables_{version}")


def releases() -> list[Path]:
    """The folders of all kept releases, the oldest first."""
    return sorted(Path(__file__).parent.glob("tables_*"), key=lambda path: int(path.name.partition("_")[2]))


def facts_file(folder: Path, name: str) -> Path:
    return folder / f"{name.removesuffix('.xz')}.json"


def sqlite_database(folder: Path, path: Path) -> Database:
    """The release's SQLite database, in a new file at this path."""
    path.write_bytes(lzma.decompress((folder / SQLITE).read_bytes()))
    path.chmod(0o600)
    return SqliteDatabase(path)


def postgres_database(folder: Path, url: str) -> Database:
    """The release's dump, run in the new database at this URL."""
    statements = lzma.decompress((folder / POSTGRESQL).read_bytes()).decode()

    async def run() -> None:
        connection: Any = await asyncpg.connect(url)
        # psql's own commands are not SQL.
        await connection.execute("\n".join(line for line in statements.splitlines() if not line.startswith("\\")))
        await connection.close()

    asyncio.run(run())
    return PostgresDatabase(url)


def listed_ids(root: Caller) -> list[str]:
    """Every activity, newest first."""
    ids: list[str] = []
    while True:
        options: dict[str, Any] = {"limit": "100", **({"after": ids[-1]} if ids else {})}
        page = root.asked("list_activities", paginationOptions=options)["activities"]
        if not page:
            return ids
        ids += [activity["id"] for activity in page]
