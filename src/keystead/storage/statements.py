"""Every statement, declared in SQLAlchemy Core and compiled once per dialect, when a store opens.

Here: what is read and written, in SQL. Not here: running it (`sqlite`, `postgres`), what rows mean (`rows`).
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import BigInteger, BindParameter, ColumnElement, and_, bindparam, column, or_, select, table

from keystead.storage.dialects import Dialect, Statement
from keystead.storage.pages import Filter, Side, account_page, activity_page, one_activity
from keystead.storage.tables import (
    activity,
    instance,
    interface_text,
    lookup,
    organization,
    record,
    wallet_account,
)

_ORGANIZATION_ID: BindParameter[str] = bindparam("organization_id")
_ID: BindParameter[str] = bindparam("id")


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """The statements that read. `version` is the hot one: its only parameter is the organization's id."""

    version: Statement
    versions: Statement
    changed_since: Statement
    activity: Statement
    activity_with_fingerprint: Statement
    has_activity: Statement
    activity_pages: dict[tuple[Filter, Side], Statement]
    interface_texts: Statement
    interface_text: Statement
    has_account: Statement
    has_account_of_wallet: Statement
    account_pages: dict[tuple[bool, Side], Statement]
    first_accounts: dict[tuple[bool, bool], Statement]
    suborganizations: Statement
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
        # One statement, so that the version and the records are of one moment without a transaction.
        changed_since=dialect.compile(
            select(organization.c.version, organization.c.changed_by, record.c.kind, record.c.id, record.c.body)
            .select_from(
                organization.outerjoin(
                    record,
                    and_(
                        record.c.organization_id == organization.c.id,
                        record.c.version > bindparam("version"),
                        # Who asks for everything need not hear of what was removed.
                        or_(record.c.body.is_not(None), bindparam("version", type_=BigInteger()) >= 0),
                    ),
                )
            )
            .where(organization.c.id == _ID)
        ),
        activity=dialect.compile(one_activity(activity.c.id == _ID)),
        activity_with_fingerprint=dialect.compile(one_activity(activity.c.fingerprint == bindparam("fingerprint"))),
        has_activity=dialect.compile(
            select(activity.c.id).where(activity.c.organization_id == _ORGANIZATION_ID, activity.c.id == _ID)
        ),
        activity_pages={
            (chosen_by, side): activity_page(dialect, chosen_by, side) for chosen_by in Filter for side in Side
        },
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
        first_accounts={
            (by_address, by_path): _first_account(dialect, by_address, by_path)
            for by_address in (False, True)
            for by_path in (False, True)
        },
        suborganizations=dialect.compile(
            select(lookup.c.organization_id)
            .distinct()
            .where(
                lookup.c.kind == bindparam("kind"),
                lookup.c.value == bindparam("value"),
                lookup.c.parent_id == bindparam("parent_id"),
            )
            .order_by(lookup.c.organization_id)
            .limit(bindparam("limit"))
        ),
        instance_value=dialect.compile(select(instance.c.value).where(instance.c.name == bindparam("name"))),
        schema_revision=dialect.compile(select(column("version_num")).select_from(table("alembic_version"))),
    )


def _first_account(dialect: Dialect, by_address: bool, by_path: bool) -> Statement:
    wanted: list[ColumnElement[Any]] = [
        wallet_account.c.organization_id == _ORGANIZATION_ID,
        wallet_account.c.wallet_id == bindparam("wallet_id"),
    ]
    if by_address:
        wanted.append(wallet_account.c.address == bindparam("address"))
    if by_path:
        wanted.append(wallet_account.c.normalized_path == bindparam("path"))
    return dialect.compile(
        select(wallet_account.c.body).where(*wanted).order_by(wallet_account.c.id).limit(bindparam("limit"))
    )
