"""The answers of a development server.

The application writes every answer. Here: what it answers at the developer's controls, and to requests for which a
developer chose a fault or a rate limit. Not here: each control (one module each), who may send requests (`access`).
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from keystead.api.decoding import decoder
from keystead.api.developer_controls import OUTBOX, PREFIX, Fault
from keystead.api.errors import MethodNotAllowed, NotFound, PermissionDenied
from keystead.api.rendering import error_answer
from keystead.pipeline.ports import Clock
from keystead.server.application import Application
from keystead.server.console.link import LINK_PATH, LOGIN_PATH
from keystead.server.development.access import check_access, check_may_change, is_control
from keystead.server.development.control import ServedControl
from keystead.server.development.faults import ChosenFaults, fault_body, fault_message
from keystead.server.development.rate_limit import ChosenRateLimit
from keystead.server.development.requests_seen import RequestsSeen
from keystead.server.http.messages import JSON, HttpAnswer, HttpRequest
from keystead.server.limits.rate_limits import RateLimited
from keystead.server.logs import RequestLine, logger

_APPLICATION_CONTROLS = (OUTBOX.path, LOGIN_PATH, LINK_PATH)
"""Controls that the application answers itself, because they need its messages or its console."""

_RECORDED_PATHS = ("/public/", "/auth-proxy/")
"""Paths whose requests are recorded, and fail if a developer chose a fault."""


class DevelopmentApplication:
    """`application` answers every request that is not to a control."""

    def __init__(
        self,
        application: Application,
        controls: Sequence[ServedControl],
        faults: ChosenFaults,
        rate_limit: ChosenRateLimit,
        seen: RequestsSeen,
        clock: Clock,
        origins: frozenset[bytes] = frozenset(),
    ) -> None:
        self._application = application
        self._controls = {control.declared.path: control for control in controls}
        self._decoders = {
            control.declared.path: decoder(control.declared.change)
            for control in controls
            if control.declared.change
        }
        self._faults = faults
        self._rate_limit = rate_limit
        self._seen = seen
        self._clock = clock
        self._origins = origins

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to a request. Raises only CancelledError, which resets the connection."""
        path = request.path
        if request.refusal is not None:
            return await self._application.answer(request)
        try:
            check_access(path, request, self._origins)
        except PermissionDenied as refused:
            return await self._application.answer(request, functools.partial(_refuse, refused))
        if request.method == "OPTIONS" or not path.startswith(_RECORDED_PATHS):
            is_own = is_control(path) and path not in _APPLICATION_CONTROLS
            return await self._application.answer(request, self._answer_control if is_own else None)
        at_ms, started_s = self._clock.now_ms(), time.perf_counter()
        chosen = self._chosen_for(path)
        respond = None if chosen is None else functools.partial(self._answer_chosen, chosen)
        is_only_slow = isinstance(chosen, Fault) and chosen.status is None and not chosen.cut
        answer: HttpAnswer | None = None
        try:
            answer = await self._application.answer(request, respond)
            return answer
        finally:
            ms = int((time.perf_counter() - started_s) * 1_000_000) / 1000
            self._seen.add(request, answer, at_ms, ms, fault=chosen is not None and not is_only_slow)

    def _chosen_for(self, path: str) -> RateLimited | Fault | None:
        """What a developer chose for the next request at this path."""
        if self._rate_limit.per_second:
            try:
                self._rate_limit.spend()
            except RateLimited as refused:
                return refused
        return self._faults.next_for(path) if self._faults.waiting else None

    async def _answer_chosen(
        self, chosen: RateLimited | Fault, path: str, request: HttpRequest, line: RequestLine
    ) -> bytes | HttpAnswer:
        """See `Respond`. Raises CancelledError if a fault cuts the connection; then there is no answer and no line.

        The refusals are not raised: they do not count as failures of the caller's address.
        """
        if isinstance(chosen, RateLimited):
            line.error = chosen.message
            return _refusal(429, error_answer(chosen), chosen.retry_after_s)
        what = "cut" if chosen.cut else chosen.status or "slow"
        logger.warning(
            "chosen fault: %s %s: %s", request.method, line.path, what, extra={"request_id": line.request_id}
        )
        await asyncio.sleep(chosen.delay_ms / 1000)
        if chosen.cut:
            raise asyncio.CancelledError  # the connection then sends nothing and is reset
        if chosen.status is None:
            return await self._application.respond(path, request, line)
        line.error = fault_message(chosen.status)
        return _refusal(chosen.status, fault_body(chosen.status), 1 if chosen.status in (429, 503) else None)

    async def _answer_control(self, path: str, request: HttpRequest, _: RequestLine) -> bytes:
        """See `Respond`."""
        if path == PREFIX:
            return msgspec.json.encode({"controls": sorted([*self._controls, *_APPLICATION_CONTROLS])})
        control = self._controls.get(path)
        if control is None:
            raise NotFound(f"no such control: {path[:200]}; GET {PREFIX} lists them")
        if request.method in ("GET", "HEAD") and control.read is not None:
            return msgspec.json.encode(control.read())
        if request.method == "POST" and control.change is not None:
            check_may_change(request)
            change: Any = self._decoders[path].decode_request(request.body)
            return msgspec.json.encode(await control.change(change))
        functions = (("GET", control.read), ("POST", control.change))
        allowed = [method for method, function in functions if function is not None]
        raise MethodNotAllowed(f"{request.method} {path}: this path accepts {' and '.join(allowed)} only")


async def _refuse(refused: PermissionDenied, _: str, __: HttpRequest, ___: RequestLine) -> bytes:
    """See `Respond`."""
    raise refused


def _refusal(status: int, body: bytes, retry_after_s: int | None) -> HttpAnswer:
    retry_after = [] if retry_after_s is None else [(b"retry-after", b"%d" % retry_after_s)]
    return HttpAnswer(status, [JSON, *retry_after], body)
