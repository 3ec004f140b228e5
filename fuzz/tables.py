"""The content of every table of a server between two requests, and the tables that a refused request changed.

Here: the state, and which changes a refusal may make. Not here: the requests (`requests`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from tests.support.databases import TABLES, Database
from tests.support.hanging import PATIENCE_S

State = Mapping[str, frozenset[tuple[Any, ...]]]
"""A summary of each table, or its rows by key and revision. Every write changes these."""

_SUMMED: Final = {"organization": "sum(version)", "activity": "sum(revision)"}
"""Tables whose rows are replaced without a new row: a column that tells."""

_ROWS: Final = {
    "one_time_code": "organization_id, id, revision",
    "one_time_code_count": "organization_id, subject, revision",
    "outgoing_message": "organization_id, id, revision",
    "email_event": "organization_id, id",
    "instance": "name, value",
    "webhook_event": "organization_id, id",
    "webhook_delivery": "organization_id, endpoint_id, id",
    "webhook_lease": "organization_id, endpoint_id",
}
"""Tables that the server may also delete from between requests, so that their rows are compared one by one."""

_DENIAL: Final = frozenset({"policy_evaluation", "snapshot"})
"""What the policies said of a request is kept when they deny it."""

_LATER: Final = frozenset({"webhook_lease", "refused_request"})
"""Written also between two requests: before a webhook is delivered, and some time after a request was refused."""

_WRONG_CODE: Final = _DENIAL | {"one_time_code", "one_time_code_count"}
"""A wrong attempt at a code is counted, by the operations below."""

_TAKE_CODES: Final = frozenset({"verify_otp", "otp_auth"})

_DENIED_STATUS: Final = 403
_WAITING: Final = (
    "SELECT count(*) FROM outgoing_message WHERE due_ms IS NOT NULL",
    "SELECT count(*) FROM unfinished_deletion",
)


def state(database: Database) -> State:
    """The tables, after the server has finished its background work. Raises TimeoutError if it does not finish."""
    _wait_for_background(database)
    found: dict[str, frozenset[tuple[Any, ...]]] = {}
    for table in TABLES:
        columns = _ROWS.get(table) or ", ".join(["count(*)", *filter(None, [_SUMMED.get(table)])])
        found[table] = frozenset(database.rows(f"SELECT {columns} FROM {table}"))
    return found


def changed_by_refusal(operation: str, status: int, before: State, after: State) -> list[str]:
    """The tables that changed although a refusal of this operation with this status must not change them."""
    allowed: frozenset[str] = frozenset()
    if status == _DENIED_STATUS:
        allowed = _DENIAL
    elif operation in _TAKE_CODES:
        allowed = _WRONG_CODE
    allowed |= _LATER
    return [table for table in TABLES if after[table] - before[table] and table not in allowed]


def _wait_for_background(database: Database) -> None:
    """Wait: between requests a server sends messages, records them, and deletes rows of deleted records."""
    deadline = time.monotonic() + PATIENCE_S
    for waiting in _WAITING:
        while database.rows(waiting) != [(0,)]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody does what waits: {waiting}")
            time.sleep(0.005)
