"""Requests that were refused: rows that are kept for some days, so that people see who was refused and why.

Here: the row. Not here: which refusals are recorded, and when they are written (`server.refused_requests`).
"""

from __future__ import annotations

from keystead.organizations.attached_rows import EXPIRY, AttachedRow, AttachedTable


class RefusedRequest(AttachedRow, frozen=True, kw_only=True):
    """A refused request of a user. Times are milliseconds since the epoch.

    - `count`: 1; or more for a row without a user, which stands for requests that were not recorded one by one.
    - `user_id`, `user_name`: the user whose credential stamped it, with the name of that time.
    - `operation`: the last part of the path. `status`: of HTTP. `code`: machine-readable, or "".
    - `request_id`: as in the answer and in the log. `activity_id`: under which the decision is stored, or "".
    - `address`: that the request came from.
    """

    table = AttachedTable(
        name="refused_request",
        key=(("id", str),),
        columns=(("at_ms", int), ("count", int), (EXPIRY, int), ("body", bytes)),
    )

    id: str
    at_ms: int
    expires_at_ms: int
    count: int = 1
    user_id: str = ""
    user_name: str = ""
    operation: str = ""
    status: int = 0
    code: str = ""
    reason: str = ""
    request_id: str = ""
    activity_id: str = ""
    address: str = ""
