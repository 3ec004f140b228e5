"""Where the two databases' SQL differs: compiling a statement, taking a list, finding ids by it.

Here: those differences. Not here: the statements themselves (`reads`, `pages`, `writes`), and passing a list when
a statement runs (the stores).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    TableValuedAlias,
    Text,
    any_,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect

from keystead.storage.statements import Statement


class Dialect(ABC):
    """How one database wants it."""

    @abstractmethod
    def compile(self, statement: Executable) -> Statement: ...

    @abstractmethod
    def is_among(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        """That the column is one of the values listed in parameter `name`."""

    @abstractmethod
    def each(self, name: str) -> TableValuedAlias:
        """The values listed in parameter `name`, as rows of one column, `value`."""

    @abstractmethod
    def ids_of_each(self, lists: Sequence[TableValuedAlias], ids: Select[Any]) -> Select[Any]:
        """What `ids`, a limited select of ids that refers to the lists, finds per combination."""


class SqliteDialect(Dialect):
    def compile(self, statement: Executable) -> Statement:
        return _compiled(statement, sqlite.dialect(paramstyle="qmark"))

    def is_among(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        return column.in_(select(self.each(name).c.value))

    def each(self, name: str) -> TableValuedAlias:
        return func.json_each(bindparam(name, type_=Text())).table_valued("value", name=f"each_{name}")

    def ids_of_each(self, lists: Sequence[TableValuedAlias], ids: Select[Any]) -> Select[Any]:
        # SQLite has no LATERAL, but a table-valued function may refer to the tables before it.
        limited = ids.correlate(*lists).subquery()
        packed = select(func.json_group_array(limited.c.id)).scalar_subquery()
        found = func.json_each(packed).table_valued("value", name="found")
        return select(found.c.value.label("id")).select_from(*lists, found)


class PostgresDialect(Dialect):
    def compile(self, statement: Executable) -> Statement:
        return _compiled(statement, asyncpg_dialect())  # type: ignore[no-untyped-call]

    def is_among(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        return column == any_(bindparam(name, type_=postgresql.ARRAY(Text())))

    def each(self, name: str) -> TableValuedAlias:
        values = func.unnest(bindparam(name, type_=postgresql.ARRAY(Text())))
        return values.table_valued("value", name=f"each_{name}").render_derived()

    def ids_of_each(self, lists: Sequence[TableValuedAlias], ids: Select[Any]) -> Select[Any]:
        found = ids.correlate(*lists).lateral("found")
        return select(found.c.id).select_from(*lists, found)


def _compiled(statement: Executable, dialect: Any) -> Statement:
    compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    names = tuple(compiled.positiontup)
    # On one line, which changes nothing: every text value is a parameter.
    sql = " ".join(str(compiled).split())
    assert "'" not in sql, f"a text value is part of this SQL: {sql}"
    return Statement(
        sql, names, {name: compiled.params[name] for name in names if compiled.params[name] is not None}
    )
