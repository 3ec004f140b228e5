"""From a request to its answer and its log line.

Here: routing, one answer and one log line for every outcome of every request. Not here: bytes of HTTP
(`http.connection`, `http.request_parser`), queries and submissions (`api_endpoints`), the console's files
(`console.files`), the developer's controls (`development.application`), opening and closing the parts
(`service`).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import uuid_utils

from keystead.api import errors
from keystead.api.alternatives import not_implemented
from keystead.api.developer_controls import OUTBOX
from keystead.api.operation_paths import probably_meant
from keystead.api.public_schema import PATHS
from keystead.api.rendering import Form, answer, error_answer, rfc3339
from keystead.console import CONSOLE_PATH, SECURITY_HEADERS
from keystead.failures.defects import log_defect
from keystead.operations import CATALOGUE, QueryOperation
from keystead.pipeline.operation import ActivityOperation
from keystead.server.api_endpoints import ApiEndpoints
from keystead.server.auth_proxy import PREFIX as AUTH_PROXY
from keystead.server.console.files import ConsoleAnswers, is_console, without_secret
from keystead.server.console.link import LINK_PATH, LOGIN_PATH, ConsoleLinks
from keystead.server.console.logins import console_logins
from keystead.server.development.access import is_control
from keystead.server.development.outbox import outbox_answer
from keystead.server.http.cors import CorsPolicy
from keystead.server.http.messages import JSON, Header, HttpAnswer, HttpRequest
from keystead.server.limits.once_per_second import OncePerSecond
from keystead.server.limits.rate_limits import FailureLimit, RateLimited
from keystead.server.limits.rate_table import RateTable
from keystead.server.logs import DatabaseLog, RequestLine, RequestLog, logger
from keystead.server.pretty_logs import line_writer
from keystead.server.service import Service
from keystead.server.webhooks import JWKS_PATH

_PROBES: Final = frozenset({"/healthz", "/readyz"})

_CACHEABLE: Final = frozenset({"/installation-keys", JWKS_PATH})

_NOT_STORED: Final = ((b"cache-control", b"no-store"),)

_PUBLIC: Final = "/public/v1/"
_SHORT_PATHS: Final = frozenset(
    path.removeprefix(_PUBLIC) for path in PATHS | {operation.path for operation in CATALOGUE}
)

Respond = Callable[[str, HttpRequest, RequestLine], Awaitable[bytes | HttpAnswer]]
"""Finds the answer to a request at a path: JSON for the status 200, or an answer with its own status and headers.
It may set fields of the log line. Raises ServiceError to refuse the request."""


class Application:
    """Answers requests. While `service` is not open, only /healthz answers 200.

    `console_links`: on a development server, logs a user in to the console without a credential. `auth_proxy_id`:
    the authentication proxy for logins to the console, if the settings name none.
    """

    def __init__(
        self,
        service: Service,
        console_links: ConsoleLinks | None = None,
        auth_proxy_id: str = "",
        rates: RateTable | None = None,
    ) -> None:
        """`rates`: shared by the processes of this machine; None if this is the only one. Raises SettingsError."""
        self._settings = settings = service.settings
        self._service = service
        self._log = RequestLog(line_writer(settings.log_format))
        self._database = DatabaseLog()
        rates = rates or RateTable()
        self._failures = FailureLimit(settings.failures_per_address, rates)
        self._cors = CorsPolicy.of(settings.cors_origins)
        self._api = ApiEndpoints(service, rates)
        self._console: ConsoleAnswers | None = None
        if settings.console:
            logins = console_logins(settings, auth_proxy_id)
            self._console = ConsoleAnswers(is_development=settings.mode == "dev", logins=logins)
        self._console_links = console_links
        self._readiness = OncePerSecond(service.readyz)
        self._pages: dict[str, Callable[[], Awaitable[bytes]]] = {
            "/": service.front_page,
            "/healthz": service.healthz,
            "/version": service.version,
            "/readyz": self._readiness.answer,
            "/openapi.json": service.openapi,
            "/installation-keys": OncePerSecond(service.installation_keys).answer,
            "/bundle-signer": OncePerSecond(service.bundle_signer).answer,
            JWKS_PATH: OncePerSecond(service.webhook_keys).answer,
        }

    async def answer(self, request: HttpRequest, respond: Respond | None = None) -> HttpAnswer:
        """Answer a request and write its log line, for every outcome. `respond` replaces the method of this name.
        Raises only CancelledError."""
        path = request.path if request.path.startswith(_PUBLIC) else without_secret(request.path)
        started_s = time.perf_counter()
        line = RequestLine(
            time=rfc3339(self._service.clock.now_ms()),
            request_id=str(uuid_utils.uuid4()),
            client=request.client.text,
            method=request.method,
            path=path[:200],
        )
        close = is_logged = False
        headers: list[Header] = [JSON]
        try:
            found = await (respond or self.respond)(path, request, line)
            if isinstance(found, HttpAnswer):
                line.status, headers, body = found.status, [*found.headers], found.body
            else:
                line.status, body = 200, found
            is_logged = True
            if self._database.has_failed:
                self._database.answered(self._service.transactions)
        except errors.ServiceError as refused:
            line.status, body, line.error = refused.http_status, error_answer(refused), refused.message[:500]
            if isinstance(refused, errors.Denied):
                line.activity_id = refused.activity_id
            close = request.refusal is not None
            is_logged = bool(line.user_id) or self._count_failure(request, refused)
            if line.user_id or refused.sender_id:
                self._service.refused_requests.note(refused, CATALOGUE.at(path), request, line)
            headers += self._note_refusal(refused)
        except Exception as defect:  # noqa: BLE001 - the caller gets an answer after every error
            log_defect(logger, defect, "a request failed", extra={"request_id": line.request_id})
            failure = errors.Internal(f"internal server error ({line.request_id})")
            line.status, body, line.error, is_logged = 500, error_answer(failure), failure.message, True
        headers += [(b"x-request-id", line.request_id.encode()), *self._headers_at(path, request)]
        if path in _CACHEABLE and line.status == 200:
            headers.append((b"cache-control", b"public, max-age=300"))
        took_s = time.perf_counter() - started_s
        if (measurements := self._service.measurements) is not None:
            measurements.count_answer(_measured_as(path), line.status, took_s)
        if is_logged and self._settings.log_requests:
            line.level = "error" if line.status >= 500 else "info"
            line.ms = int(took_s * 1_000_000) / 1000
            self._log.add(line)
        return HttpAnswer(line.status, headers, body, close)

    def _note_refusal(self, refused: errors.ServiceError) -> list[Header]:
        """Note a refusal where the server counts or logs it. Returns the headers that only its answer has."""
        if isinstance(refused, errors.DatabaseUnavailable):
            self._database.failed(refused.message, self._service.transactions)
            self._readiness.forget()
        if isinstance(refused, RateLimited) and self._service.measurements is not None:
            self._service.measurements.count_rate_limited(refused.limit)
        if isinstance(refused, RateLimited | errors.Unavailable):
            return [(b"retry-after", b"%d" % refused.retry_after_s)]
        return []

    def _count_failure(self, request: HttpRequest, refused: errors.ServiceError) -> bool:
        """Count a refused request whose sender is not known. Returns whether to log it."""
        if refused.http_status >= 500:  # the server's failure
            return True
        return self._failures.count(request.client.limit_key, time.monotonic())

    def respond(self, path: str, request: HttpRequest, line: RequestLine) -> Awaitable[bytes | HttpAnswer]:
        """See `Respond`."""
        if request.refusal is not None:
            raise request.refusal
        operation = CATALOGUE.at(path) if request.method == "POST" else None
        if operation is None:
            return self._answer_other_path(path, request, line)
        self._failures.check(request.client.limit_key, time.monotonic())
        if isinstance(operation, QueryOperation):
            return self._api.answer_query(operation, request, line)
        assert isinstance(operation, ActivityOperation)
        return self._api.answer_submission(operation, request, line)

    async def _answer_preflight(self, path: str, request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(204, [JSON, *self._cors_at(path).preflight(dict(request.headers).get(b"origin"))], b"")

    async def _answer_auth_proxy(self, path: str, request: HttpRequest, line: RequestLine) -> bytes:
        self._failures.check(request.client.limit_key, time.monotonic())
        return answer(await self._api.auth_proxy.answer(path, request, line), Form.SDK)

    def _answer_other_path(
        self, path: str, request: HttpRequest, line: RequestLine
    ) -> Awaitable[bytes | HttpAnswer]:
        """The answer to a request that calls no operation."""
        if self._console is not None and is_console(path):
            return self._console.answer(path, request)
        if request.method == "OPTIONS" and not is_control(path):
            return self._answer_preflight(path, request)
        if path.startswith(AUTH_PROXY):
            return self._answer_auth_proxy(path, request, line)
        return self._answer_page(path, request)

    async def _answer_page(self, path: str, request: HttpRequest) -> bytes | HttpAnswer:
        if CATALOGUE.at(path) is not None:
            raise errors.MethodNotAllowed(f"{request.method} {path}: this path accepts POST only")
        if path in PATHS:
            raise errors.NotImplementedHere(not_implemented(path.rpartition("/")[2]))
        if path == "/" and self._console is not None and _wants_page(request):
            return HttpAnswer(303, [(b"location", CONSOLE_PATH.encode()), (b"vary", b"Accept")], b"")
        if path in (LOGIN_PATH, LINK_PATH) and self._console_links is not None:
            if request.method != "POST":
                raise errors.MethodNotAllowed(f"{request.method} {path}: this path accepts POST only")
            return self._console_links.answer(path, request, self._service.clock.now_ms())
        kept = self._service.kept_messages if path == OUTBOX.path else None
        page = self._pages.get(path)
        if page is None and kept is None:
            raise errors.NotFound(f"no such path: {path[:200]}{self._suggestion(path, request)}")
        if request.method not in ("GET", "HEAD"):
            raise errors.MethodNotAllowed(f"{request.method} {path}: this path accepts GET only")
        if kept is not None:
            return await outbox_answer(kept, request)
        assert page is not None
        return await page()

    def _suggestion(self, path: str, request: HttpRequest) -> str:
        """The end of the error about an unknown path: a path that the caller may have meant. The search costs as
        much as a stamp, so it counts as a failed request."""
        if not path.startswith(_PUBLIC):
            return ""
        self._failures.check(request.client.limit_key, time.monotonic())
        return probably_meant(path.removeprefix(_PUBLIC), _SHORT_PATHS)

    def _headers_at(self, path: str, request: HttpRequest) -> Sequence[Header]:
        """The headers of every answer at a path, also of refusals. No page of another origin may read the console's
        files or the developer's controls."""
        if not path.startswith(_PUBLIC):
            if is_console(path):
                return SECURITY_HEADERS
            if is_control(path):
                return _NOT_STORED
        origin = dict(request.headers).get(b"origin")
        return () if origin is None else self._cors_at(path).headers(origin)

    def _cors_at(self, path: str) -> CorsPolicy:
        # The configuration of an authentication proxy names its origins, but a preflight does not name the
        # configuration.
        return CorsPolicy.any_origin() if path.startswith(AUTH_PROXY) else self._cors


def _wants_page(request: HttpRequest) -> bool:
    """Whether a browser asks for a page to show. Clients of the API ask for JSON, or for anything."""
    return request.method in ("GET", "HEAD") and b"text/html" in dict(request.headers).get(b"accept", b"")


def _measured_as(path: str) -> str:
    """The name of a request in the metrics. Callers cannot add names by sending other paths."""
    operation = CATALOGUE.at(path)
    if operation is not None:
        return operation.name
    if path.startswith(AUTH_PROXY):
        return "auth_proxy"
    if is_console(path):
        return "console"
    return path if path in _PROBES else "other"
