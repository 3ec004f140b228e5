"""The statements that read long lists by page: activities, accounts, sub-organizations. Longer lists cost no more.

Here: these selects. Not here: how a page's arguments become parameters (`reads`), and every other statement.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, select

from keystead.storage.dialects import Dialect, Statement
from keystead.storage.tables import activity, lookup, organization, vote, wallet_account


class Filter(Enum):
    """What activities are chosen by. A page by type is by status too, so that one index serves both."""

    NONE = ()
    STATUS = ("statuses",)
    TYPE_AND_STATUS = ("types", "statuses")


class Side(Enum):
    """Which side of the cursor, in the order of ids, which is the order of creation."""

    BELOW = "below"
    ABOVE = "above"


_COLUMN_OF = {"statuses": activity.c.status, "types": activity.c.type}
_VOTES = and_(vote.c.organization_id == activity.c.organization_id, vote.c.activity_id == activity.c.id)
_WITH_VOTES = select(*activity.c, vote.c.message, vote.c.body)


def one_activity(which: ColumnElement[bool]) -> Select[Any]:
    """An activity and its votes, a row per vote. One statement, so that they are of one moment."""
    return (
        _WITH_VOTES.select_from(activity.outerjoin(vote, _VOTES))
        .where(activity.c.organization_id == bindparam("organization_id"), which)
        .order_by(vote.c.id)
    )


def activity_page(dialect: Dialect, chosen_by: Filter, side: Side) -> Statement:
    """The `limit` activities nearest to the cursor, newest first, a row per vote."""
    lists = [dialect.each(name) for name in chosen_by.value]
    fits = [_COLUMN_OF[name] == each.c.value for name, each in zip(chosen_by.value, lists, strict=True)]
    ids = _nearest(select(activity.c.id), activity.c.organization_id, activity.c.id, side).where(*fits)
    if lists:
        ids = dialect.ids_of_each(lists, ids)
        ids = ids.order_by(_order(ids.selected_columns.id, side)).limit(bindparam("limit"))
    return dialect.compile(
        _WITH_VOTES.select_from(activity.outerjoin(vote, _VOTES))
        .where(activity.c.organization_id == bindparam("organization_id"), activity.c.id.in_(ids))
        .order_by(activity.c.id.desc(), vote.c.id)
    )


def account_page(dialect: Dialect, of_wallet: bool, side: Side) -> Statement:
    """The bodies of the `limit` accounts nearest to the cursor, in the order of their distance from it."""
    bodies = _nearest(select(wallet_account.c.body), wallet_account.c.organization_id, wallet_account.c.id, side)
    if of_wallet:
        bodies = bodies.where(wallet_account.c.wallet_id == bindparam("wallet_id"))
    return dialect.compile(bodies)


def suborganization_page(dialect: Dialect, found_by_value: bool, side: Side) -> Statement:
    """The ids of the `limit` sub-organizations nearest to the cursor, in the order of their distance from it.

    `organization_id` is the parent's. Several holders may lead to one organization by the same value.
    """
    if not found_by_value:
        return dialect.compile(
            _nearest(select(organization.c.id), organization.c.parent_id, organization.c.id, side)
        )
    found = select(lookup.c.organization_id).distinct()
    return dialect.compile(
        _nearest(found, lookup.c.parent_id, lookup.c.organization_id, side).where(
            lookup.c.kind == bindparam("kind"), lookup.c.value == bindparam("value")
        )
    )


def _nearest(
    rows: Select[Any], organization_id: ColumnElement[str], row_id: ColumnElement[str], side: Side
) -> Select[Any]:
    cursor: BindParameter[str] = bindparam("cursor")
    return (
        rows.where(
            organization_id == bindparam("organization_id"),
            row_id < cursor if side is Side.BELOW else row_id > cursor,
        )
        .order_by(_order(row_id, side))
        .limit(bindparam("limit"))
    )


def _order(row_id: ColumnElement[str], side: Side) -> ColumnElement[str]:
    return row_id.desc() if side is Side.BELOW else row_id.asc()
