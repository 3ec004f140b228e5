"""The tables, views, indexes and functions that migrations make, and which of them a database lacks.

Functions are compared as a whole, other objects by their names. Not here: running migrations (`schema`), what the
tables hold (`server.installation.checking`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

import msgspec

from keystead.storage.migrations import migrations, statements_of
from keystead.storage.postgres.distribution import DISTRIBUTION
from keystead.storage.statements import SQL, Dialect
from keystead.storage.store import DatabaseStore

Key = tuple[str, str]
"""Kind and name of an object: `("index", "record_by_version")`."""

_STATEMENT: Final = re.compile(
    r"^(?P<verb>CREATE|DROP)(?: OR REPLACE)?(?: UNIQUE)? (?P<kind>TABLE|VIEW|INDEX|FUNCTION) (?P<name>\w+)",
    re.MULTILINE,
)
"""A statement of a migration, which may begin with comments."""

_FUNCTION: Final = re.compile(
    r"CREATE(?: OR REPLACE)? FUNCTION (?:\S+\.)?(?P<head>\w+\s*\(.*?)\sAS "
    r"(?:'(?P<quoted>.*)'|\$function\$(?P<body>.*)\$function\$)[;\s]*",
    re.DOTALL,
)
"""A function as a migration writes it, or as PostgreSQL prints it."""


class SchemaObject(msgspec.Struct, frozen=True):
    """`title`: what it is, with its name. `file`: the migration that makes it. `definition`: the statement that
    makes a function; "" for other objects."""

    title: str
    file: Path
    definition: str = ""


def declared_objects(dialect: Dialect, folder: Path = SQL) -> dict[Key, SchemaObject]:
    """The objects of a database after all migrations."""
    objects: dict[Key, SchemaObject] = {}
    for step in migrations(dialect, folder):
        for statement in statements_of(step.sql):
            if (found := _STATEMENT.search(statement)) is None:
                continue
            kind, name = found["kind"].lower(), found["name"]
            if found["verb"] == "DROP":
                del objects[kind, name]
                continue
            definition = statement[found.start() :]
            objects[kind, name] = SchemaObject(
                f"{kind} {name}", step.file, definition if kind == "function" else ""
            )
            if dialect == "postgresql" and "PRIMARY KEY" in definition:
                objects["index", f"{name}_pkey"] = SchemaObject(f"primary key of {name}", step.file)
    return objects


async def schema_problems(store: DatabaseStore) -> list[str]:
    """A line for each object that the database lacks, or that differs from its declaration, with what to do. For a
    database with the tables of this version. Raises Unavailable."""
    stored: dict[Key, list[str]] = defaultdict(list)
    for kind, name, definition in await store.installation.schema_objects():
        stored[kind, name].append(definition)
    has_functions = ("table", "instance") not in stored or await store.installation.value(DISTRIBUTION) is None
    problems = []
    for key, declared in declared_objects(store.database.dialect).items():
        if key[0] == "function" and not has_functions:  # statements on distributed tables call none
            continue
        if key not in stored:
            problems.append(f"the {declared.title} is missing: create it as {declared.file} declares it")
        elif declared.definition and not _has_function(stored[key], declared.definition):
            problems.append(
                f"the {declared.title} is not the one of this version: drop it, and create it as {declared.file} "
                "declares it"
            )
    return problems


def _has_function(stored: list[str], declared: str) -> bool:
    return _compared(declared) in map(_compared, stored)


def _compared(function: str) -> tuple[str, str]:
    """The head of a function without the differences in writing, and its body."""
    found = _FUNCTION.fullmatch(function)
    if found is None:
        return function, ""
    head = re.sub(r"\s|volatile", "", found["head"].lower())  # a function is volatile unless it says otherwise
    return head, found["body"] if found["quoted"] is None else found["quoted"].replace("''", "'")
