"""The ASGI application: from a request's bytes to an answer's bytes, along the road of the architecture page.

Here: routing, which form the caller gets, one answer for every outcome, the request's log line.
Not here: authentication, reading bodies, the operations, opening and closing the parts (`service`).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import uuid_utils

from keystead.api.alternatives import not_implemented
from keystead.api.decoding import refuse_ambiguous
from keystead.api.errors import (
    Internal,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    NotImplementedHere,
    ServiceError,
)
from keystead.api.public_schema import PATHS
from keystead.api.records import ActivityResponse
from keystead.api.rendering import Form, answer, error_answer, rfc3339
from keystead.operations import CATALOGUE, QueryOperation
from keystead.operations.activities import shown
from keystead.pipeline.activity import ActivityOperation
from keystead.pipeline.requests import read_submission
from keystead.pipeline.turns import NEXT_TURN
from keystead.server.authentication import STAMP_HEADERS, prove, reader, submitter
from keystead.server.bodies import Disconnected, read_body, read_past, too_large
from keystead.server.cors import CorsPolicy
from keystead.server.logs import RequestLine, RequestLog, logger
from keystead.server.policy_warnings import makes_policies, warn_of_unsafe_policies
from keystead.server.protocol import Whole
from keystead.server.rate_limits import RateLimit, RateLimited
from keystead.server.service import Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

_STAMPS = frozenset(STAMP_HEADERS)
_SDK_HEADERS = frozenset({b"x-client-version", b"x-tvc-client-version"})
_SDK_AGENTS = (b"turnkey-", b"Go-http-client/")


class _Request:
    """One request and what becomes known of it, for the answer and for the log. `body`, or where it comes from."""

    def __init__(
        self,
        method: str,
        path: str,
        headers: Iterable[Header],
        forced_form: Form | None,
        body: bytes | Receive,
    ) -> None:
        self.started = time.perf_counter()
        self.method = method
        self.path = _one_slash(path)
        self.body = body
        self.id = str(uuid_utils.uuid4())
        self.stamps: dict[bytes, bytes] = {}
        self.repeated_stamp = False
        self.announced: int | None = None
        self.form = Form.DOCUMENTED
        self.origin: bytes | None = None
        self.organization_id = self.user_id = self.activity_id = self.error = ""
        self.close = False
        for name, value in headers:
            if name in _STAMPS:
                self.repeated_stamp |= name in self.stamps
                self.stamps[name] = value
            elif name == b"content-length":
                self.announced = int(value)
            elif name in _SDK_HEADERS or (name == b"user-agent" and value.startswith(_SDK_AGENTS)):
                self.form = Form.SDK
            elif name == b"origin":
                self.origin = value
        if forced_form is not None:
            self.form = forced_form


class Application:
    """Answers HTTP. `service` may be not yet open: then only /healthz says yes."""

    def __init__(self, service: Service) -> None:
        self.settings = service.settings
        self.request_log = RequestLog()
        self._service = service
        self._rate_limit = RateLimit(service.settings.rate_limit)
        self._cors = CorsPolicy.of(service.settings.cors_origins)
        self._forced_form = None if self.settings.answer_form == "auto" else Form(self.settings.answer_form)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return self._service.lifespan(receive, send)
        return self._http(scope, receive, send)

    async def whole(self, whole: Whole) -> None:
        """Answers a request that has arrived whole."""
        try:
            request = _Request(whole.method, whole.path, whole.headers, self._forced_form, whole.body)
            status, headers, body = await self._answered(request)
            if request.close:
                whole.keep_alive = False
            await whole.answer(status, headers, body)
        except BaseException:
            whole.abandon()
            raise
        self._log(request, status)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _Request(scope["method"], scope["path"], scope["headers"], self._forced_form, receive)
        try:
            status, headers, body = await self._answered(request)
        except Disconnected:
            return
        if request.close:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        is_unread = status == 413
        await send({"type": "http.response.body", "body": body, "more_body": is_unread})
        if is_unread:
            await read_past(receive, self.settings.body_timeout_s)
            await send({"type": "http.response.body", "body": b""})
        self._log(request, status)

    async def _answered(self, request: _Request) -> tuple[int, list[Header], bytes]:
        """What to answer. Raises Disconnected."""
        headers: list[Header] = []
        try:
            if request.method == "OPTIONS":
                status, body = 204, b""
                headers = self._cors.preflight(request.origin)
            else:
                status, body = 200, await self._answer(request)
        except ServiceError as refused:
            status, body, request.error = refused.http_status, error_answer(refused), refused.message
            request.close = refused.http_status in (408, 413)
            if isinstance(refused, RateLimited):
                headers.append((b"retry-after", b"%d" % refused.retry_after_s))
        except Disconnected:
            raise
        except Exception:  # noqa: BLE001 - the last resort: whatever it was, the caller gets an answer
            logger.exception("a request failed by a defect of the server", extra={"request_id": request.id})
            failure = Internal(f"internal server error ({request.id})")
            status, body = 500, error_answer(failure)
            request.error = failure.message
        headers += [
            (b"content-type", b"application/json"),
            # A 204 has no content, so it has no length either (RFC 9110, section 8.6).
            *([] if status == 204 else [(b"content-length", b"%d" % len(body))]),
            (b"x-request-id", request.id.encode()),
            *self._cors.headers(request.origin),
        ]
        return status, headers, body

    def _answer(self, request: _Request) -> Awaitable[bytes]:
        operation = CATALOGUE.at(request.path)
        if operation is None:
            return self._answer_elsewhere(request.method, request.path)
        if request.method != "POST":
            raise MethodNotAllowed(f"{request.method} {request.path}: this path is answered to POST only")
        if isinstance(operation, QueryOperation):
            return self._answer_query(operation, request)
        assert isinstance(operation, ActivityOperation)
        return self._answer_submission(operation, request)

    async def _answer_query(self, operation: QueryOperation, request: _Request) -> bytes:
        service = self._service
        body = await self._body(request)
        proven = await prove(request.stamps, body, service.store)
        asked = operation.decoder.decode(body)
        refuse_ambiguous(body)
        request.organization_id = asked.organization_id
        organization, caller = await reader(
            service.store,
            asked.organization_id,
            proven,
            service.clock.now_ms(),
            finds_caller=operation.finds_caller,
        )
        request.user_id = caller.user.user_id
        self._rate_limit.spend(organization.id, time.monotonic())
        reading = service.reading(organization, caller)
        if not operation.of_version:
            return answer(await _settled(operation.answer(reading, asked)), request.form)
        kept = service.store.cached_answers(organization)
        key = (operation.name, request.form)
        if key not in kept:
            kept[key] = answer(await _settled(operation.answer(reading, asked)), request.form)
        return kept[key]

    async def _answer_submission(self, operation: ActivityOperation, request: _Request) -> bytes:
        service = self._service
        body = await self._body(request)
        with service.store.commit_coming() as coming:
            proven = await prove(request.stamps, body, service.store)
            submission = read_submission(operation, body)
            request.organization_id = submission.envelope.organization_id
            organization, caller = await submitter(
                service.store, request.organization_id, proven, service.clock.now_ms()
            )
            request.user_id = caller.user.user_id
            self._rate_limit.spend(organization.id, time.monotonic())
            await NEXT_TURN
            activity = await service.lifecycle.submit(submission, caller, organization, coming)
        request.activity_id = activity.id
        await NEXT_TURN
        if makes_policies(activity) and (now := await service.store.organization(organization.id)) is not None:
            fail_closed = self.settings.deny_policies_fail_closed
            warn_of_unsafe_policies(activity, now, request.id, fail_closed=fail_closed)
        reading = service.reading(organization, caller)
        seen = await shown(reading, activity, submission)
        return answer(ActivityResponse(activity=seen), request.form)

    async def _body(self, request: _Request) -> bytes:
        """What the request's one stamp is about."""
        body, settings = request.body, self.settings
        if not isinstance(body, bytes):
            body = await read_body(body, request.announced, settings.body_bytes_max, settings.body_timeout_s)
        elif len(body) > settings.body_bytes_max:
            raise too_large(settings.body_bytes_max)
        if request.repeated_stamp:
            raise InvalidRequest("a request carries exactly one stamp header, this one has the same one twice")
        return body

    async def _answer_elsewhere(self, method: str, path: str) -> bytes:
        if path in PATHS:
            raise NotImplementedHere(not_implemented(path.rpartition("/")[2]))
        service = self._service
        pages: dict[str, Callable[[], Awaitable[bytes]]] = {
            "/healthz": service.healthz,
            "/readyz": service.readyz,
            "/openapi.json": service.openapi,
            "/bundle-signer": service.bundle_signer,
        }
        if path not in pages:
            raise NotFound(f"no such path: {path[:200]}")
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed(f"{method} {path}: this path is answered to GET only")
        return await pages[path]()

    def _log(self, request: _Request, status: int) -> None:
        if not self.settings.log_requests:
            return
        self.request_log.add(
            RequestLine(
                time=rfc3339(self._service.clock.now_ms()),
                level="error" if status >= 500 else "info",
                event="request",
                request_id=request.id,
                method=request.method,
                path=request.path[:200],
                status=status,
                ms=int((time.perf_counter() - request.started) * 1_000_000) / 1000,
                organization_id=request.organization_id,
                user_id=request.user_id,
                activity_id=request.activity_id,
                error=request.error[:500],
            )
        )


async def _settled(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


def _one_slash(path: str) -> str:
    """Clients that join a base address ending in / with a path send //public/…"""
    while "//" in path:
        path = path.replace("//", "/")
    return path
