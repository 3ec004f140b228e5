"""Records refused requests of known users, so that people of the organization see who was refused and why.

Here: which refusals are recorded, how many, and when they are written. Not here: the rows
(`organizations.refused_requests`), the query (`operations.refused_requests`), the log line of a request (`logs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from keystead.api.catalogue import Operation
from keystead.api.errors import ServiceError
from keystead.api.identifiers import new_id
from keystead.failures.rounds import Rounds
from keystead.organizations.organization import Organization
from keystead.organizations.refused_requests import RefusedRequest
from keystead.pipeline.ports import Clock
from keystead.server.http.messages import HttpRequest
from keystead.server.logs import RequestLine, logger

RECORDED_MAX: Final = 60
"""Refused requests of an organization that a process records one by one in a minute. Further ones are only counted,
so that a caller who repeats a refused request does not fill the database."""

WAITING_MAX: Final = 10_000
"""Most refusals that wait to be written. More are left out while the database does not answer."""

REASON_MAX: Final = 500
"""Characters of a reason. A longer one is cut."""

_PERIOD_S: Final = 1.0
_DAY_MS: Final = 24 * 3_600_000
_MINUTE_MS: Final = 60_000
_CONSOLE: Final = b"keystead-console"


class RefusalRows(Protocol):
    async def write(self, organization_id: str, refused: Sequence[RefusedRequest]) -> None:
        """Raises Unavailable while the database does not answer."""
        ...


class RefusalStore(Protocol):
    @property
    def refused_requests(self) -> RefusalRows: ...

    async def organization(self, organization_id: str) -> Organization | None:
        """Raises Unavailable while the database does not answer."""
        ...


class RefusedRequests:
    """The refusals of this process. `days`: how long they are kept; 0 records none. Belongs to one event loop."""

    def __init__(self, store: RefusalStore, clock: Clock, days: int) -> None:
        self._store = store
        self._clock = clock
        self._kept_ms = days * _DAY_MS
        self._minute = 0
        self._in_this_minute: dict[str, int] = {}
        self._waiting: dict[str, list[RefusedRequest]] = {}
        self._rounds = Rounds(logger, "refused requests could not be recorded", _PERIOD_S)

    def note(
        self, refused: ServiceError, operation: Operation | None, request: HttpRequest, line: RequestLine
    ) -> None:
        """Record a refusal, if its sender is a user. `operation`: None for a path of no operation.

        The server's own failures are not refusals. Queries of the console are left out: it asks for what may not
        exist, and nobody wants to read that in it. A submission of the console is recorded like any other, so no
        caller hides one by a header.
        """
        user_id = line.user_id or refused.sender_id
        if not (self._kept_ms and user_id and line.organization_id) or line.status >= 500:
            return
        if operation is not None and operation.kind == "query" and _is_of_console(request):
            return
        now_ms = self._clock.now_ms()
        if now_ms // _MINUTE_MS != self._minute:
            self._count_others()
            self._minute = now_ms // _MINUTE_MS
        number = self._in_this_minute.get(line.organization_id, 0) + 1
        self._in_this_minute[line.organization_id] = number
        if number > RECORDED_MAX or sum(map(len, self._waiting.values())) >= WAITING_MAX:
            return
        row = RefusedRequest(
            id=new_id(),
            at_ms=now_ms,
            expires_at_ms=now_ms + self._kept_ms,
            user_id=user_id,
            operation=line.path.rpartition("/")[2] if operation is None else operation.name,
            status=line.status,
            code=refused.machine_code,
            reason=refused.message[:REASON_MAX],
            request_id=line.request_id,
            activity_id=line.activity_id,
            address=line.client,
        )
        self._waiting.setdefault(line.organization_id, []).append(row)

    def _count_others(self) -> None:
        """A row for the requests of the last minute that were not recorded one by one."""
        at_ms = (self._minute + 1) * _MINUTE_MS - 1
        for organization_id, number in self._in_this_minute.items():
            if number > RECORDED_MAX:
                row = RefusedRequest(
                    id=new_id(),
                    at_ms=at_ms,
                    expires_at_ms=at_ms + self._kept_ms,
                    count=number - RECORDED_MAX,
                    reason=f"{number - RECORDED_MAX} further requests were refused in this minute",
                )
                self._waiting.setdefault(organization_id, []).append(row)
        self._in_this_minute = {}

    async def run(self) -> None:
        """Write what was noted, every second, until cancelled."""
        while True:
            with self._rounds.logged():
                await self.write()
            await self._rounds.wait(_PERIOD_S)

    async def write(self) -> None:
        """Write what was noted and is not written yet. Raises Unavailable; then it is written later."""
        if self._clock.now_ms() // _MINUTE_MS != self._minute:
            self._count_others()
        for organization_id in list(self._waiting):
            rows = tuple(self._waiting[organization_id])
            organization = await self._store.organization(organization_id)
            if organization is not None:
                await self._store.refused_requests.write(
                    organization_id, [await self._named(row, organization) for row in rows]
                )
            if later := self._waiting.pop(organization_id)[len(rows) :]:  # noted meanwhile
                self._waiting[organization_id] = later

    async def _named(self, row: RefusedRequest, organization: Organization) -> RefusedRequest:
        """The row with the name of its user, who belongs to the organization or to its parent."""
        user = organization.users.get(row.user_id)
        if user is None and organization.profile.parent_id is not None:
            parent = await self._store.organization(organization.profile.parent_id)
            user = None if parent is None else parent.users.get(row.user_id)
        return row if user is None else replace(row, user_name=user.user_name)


def _is_of_console(request: HttpRequest) -> bool:
    return dict(request.headers).get(b"x-client-version", b"") == _CONSOLE
