"""Refused requests of the organization's users: a query of our own, for people who ask who was refused and why.

Not here: which refusals are recorded (`server.refused_requests`), the outcome of each policy for one
(`votes.get_policy_evaluations`).
"""

from __future__ import annotations

from keystead.api.parameters import Pagination, QueryRequest
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import Reading, query
from keystead.operations.pages import page_of
from keystead.organizations.refused_requests import RefusedRequest


class ShownRefusal(Wire, frozen=True):
    """A request that was refused.

    - `user_id`, `user_name`: the user whose credential stamped it, with the name of that time.
    - `operation`: the last part of the path. `status`: of HTTP. `code`: the turnkeyErrorCode, or "".
    - `request_id`: as in the answer and in the log. `activity_id`: under which get_policy_evaluations finds the
      decision; "" if policies did not decide.
    - `address`: that the request came from.
    - `count`: 1; or more for an entry without a user, which stands for requests that were not recorded one by one.
    """

    id: str
    at: Timestamp
    count: int
    user_id: str
    user_name: str
    operation: str
    status: int
    code: str
    reason: str
    request_id: str
    activity_id: str
    address: str


class ListRefusedRequestsRequest(QueryRequest, frozen=True):
    """`paginationOptions.after` may be the id of an entry that is no longer kept."""

    pagination_options: Pagination | None = None


class ListRefusedRequestsResponse(Wire, frozen=True):
    refused_requests: tuple[ShownRefusal, ...]


@query(own=True)
async def list_refused_requests(
    reading: Reading, request: ListRefusedRequestsRequest
) -> ListRefusedRequestsResponse:
    """Requests that were refused, newest first, by page."""
    page = page_of(request.pagination_options)
    found = await reading.store.refused_requests.page(reading.organization.id, page, reading.now_ms)
    return ListRefusedRequestsResponse(refused_requests=tuple(map(_shown, found)))


def _shown(refused: RefusedRequest) -> ShownRefusal:
    return ShownRefusal(
        id=refused.id,
        at=Timestamp.from_ms(refused.at_ms),
        count=refused.count,
        user_id=refused.user_id,
        user_name=refused.user_name,
        operation=refused.operation,
        status=refused.status,
        code=refused.code,
        reason=refused.reason,
        request_id=refused.request_id,
        activity_id=refused.activity_id,
        address=refused.address,
    )
