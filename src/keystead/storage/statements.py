"""Every statement, declared in SQLAlchemy Core and compiled once per dialect, when a store opens.

Here: what is read and written, in SQL. Not here: running it (`sqlite`, `postgres`), what rows mean (`rows`).
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, column, func, select, table

from keystead.storage.dialects import Dialect, Statement
from keystead.storage.pages import (
    Filter,
    Side,
    account_page,
    activity_page,
    one_activity,
    suborganization_page,
)
from keystead.storage.tables import (
    activity,
    instance,
    interface_text,
    organization,
    policy_evaluation,
    record,
    sealed_secret,
    wallet_account,
)

_ORGANIZATION_ID: BindParameter[str] = bindparam("organization_id")
_ID: BindParameter[str] = bindparam("id")


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """The statements that read. `version` is the hot one: its only parameter is the organization's id."""

    version: Statement
    versions: Statement
    whole: Statement
    changed_since: Statement
    activity: Statement
    activity_with_fingerprint: Statement
    has_activity: Statement
    activity_pages: dict[tuple[Filter, Side], Statement]
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
    account_pages: dict[tuple[bool, Side], Statement]
    has_suborganization: Statement
    suborganization_pages: dict[tuple[bool, Side], Statement]
    instance_value: Statement
    schema_revision: Statement


def reads(dialect: Dialect) -> Reads:
    return Reads(
        version=dialect.compile(
            select(organization.c.version, organization.c.changed_by).where(organization.c.id == _ID)
        ),
        versions=dialect.compile(
            select(organization.c.id, organization.c.version, organization.c.changed_by).where(
                dialect.is_among(organization.c.id, "ids")
            )
        ),
        whole=_records(dialect, func.length(record.c.body) > 0),
        changed_since=_records(dialect, record.c.version > bindparam("version")),
        activity=dialect.compile(one_activity(activity.c.id == _ID)),
        activity_with_fingerprint=dialect.compile(one_activity(activity.c.fingerprint == bindparam("fingerprint"))),
        has_activity=dialect.compile(
            select(activity.c.id).where(activity.c.organization_id == _ORGANIZATION_ID, activity.c.id == _ID)
        ),
        activity_pages={
            (chosen_by, side): activity_page(dialect, chosen_by, side) for chosen_by in Filter for side in Side
        },
        evaluations=dialect.compile(
            select(policy_evaluation.c.body)
            .where(
                policy_evaluation.c.organization_id == _ORGANIZATION_ID,
                policy_evaluation.c.activity_id == bindparam("activity_id"),
            )
            .order_by(policy_evaluation.c.id)
        ),
        interface_texts=dialect.compile(
            select(interface_text.c.id, interface_text.c.text).where(
                interface_text.c.organization_id == _ORGANIZATION_ID
            )
        ),
        interface_text=dialect.compile(
            select(interface_text.c.text).where(
                interface_text.c.organization_id == _ORGANIZATION_ID, interface_text.c.id == _ID
            )
        ),
        interface_texts_of=dialect.compile(
            select(interface_text.c.id, interface_text.c.text).where(
                interface_text.c.organization_id == _ORGANIZATION_ID, dialect.is_among(interface_text.c.id, "ids")
            )
        ),
        # In no order: to order by id, SQLite would walk through all accounts instead of these few.
        accounts_with_address=dialect.compile(
            _stored_accounts(dialect.is_among(wallet_account.c.address, "addresses"))
        ),
        accounts_at=dialect.compile(
            _stored_accounts(
                wallet_account.c.wallet_id == bindparam("wallet_id"),
                dialect.is_among(wallet_account.c.normalized_path, "paths"),
            )
        ),
        accounts_called=dialect.compile(_stored_accounts(dialect.is_among(wallet_account.c.name, "names"))),
        accounts_of_ids=dialect.compile(_stored_accounts(dialect.is_among(wallet_account.c.id, "ids"))),
        sealed_secret=dialect.compile(
            select(sealed_secret.c.key_id, sealed_secret.c.ciphertext).where(
                sealed_secret.c.organization_id == _ORGANIZATION_ID,
                sealed_secret.c.record_id == bindparam("record_id"),
                sealed_secret.c.purpose == bindparam("purpose"),
            )
        ),
        has_account=dialect.compile(
            select(wallet_account.c.id).where(
                wallet_account.c.organization_id == _ORGANIZATION_ID, wallet_account.c.id == _ID
            )
        ),
        has_account_of_wallet=dialect.compile(
            select(wallet_account.c.id).where(
                wallet_account.c.organization_id == _ORGANIZATION_ID,
                wallet_account.c.id == _ID,
                wallet_account.c.wallet_id == bindparam("wallet_id"),
            )
        ),
        account_pages={
            (of_wallet, side): account_page(dialect, of_wallet, side)
            for of_wallet in (False, True)
            for side in Side
        },
        has_suborganization=dialect.compile(
            select(organization.c.id).where(organization.c.parent_id == _ORGANIZATION_ID, organization.c.id == _ID)
        ),
        suborganization_pages={
            (found_by_value, side): suborganization_page(dialect, found_by_value, side)
            for found_by_value in (False, True)
            for side in Side
        },
        instance_value=dialect.compile(select(instance.c.value).where(instance.c.name == bindparam("name"))),
        schema_revision=dialect.compile(select(column("version_num")).select_from(table("alembic_version"))),
    )


def _records(dialect: Dialect, which: ColumnElement[bool]) -> Statement:
    """An organization's version and records. One statement, so that they are of one moment."""
    of_organization = and_(record.c.organization_id == organization.c.id, which)
    return dialect.compile(
        select(organization.c.version, organization.c.changed_by, record.c.kind, record.c.id, record.c.body)
        .select_from(organization.outerjoin(record, of_organization))
        .where(organization.c.id == _ID)
    )


def _stored_accounts(*wanted: ColumnElement[bool]) -> Select[Any]:
    return select(wallet_account.c.body, wallet_account.c.exported, wallet_account.c.normalized_path).where(
        wallet_account.c.organization_id == _ORGANIZATION_ID, *wanted
    )
