"""The check of a database misses no row that is not there: each table emptied, and single rows deleted, on both
databases. It also ends, and finds rows whose ids were altered.

Not here: the line for each kind of damage (`test_checking`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from keystead.organizations.attached_rows import EXPIRY
from keystead.server.installation.checking import check_installation
from keystead.server.opening import MODE
from keystead.signer.installation_keys import MADE_AT_START, SEALED_VALUES
from keystead.storage.integrity import OutOfOrder, RowKey, pages_of
from keystead.storage.store import FIRST_ORGANIZATION_ID, DatabaseStore
from keystead.storage.tables import TABLES, Table
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.databases import Database, SqliteDatabase
from tests.support.organization_fixtures import create_records
from tests.support.servers import Installation, bootstrap_installation, running

COUNTERS = {"velocity_counter", "velocity_entry"}
MAY_GO = {table.name for table in TABLES if EXPIRY in table.names} | {"unfinished_deletion"} | COUNTERS
"""Tables whose rows servers delete by themselves: expired ones, and those of a deletion that has ended. The check
does not notice a counter that is gone: it would have to read every signature again."""

LASTING = [table for table in TABLES if table.name not in MAY_GO]


@pytest.fixture(scope="module")
def whole(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A record of each kind, an activity with two votes, a denied and a deleted one; its server has ended."""
    installation = bootstrap_installation(make_database())
    with running(installation, tmp_path_factory.mktemp("server") / "log") as server:
        root = server.caller
        create_records(root)
        new_sub_organization(root).submitted("delete_sub_organization", {"deleteWithoutExport": True})
        new_sub_organization(root)
        other = root.new_user()
        assert other.submit("create_policy", {"policyName": "p", "effect": "EFFECT_ALLOW"}).status_code == 403
        root.submitted("update_root_quorum", {"threshold": 2, "userIds": [root.user_id, other.user_id]})
        waiting = root.submit("create_user_tag", {"userTagName": "t", "userIds": []}).json()["activity"]
        other.submitted("approve_activity", {"fingerprint": waiting["fingerprint"]})
    yield installation
    installation.database.close()


def problems(installation: Installation) -> list[str]:
    found: list[str] = []

    async def check(store: DatabaseStore) -> None:
        await check_installation(store, installation.master_key, problem=found.append, progress=lambda _: None)

    installation.database.with_store(check)
    return found


@contextmanager
def without(database: Database, table: Table, where: str) -> Iterator[int]:
    """While the block runs, these rows are not in the table."""
    columns = ", ".join(table.names)
    database.rows(f"CREATE TABLE saved_rows AS SELECT * FROM {table.name} WHERE {where}")
    try:
        database.rows(f"DELETE FROM {table.name} WHERE {where}")
        yield int(database.rows("SELECT count(*) FROM saved_rows")[0][0])
    finally:
        database.rows(f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM saved_rows")
        database.rows("DROP TABLE saved_rows")


def test_nothing_is_missing(whole: Installation) -> None:
    assert problems(whole) == []


@pytest.mark.parametrize("table", LASTING, ids=lambda table: table.name)
def test_an_emptied_table(table: Table, whole: Installation) -> None:
    with without(whole.database, table, "TRUE") as rows:
        assert rows, "the installation has no such row"
        assert problems(whole)
    assert problems(whole) == []


@pytest.mark.parametrize("table", sorted(MAY_GO))
def test_a_table_that_may_be_empty(table: str, whole: Installation) -> None:
    (declared,) = [each for each in TABLES if each.name == table]
    with without(whole.database, declared, "TRUE"):
        assert problems(whole) == []


NEWEST = {"record": "version DESC, kind", "vote": "created_at_ms DESC", "policy_evaluation": "created_at_ms DESC"}
COUNTS = {
    "instance": "name IN ({})".format(
        ", ".join(f"'{name}'" for name in (MODE, FIRST_ORGANIZATION_ID, *(SEALED_VALUES.keys() - MADE_AT_START)))
    ),
    # A tombstone tells other processes of a removal, and nothing needs it afterwards.
    "record": "length(body) > 0",
    # A refused submission leaves an evaluation, and nothing else.
    "policy_evaluation": "activity_id IN (SELECT id FROM activity)",
}
"""The rows that must be there."""
AT_RANDOM = 3


@pytest.mark.parametrize("table", LASTING, ids=lambda table: table.name)
def test_a_deleted_row(table: Table, whole: Installation) -> None:
    """The newest one, and some at random."""
    columns = ", ".join(table.key)
    order = NEWEST.get(table.name, f"{', '.join(f'{name} DESC' for name in table.key)}")
    newest, *others = whole.database.rows(
        f"SELECT {columns} FROM {table.name} WHERE {COUNTS.get(table.name, 'TRUE')} ORDER BY {order}"
    )
    choice = random.Random(table.name)
    for row in [newest, *choice.sample(others, min(AT_RANDOM, len(others)))]:
        where = key_is(table, row, whole.database)
        with without(whole.database, table, where) as rows:
            assert rows == 1
            assert problems(whole), where
    assert problems(whole) == []


def literal(value: object, database: Database) -> str:
    if not isinstance(value, bytes):
        return f"'{value}'"
    return f"x'{value.hex()}'" if isinstance(database, SqliteDatabase) else f"'\\x{value.hex()}'"


@pytest.mark.parametrize("keys", [["b", "a"], ["a", "a"], [""]], ids=["falling", "twice", "not above the cursor"])
def test_a_walk_ends_on_every_database(keys: list[str]) -> None:
    """Also if an index is damaged, and the same page is read again and again."""

    async def read(_: RowKey) -> list[tuple[str]]:
        return [(key,) for key in keys]

    async def walk() -> None:
        async for _ in pages_of(LASTING[0], read, ("",)):
            pass

    with pytest.raises(OutOfOrder, match="are not in the order of its index: build it anew"):
        asyncio.run(walk())


NAMED_NOWHERE = {("policy_evaluation", "id")}
"""Ids that no other row names."""

ALTERED = [(table, column) for table in TABLES for column in table.names]


@pytest.mark.parametrize(
    ("table", "column"), ALTERED, ids=lambda each: each if isinstance(each, str) else each.name
)
def test_an_altered_row(table: Table, column: str, whole: Installation) -> None:
    """The check ends on every database, and says if a row has another id or belongs to another row."""
    order = ", ".join(table.key)
    is_filled = f"{column} IS NOT NULL" + (f" AND {column} <> ''" if dict(table.columns)[column] is str else "")
    rows = whole.database.rows(
        f"SELECT {order} FROM {table.name} WHERE {COUNTS.get(table.name, 'TRUE')} AND {is_filled} ORDER BY {order}"
    )
    is_id = dict(table.columns)[column] is str and (column in table.key or column.endswith("_id"))
    must_be_found = is_id and table.name not in MAY_GO and (table.name, column) not in NAMED_NOWHERE
    for row in random.Random(column).sample(rows, min(AT_RANDOM, len(rows))):
        where = key_is(table, row, whole.database)
        with altered(whole.database, table, where, column):
            assert problems(whole) or not must_be_found, where
    assert problems(whole) == []


CHANGED = {str: "{0} || 'a'", int: "{0} + 1", bool: "NOT {0}", bytes: "x'7b'"}


@contextmanager
def altered(database: Database, table: Table, where: str, column: str) -> Iterator[None]:
    """While the block runs, the column of this row has another value."""
    changed = CHANGED[dict(table.columns)[column]].format(column)
    if not isinstance(database, SqliteDatabase):
        changed = changed.replace("x'", "'\\x")
    names = ", ".join(table.names)
    with without(database, table, where):
        database.rows("CREATE TABLE altered_row AS SELECT * FROM saved_rows")
        database.rows(f"UPDATE altered_row SET {column} = {changed}")
        database.rows(f"INSERT INTO {table.name} ({names}) SELECT {names} FROM altered_row")
        (key,) = database.rows(f"SELECT {', '.join(table.key)} FROM altered_row")
        try:
            yield
        finally:
            database.rows(f"DELETE FROM {table.name} WHERE {key_is(table, key, database)}")
            database.rows("DROP TABLE altered_row")


def key_is(table: Table, key: Sequence[object], database: Database) -> str:
    """The condition of the row with this key."""
    values = zip(table.key, (literal(value, database) for value in key), strict=True)
    return " AND ".join(f"{name} = {value}" for name, value in values)
