"""Every statement as its database's driver takes it, read from the files of the folder `sql`.

Here: their form and how they are found. Not here: the SQL, which is declared in `declared` and written by
`make generate`; running it (`sqlite`, `postgres`); what rows mean (`rows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

GENERATED = Path(__file__).parent / "sql"
"""The files written by `declared.generate`, each named for its dialect."""


class Statement(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A statement. `names` are its parameters in the driver's order; some have a constant."""

    sql: str
    names: tuple[str, ...] = ()
    constants: dict[str, str | int] = {}

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters in the driver's order."""
        return [values[name] if name in values else self.constants[name] for name in self.names]


class Pages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement for each side of the cursor, in the order of ids, which is the order of creation."""

    below: Statement
    above: Statement


class Reads(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The statements that read. `version` is the hot one: its only parameter is the organization's id."""

    version: Statement
    versions: Statement
    whole: Statement
    changed_since: Statement
    activity: Statement
    activity_with_fingerprint: Statement
    has_activity: Statement
    activities: Pages
    activities_by_status: Pages
    activities_by_type_and_status: Pages
    evaluations: Statement
    interface_texts: Statement
    interface_text: Statement
    interface_texts_of: Statement
    accounts_with_address: Statement
    accounts_at: Statement
    accounts_called: Statement
    accounts_of_ids: Statement
    sealed_secret: Statement
    has_account: Statement
    has_account_of_wallet: Statement
    accounts: Pages
    accounts_of_wallet: Pages
    has_suborganization: Statement
    held_by_siblings: Statement
    suborganizations: Pages
    suborganizations_found: Pages
    data_key_page: Statement
    instance_value: Statement
    schema_revision: Statement


class Swap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compare-and-swap: `update` changes one row where the step's `expected` held, else none.

    `locked` reads what several steps are compared with, and locks it until the transaction ends: in order of keys,
    of which it takes one list per column.
    """

    update: Statement
    locked: Statement


class Statements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The statements that both databases have in the same form.

    `deletions` are by table; their parameters are the columns of the key. `delete_organization` deletes
    everything of an organization but its records and its activities; each statement takes the organization's
    id. `empty_wallet` deletes all accounts of a wallet and their look-ups: `write_set.WalletContents`.
    """

    reads: Reads
    deletions: dict[str, str]
    delete_organization: tuple[str, ...]
    empty_wallet: tuple[Statement, ...]


class SqliteStatements(Statements, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`swap_version`, `swap_activity`, `swap_setting`: the updates of `write_set.VersionSwap`, `ActivitySwap` and
    `SettingSwap`. Each changes one row, or none.

    `inserts` are by table, in the order of writing, and by number of rows, largest first, down to one; they take
    the rows' values one after another.
    """

    swap_version: Statement
    swap_activity: Statement
    swap_setting: Statement
    inserts: dict[str, dict[int, str]]


class PostgresStatements(Statements, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`swap_version`, `swap_activity`, `swap_setting`: of `write_set.VersionSwap`, `ActivitySwap`, `SettingSwap`.

    `lock_organization` locks a row and gives its version; `check_versions` gives the versions of organizations and
    keeps them as they are until the transaction ends. `inserts` are by table, in the order of writing; they take
    one array per column.
    """

    swap_version: Swap
    swap_activity: Swap
    swap_setting: Swap
    lock_organization: Statement
    check_versions: Statement
    inserts: dict[str, str]


def sqlite_statements() -> SqliteStatements:
    return msgspec.json.decode((GENERATED / "sqlite.json").read_bytes(), type=SqliteStatements)


def postgres_statements() -> PostgresStatements:
    return msgspec.json.decode((GENERATED / "postgresql.json").read_bytes(), type=PostgresStatements)


def first_tables(dialect: str) -> str:
    """The SQL that leads from an empty database to the newest tables. `dialect`: sqlite or postgresql."""
    return (GENERATED / f"{dialect}.sql").read_text()
