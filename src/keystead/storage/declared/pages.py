"""The statements that read long lists by page: activities, accounts, sub-organizations. Longer lists cost no more.

Here: these selects. Not here: how a page's arguments become parameters (`reads`), and every other statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, select

from keystead.storage.declared.dialects import Dialect
from keystead.storage.declared.tables import activity, lookup, organization, shared_body, vote, wallet_account
from keystead.storage.statements import Pages


class Side(Enum):
    """Which side of the cursor, in the order of ids."""

    BELOW = "below"
    ABOVE = "above"


_WITH_VOTES = select(
    *activity.c,
    vote.c.id.label("vote_id"),
    vote.c.user_id,
    vote.c.selection,
    vote.c.message,
    vote.c.public_key,
    vote.c.signature,
    vote.c.scheme,
    vote.c.created_at_ms.label("voted_at_ms"),
    shared_body.c.body.label("voter"),
).select_from(
    activity.outerjoin(
        vote, and_(vote.c.organization_id == activity.c.organization_id, vote.c.activity_id == activity.c.id)
    ).outerjoin(
        shared_body,
        and_(shared_body.c.organization_id == vote.c.organization_id, shared_body.c.digest == vote.c.user_digest),
    )
)


def one_activity(which: ColumnElement[bool]) -> Select[Any]:
    """An activity and its votes, a row per vote. One statement, so that they are of one moment."""
    of_organization = activity.c.organization_id == bindparam("organization_id")
    return _WITH_VOTES.where(of_organization, which).order_by(vote.c.id)


def activity_pages(dialect: Dialect, chosen_by: Mapping[str, ColumnElement[str]]) -> Pages:
    """The `limit` activities nearest to the cursor, newest first, a row per vote.

    `chosen_by`: parameters that list values, and the column that must have one of them.
    """

    def page(side: Side) -> Select[Any]:
        lists = {name: dialect.each(name) for name in chosen_by}
        fits = [column == lists[name].c.value for name, column in chosen_by.items()]
        ids = _nearest(select(activity.c.id), activity.c.organization_id, activity.c.id, side).where(*fits)
        if lists:
            ids = dialect.ids_of_each(list(lists.values()), ids)
            ids = ids.order_by(_order(ids.selected_columns.id, side)).limit(bindparam("limit"))
        of_organization = activity.c.organization_id == bindparam("organization_id")
        return _WITH_VOTES.where(of_organization, activity.c.id.in_(ids)).order_by(activity.c.id.desc(), vote.c.id)

    return _pages(dialect, page)


def account_pages(dialect: Dialect, *wanted: ColumnElement[bool]) -> Pages:
    """The bodies of the `limit` accounts nearest to the cursor, in the order of their distance from it."""
    bodies = select(wallet_account.c.body).where(*wanted)
    return _pages(
        dialect, lambda side: _nearest(bodies, wallet_account.c.organization_id, wallet_account.c.id, side)
    )


def suborganization_pages(dialect: Dialect) -> Pages:
    """The ids of the `limit` sub-organizations nearest to the cursor, in the order of their distance from it.

    `organization_id` is the parent's.
    """
    ids = select(organization.c.id)
    return _pages(dialect, lambda side: _nearest(ids, organization.c.parent_id, organization.c.id, side))


def found_suborganization_pages(dialect: Dialect) -> Pages:
    """The same of those to which a value leads. Several holders may lead to one organization by the same value."""
    ids = (
        select(lookup.c.organization_id)
        .distinct()
        .where(lookup.c.kind == bindparam("kind"), lookup.c.value == bindparam("value"))
    )
    return _pages(dialect, lambda side: _nearest(ids, lookup.c.parent_id, lookup.c.organization_id, side))


def _pages(dialect: Dialect, page: Callable[[Side], Select[Any]]) -> Pages:
    return Pages(below=dialect.compile(page(Side.BELOW)), above=dialect.compile(page(Side.ABOVE)))


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
