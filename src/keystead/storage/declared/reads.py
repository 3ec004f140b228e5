"""The statements that read, in SQLAlchemy Core.

Here: what is read. Not here: long lists (`pages`), what is written (`writes`), what rows mean (`rows`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, column, func, select, table

from keystead.organizations.organization import KIND_OF, DataKey
from keystead.storage.declared.dialects import Dialect
from keystead.storage.declared.pages import (
    account_pages,
    activity_pages,
    found_suborganization_pages,
    one_activity,
    suborganization_pages,
)
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
    wallet_account,
)
from keystead.storage.statements import Reads, Statement

_ORGANIZATION_ID: BindParameter[str] = bindparam("organization_id")
_ID: BindParameter[str] = bindparam("id")


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
        activities=activity_pages(dialect, {}),
        activities_by_status=activity_pages(dialect, {"statuses": activity.c.status}),
        # By status too, so that one index serves every page by type.
        activities_by_type_and_status=activity_pages(
            dialect, {"types": activity.c.type, "statuses": activity.c.status}
        ),
        evaluations=dialect.compile(
            select(*policy_evaluation.c, shared_body.c.body)
            .join_from(
                policy_evaluation,
                shared_body,
                and_(
                    shared_body.c.organization_id == policy_evaluation.c.organization_id,
                    shared_body.c.digest == policy_evaluation.c.judgement_digest,
                ),
                isouter=True,  # one without its body must not pass for none
            )
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
        accounts=account_pages(dialect),
        accounts_of_wallet=account_pages(dialect, wallet_account.c.wallet_id == bindparam("wallet_id")),
        has_suborganization=dialect.compile(
            select(organization.c.id).where(organization.c.parent_id == _ORGANIZATION_ID, organization.c.id == _ID)
        ),
        held_by_siblings=dialect.compile(
            select(lookup.c.value)
            .distinct()
            .where(
                lookup.c.kind == bindparam("kind"),
                dialect.is_among(lookup.c.value, "values"),
                lookup.c.parent_id == bindparam("parent_id"),
                lookup.c.organization_id != _ORGANIZATION_ID,
            )
        ),
        suborganizations=suborganization_pages(dialect),
        suborganizations_found=found_suborganization_pages(dialect),
        data_key_page=dialect.compile(
            select(organization.c.id, record.c.body)
            .join_from(
                organization,
                record,
                and_(
                    record.c.organization_id == organization.c.id,
                    record.c.kind == KIND_OF[DataKey].word,
                    record.c.id == "",
                ),
            )
            .where(organization.c.id > bindparam("cursor"))
            .order_by(organization.c.id)
            .limit(bindparam("limit"))
        ),
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
