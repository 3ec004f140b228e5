"""What logins look up costs the same with one sub-organization or very many: each such read walks an index.

By the plans that both databases make, PostgreSQL's over tables with many rows. Not here: the other statements
(`test_statements`).
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import asyncpg
import msgspec
import pytest

from keystead.storage.statements import Pages, Reads, Statement, postgres_statements, sqlite_statements
from keystead.storage.tables import TABLES
from tests.storage.conftest import MakeDatabase

ROWS = 20_000
LOOKED_UP = ("lookup", "one_time_code", "one_time_code_count", "used_token", "outgoing_message", "email_event")
"""The tables that logins read: by credential, contact or identity; codes, their counts, tokens; messages."""

OF_NO_LOGIN = (
    "lookups_of",
    "first_lookups",
    "due_message_count",
    "oldest_due_message",
    "finished_messages",
    "rows_of_organization",
    "organizations_with_rows",
    "rows_above",
    "references_above",
)
"""Statements of the check of an installation, of deletions, of status and metrics, and of a development outbox."""


def _reads(reads: Reads, table: str) -> Iterator[tuple[str, Statement]]:
    """The statements that read this table, by name."""
    for name, read in msgspec.structs.asdict(reads).items():
        if isinstance(read, Pages):
            found = {f"{name}_below": read.below, f"{name}_above": read.above}
        else:
            found = read if isinstance(read, dict) else {name: read}
        for each, one in found.items():
            if not {name, each} & set(OF_NO_LOGIN) and re.search(rf"\bFROM {table}\b", one.sql):
                yield each, one


@pytest.mark.parametrize("table", LOOKED_UP)
def test_every_table_is_read(table: str) -> None:
    by_store = [
        dict(_reads(statements.reads, table)) for statements in (sqlite_statements(), postgres_statements())
    ]
    assert by_store[0].keys() == by_store[1].keys()
    assert by_store[0]


@pytest.mark.parametrize("table", LOOKED_UP)
def test_sqlite_searches_by_an_index(new_sqlite: MakeDatabase, table: str) -> None:
    connection = sqlite3.connect(new_sqlite().removeprefix("sqlite:///"))
    for name, statement in _reads(sqlite_statements().reads, table):
        arguments = [None] * statement.sql.count("?")
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", arguments)]
        steps = [step for step in plan if re.match(rf"(SEARCH|SCAN) {table}\b", step)]
        assert steps, (name, plan)
        for step in steps:
            assert step.startswith("SEARCH"), (name, step)
            if table == "lookup" and name != "organizations_with_value":  # of any parent
                assert "kind=? AND value=? AND parent_id=?" in step, (name, step)
    connection.close()


@pytest.mark.parametrize("table", LOOKED_UP)
def test_postgresql_searches_by_an_index(new_postgres: MakeDatabase, table: str) -> None:
    url = new_postgres()

    async def story() -> dict[str, str]:
        connection: Any = await asyncpg.connect(url)
        try:
            await _fill(connection, table)
            plans = {}
            for name, statement in _reads(postgres_statements().reads, table):
                explained = await connection.prepare(f"EXPLAIN {statement.sql}")
                arguments = [_example(parameter.name) for parameter in explained.get_parameters()]
                plans[name] = "\n".join(row[0] for row in await explained.fetch(*arguments))
            return plans
        finally:
            await connection.close()

    for name, plan in asyncio.run(story()).items():
        assert "Seq Scan" not in plan, (name, plan)
        (condition,) = re.findall(rf"Index (?:Only )?Scan.* on {table}\b.*\n +Index Cond: (.*)", plan)
        if table == "lookup":
            of_any_parent = name == "organizations_with_value"
            columns = ("kind", "value") if of_any_parent else ("kind", "value", "parent_id")
            assert all(f"({column} = " in condition for column in columns), (name, condition)


async def _fill(connection: Any, table: str) -> None:
    """Rows of very many organizations, each with its own values, as users have them."""
    examples = {str: "'v' || number", int: "number", bytes: "''::bytea", bool: "false"}
    columns = [
        "'public_key'" if name == "kind" else "'parent'" if name == "parent_id" else examples[type_]
        for name, type_ in next(one for one in TABLES if one.name == table).columns
    ]
    rows = f"SELECT {', '.join(columns)} FROM generate_series(1, {ROWS}) AS number"
    await connection.execute(f"INSERT INTO {table} {rows}")
    await connection.execute(f"ANALYZE {table}")


def _example(type_name: str) -> Any:
    """An argument of this type of PostgreSQL's."""
    return {"text": "v17", "int8": 17, "bool": False}.get(type_name, ["v17"])
