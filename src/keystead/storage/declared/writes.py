"""The statements that write: many rows of a table at once, and what becomes of a row that was already there.

Here: inserts, deletions, the compare-and-swap of versions and revisions. Not here: the transaction around them
(`sqlite_writer`, `postgres_transactions`).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    Column,
    LargeBinary,
    Table,
    Text,
    bindparam,
    delete,
    func,
    null,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from keystead.organizations.lookups import LookupKind
from keystead.storage.declared.dialects import Dialect, PostgresDialect, SqliteDialect
from keystead.storage.declared.tables import (
    activity,
    instance,
    interface_text,
    lookup,
    organization,
    policy_evaluation,
    record,
    sealed_secret,
    shared_body,
    vote,
    wallet_account,
)
from keystead.storage.statements import Statement, Swap
from keystead.storage.write_set import ACTIVITY_CHANGES


class IfThere(Enum):
    """What to do about a row whose key is there already."""

    SKIP = "skip"
    REPLACE = "replace"
    FAIL = "fail"


# In the order of writing: what can be skipped comes first, so that little is undone.
_TABLES: tuple[tuple[Table, IfThere], ...] = (
    (instance, IfThere.SKIP),
    (organization, IfThere.SKIP),
    (activity, IfThere.SKIP),
    (shared_body, IfThere.SKIP),
    (vote, IfThere.REPLACE),
    (policy_evaluation, IfThere.FAIL),
    (record, IfThere.REPLACE),
    (interface_text, IfThere.FAIL),
    (wallet_account, IfThere.REPLACE),
    (sealed_secret, IfThere.FAIL),
    (lookup, IfThere.SKIP),
)

SQLITE_ROWS_AT_ONCE = (4, 1)
"""How many rows one SQLite statement inserts: each execution gives up the interpreter lock and must get it back. Of
more, the values fall out of the processor's cache between binding and writing them."""


def organization_swap(dialect: Dialect) -> Swap:
    """Of an organization's version: `write_set.VersionSwap`. A row that another transaction has locked is left
    out."""
    version = (organization.c.version, organization.c.changed_by)
    expected = (
        organization.c.id == bindparam("organization_id"),
        organization.c.version == bindparam("before_number"),
        organization.c.changed_by == bindparam("before_changed_by"),
    )
    # SQLite, where a transaction that writes has the whole file locked, leaves FOR UPDATE out.
    unlocked = select(organization.c.id).where(*expected).with_for_update(key_share=True, skip_locked=True)
    return Swap(
        dialect.compile(
            update(organization)
            .where(organization.c.id == unlocked.scalar_subquery())
            .values(version=bindparam("after_number"), changed_by=bindparam("after_changed_by"))
        ),
        dialect.compile(
            select(organization.c.id, *version)
            .where(dialect.is_among(organization.c.id, "organization_ids"))
            .order_by(organization.c.id)
            .with_for_update(key_share=True, skip_locked=True)
        ),
    )


def lock_organization(dialect: PostgresDialect) -> Statement:
    """Locks an organization's row, once no other transaction has it locked."""
    return dialect.compile(
        select(organization.c.version, organization.c.changed_by)
        .where(organization.c.id == bindparam("organization_id"))
        .with_for_update(key_share=True)
    )


def check_versions(dialect: PostgresDialect) -> Statement:
    """The versions of organizations, which stay as they are; those that are being changed are left out."""
    return dialect.compile(
        select(organization.c.id, organization.c.version, organization.c.changed_by)
        .where(dialect.is_among(organization.c.id, "organization_ids"))
        .order_by(organization.c.id)
        .with_for_update(read=True, skip_locked=True)
    )


def activity_swap(dialect: Dialect) -> Swap:
    """Of an activity's revision: `write_set.ActivitySwap`."""
    return Swap(
        dialect.compile(
            update(activity)
            .where(
                activity.c.organization_id == bindparam("organization_id"),
                activity.c.id == bindparam("activity_id"),
                activity.c.revision == bindparam("before_revision"),
            )
            .values({name: bindparam(f"after_{name}") for name in ACTIVITY_CHANGES})
        ),
        dialect.compile(
            select(activity.c.organization_id, activity.c.id, activity.c.revision)
            .where(
                dialect.is_among(activity.c.organization_id, "organization_ids"),
                dialect.is_among(activity.c.id, "activity_ids"),
            )
            .order_by(activity.c.organization_id, activity.c.id)
            .with_for_update()
        ),
    )


def instance_swap(dialect: Dialect) -> Swap:
    """Of a fact of the instance: `write_set.SettingSwap`."""
    return Swap(
        dialect.compile(
            update(instance)
            .where(instance.c.name == bindparam("instance_name"), instance.c.value == bindparam("before_value"))
            .values(value=bindparam("after_value"))
        ),
        dialect.compile(
            select(instance.c.name, instance.c.value)
            .where(dialect.is_among(instance.c.name, "names"))
            .order_by(instance.c.name)
            .with_for_update()
        ),
    )


def deletions(dialect: Dialect) -> dict[str, str]:
    """By table. Parameters: the columns of the key."""
    return {
        table.name: dialect.compile(
            delete(table).where(*[c == bindparam(c.name) for c in table.primary_key.columns])
        ).sql
        for table in (interface_text, wallet_account, sealed_secret, lookup)
    }


def dissolution(dialect: Dialect) -> tuple[str, ...]:
    """What leaves of an organization its records and its activities. Parameter of each: its id."""
    of_it: BindParameter[str] = bindparam("organization_id")
    detached = update(organization).where(organization.c.id == of_it).values(parent_id=null())
    emptied = [
        delete(table).where(table.c.organization_id == of_it)
        for table in (interface_text, wallet_account, sealed_secret, lookup)
    ]
    return tuple(dialect.compile(statement).sql for statement in (detached, *emptied))


def wallet_emptying(dialect: Dialect) -> tuple[Statement, ...]:
    """Deletes all accounts of a wallet and their look-ups. Parameters: `write_set.WalletContents`."""
    organization_id: BindParameter[str] = bindparam("organization_id")
    wallet_id: BindParameter[str] = bindparam("wallet_id")
    of_it = (wallet_account.c.organization_id == organization_id, wallet_account.c.wallet_id == wallet_id)
    found_by = delete(lookup).where(
        lookup.c.organization_id == organization_id,
        lookup.c.kind == LookupKind.WALLET_ACCOUNT_ADDRESS.value,
        lookup.c.holder_id.in_(select(wallet_account.c.id).where(*of_it)),
    )
    return (dialect.compile(found_by), dialect.compile(delete(wallet_account).where(*of_it)))


def sqlite_inserts(dialect: SqliteDialect) -> dict[str, dict[int, str]]:
    """By table, in the order of writing, and by number of rows. Parameters: the rows' values one after another."""
    return {
        table.name: {
            count: dialect.compile(
                _if_there(
                    sqlite.insert(table).values(
                        [{c.name: bindparam(f"{c.name}_{row}") for c in table.c} for row in range(count)]
                    ),
                    table,
                    if_there,
                )
            ).sql
            for count in SQLITE_ROWS_AT_ONCE
        }
        for table, if_there in _TABLES
    }


def postgres_inserts(dialect: PostgresDialect) -> dict[str, str]:
    """By table, in the order of writing. Parameters: one array per column."""
    return {
        table.name: dialect.compile(
            _if_there(
                postgresql.insert(table).from_select(
                    [c.name for c in table.c],
                    select(*[func.unnest(bindparam(c.name, type_=postgresql.ARRAY(_plain(c)))) for c in table.c]),
                ),
                table,
                if_there,
            )
        ).sql
        for table, if_there in _TABLES
    }


def _if_there(insert: Any, table: Table, if_there: IfThere) -> Any:
    match if_there:
        case IfThere.SKIP:
            return insert.on_conflict_do_nothing()
        case IfThere.REPLACE:
            others = [c.name for c in table.c if not c.primary_key]
            return insert.on_conflict_do_update(
                index_elements=list(table.primary_key.columns),
                set_={name: insert.excluded[name] for name in others},
            )
        case IfThere.FAIL:
            return insert


def _plain(column: Column[Any]) -> TypeEngine[Any]:
    """The column's type without its collation, which an array's element cannot have."""
    if isinstance(column.type, (BigInteger, Boolean, LargeBinary)):
        return column.type
    return Text()
