"""The answers of a development server.

It answers the developer's controls. The application answers all other requests, with the faults and the rate limit
that a developer chose.

Here: HTTP of the controls. Not here: each control (one module each), who may use them (`access`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.api.decoding import decoder
from keystead.api.errors import Internal, MethodNotAllowed, NotFound, ServiceError
from keystead.api.rendering import Form, error_answer
from keystead.failures.defects import log_defect
from keystead.pipeline.ports import Clock
from keystead.server.answer_form import form_of
from keystead.server.connection import Answer
from keystead.server.console_link import PATH as CONSOLE_LOGIN
from keystead.server.cors import CorsPolicy
from keystead.server.development.access import PREFIX, check_may_change, check_may_read
from keystead.server.development.control import Control
from keystead.server.development.faults import ChosenFaults, Fault, fault_body
from keystead.server.development.outbox import PATH as OUTBOX
from keystead.server.development.rate_limit import ChosenRateLimit
from keystead.server.development.requests_seen import RequestsSeen
from keystead.server.http_messages import Header, HttpAnswer, HttpRequest, one_slash
from keystead.server.logs import logger
from keystead.server.rate_limits import RateLimited

_APPLICATION_CONTROLS = (OUTBOX, CONSOLE_LOGIN)
"""Controls that the application answers itself, because they need its messages or its console."""

_RECORDED_PATHS = ("/public/", "/auth-proxy/")
"""Paths whose requests are recorded, and fail if a developer chose a fault."""

_OPERATION_PATHS = "/public/"
"""Paths whose answers have the documented form or the SDK form. The authentication proxy has only the SDK form."""


class DevelopmentApplication:
    """`application` answers every request that is not to a control."""

    def __init__(
        self,
        application: Answer,
        controls: Mapping[str, Control],
        faults: ChosenFaults,
        rate_limit: ChosenRateLimit,
        seen: RequestsSeen,
        clock: Clock,
        cors: CorsPolicy,
        answer_form: str,
    ) -> None:
        self._application = application
        self._controls = {f"{PREFIX}/{name}": control for name, control in controls.items()}
        self._decoders = {
            path: decoder(control.change_type) for path, control in self._controls.items() if control.change
        }
        self._faults = faults
        self._rate_limit = rate_limit
        self._seen = seen
        self._clock = clock
        self._cors = cors
        self._answer_form = answer_form

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to a request. Raises only CancelledError, which resets the connection."""
        if request.refusal is not None or (request.method == "OPTIONS" and not _is_control(request.path)):
            return await self._application(request)
        if _is_control(request.path) and request.path not in _APPLICATION_CONTROLS:
            return await self._control_answer(request)
        path = one_slash(request.path)
        if not path.startswith(_RECORDED_PATHS):
            return await self._application(request)
        at_ms, started_s = self._clock.now_ms(), time.perf_counter()
        chosen = self._rate_limit_answer(request)
        if chosen is None and (fault := self._faults.next_for(path)) is not None:
            try:
                chosen = await self._fault_answer(request, fault)
            except asyncio.CancelledError:
                self._seen.add(request, None, at_ms, _ms_since(started_s), fault=True, form=None)
                raise
        answer = chosen or await self._application(request)
        form = form_of(request, self._answer_form) if path.startswith(_OPERATION_PATHS) else Form.SDK
        self._seen.add(request, answer, at_ms, _ms_since(started_s), fault=chosen is not None, form=form)
        return answer

    def _rate_limit_answer(self, request: HttpRequest) -> HttpAnswer | None:
        try:
            self._rate_limit.spend()
        except RateLimited as refused:
            retry_after = (b"retry-after", b"%d" % refused.retry_after_s)
            return self._chosen_answer(request, 429, error_answer(refused), [retry_after])
        return None

    async def _fault_answer(self, request: HttpRequest, fault: Fault) -> HttpAnswer | None:
        """The answer of a fault; None if the fault only makes the request slow. Raises CancelledError if it cuts
        the connection."""
        what = "cut" if fault.cut else fault.status or "slow"
        logger.warning("chosen fault: %s %s: %s", request.method, request.path[:200], what)
        await asyncio.sleep(fault.delay_ms / 1000)
        if fault.cut:
            raise asyncio.CancelledError  # the connection then sends nothing and is reset
        if fault.status is None:
            return None
        retry_after: list[Header] = [(b"retry-after", b"1")] if fault.status in (429, 503) else []
        return self._chosen_answer(request, fault.status, fault_body(fault.status), retry_after)

    def _chosen_answer(self, request: HttpRequest, status: int, body: bytes, headers: list[Header]) -> HttpAnswer:
        origin = dict(request.headers).get(b"origin")
        return _answer(status, body, [*headers, *self._cors.headers(origin)])

    async def _control_answer(self, request: HttpRequest) -> HttpAnswer:
        try:
            return _answer(200, await self._control_body(request))
        except ServiceError as refused:
            return _answer(refused.http_status, error_answer(refused))
        except Exception as defect:  # noqa: BLE001 - the caller gets an answer after every error
            log_defect(logger, defect, "a developer's control failed")
            return _answer(500, error_answer(Internal(f"internal server error at {request.path[:200]}")))

    async def _control_body(self, request: HttpRequest) -> bytes:
        check_may_read(request)
        if request.path == PREFIX:
            return msgspec.json.encode({"controls": sorted([*self._controls, *_APPLICATION_CONTROLS])})
        control = self._controls.get(request.path)
        if control is None:
            raise NotFound(f"no such control: {request.path[:200]}; GET {PREFIX} lists them")
        if request.method in ("GET", "HEAD") and control.read is not None:
            return msgspec.json.encode(control.read())
        if request.method == "POST" and control.change is not None:
            check_may_change(request)
            change: Any = self._decoders[request.path].decode_request(request.body)
            return msgspec.json.encode(await control.change(change))
        functions = (("GET", control.read), ("POST", control.change))
        allowed = [method for method, function in functions if function is not None]
        raise MethodNotAllowed(f"{request.method} {request.path}: this path accepts {' and '.join(allowed)} only")


def _is_control(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def _ms_since(started_s: float) -> float:
    return int((time.perf_counter() - started_s) * 1_000_000) / 1000


def _answer(status: int, body: bytes, headers: list[Header] | None = None) -> HttpAnswer:
    standard: list[Header] = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
    ]
    return HttpAnswer(status, [*standard, *(headers or [])], body)
