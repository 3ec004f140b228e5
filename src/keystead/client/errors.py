"""The errors of a client, as one hierarchy under `KeysteadError`.

Not here: which answers are refusals (`answers`), which requests are repeated (`retries`). No message and no
attribute ever holds a private key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystead.api.records import Activity


class KeysteadError(Exception):
    """The base of all errors of a client."""


class UsageError(KeysteadError, ValueError):
    """An argument or a setting cannot be used, such as a key or a path. Nothing was sent."""


class ConnectionFailed(KeysteadError):
    """No answer arrived: there was no connection, or it broke. The server may still have received a submission."""


class RequestTimedOut(KeysteadError):
    """No answer arrived in time. The server may still have received a submission."""


class ProtocolError(KeysteadError):
    """The answer is not one of this API: a redirect, not JSON, a field missing or of another type.

    The server may still have executed a submission.
    """


class ApiError(KeysteadError):
    """The server refused the request, and nothing was changed.

    http_status: the HTTP status. code: the gRPC code (3 invalid argument, 7 permission denied, …), or 2 (unknown)
    if the refusal has none, for example a proxy's. machine_code: a word to branch on, or "". message: the server's
    text. details: further objects of the refusal, as JSON. request_id: the request's id in the server's log.
    retry_after_s: seconds to wait before the next request. The last two are None if the server did not send them.
    """

    def __init__(
        self,
        message: str,
        *,
        http_status: int,
        code: int = 2,
        machine_code: str = "",
        details: Sequence[dict[str, Any]] = (),
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        codes = [f"HTTP {http_status}", f"code {code}"]
        if machine_code:
            codes.append(machine_code)
        if request_id:
            codes.append(f"request {request_id}")
        super().__init__(f"{message} ({', '.join(codes)})")
        self.message = message
        self.http_status = http_status
        self.code = code
        self.machine_code = machine_code
        self.details = tuple(details)
        self.request_id = request_id
        self.retry_after_s = retry_after_s


class InvalidRequest(ApiError):
    """The request is malformed, or its effect would break a rule of the organization.

    HTTP 400, and every other 4xx that has no class of its own.
    """


class Unauthenticated(ApiError):
    """The stamp is not valid, or its key is not known in that organization; HTTP 401."""


class PermissionDenied(ApiError):
    """The stamp is valid, but its user may not do this; HTTP 403."""


class NotFound(ApiError):
    """A record, or a path, does not exist; HTTP 404."""


class AlreadyExists(ApiError):
    """The record that the request would make exists already; HTTP 409."""


class Conflict(ApiError):
    """Others changed the organization at the same time; HTTP 409. Sending the request again is safe."""


class LimitReached(ApiError):
    """A limit on resources or on the rate of requests is reached; HTTP 429."""


class NotImplementedByServer(ApiError):
    """This server does not answer that operation, or that variant of it; HTTP 501."""


class ServerError(ApiError):
    """The server failed; HTTP 500 and above."""


class Unavailable(ServerError):
    """The server, or a part it depends on, does not answer now; HTTP 502, 503, 504. Sending the request
    again is safe."""


class ActivityFailed(KeysteadError):
    """The activity ended without a result: it failed, or somebody rejected it. `activity` is its record."""

    def __init__(self, activity: Activity) -> None:
        reason = f": {activity.failure.message}" if activity.failure is not None else ""
        super().__init__(f"activity {activity.id} ({activity.type}) is {activity.status.value}{reason}")
        self.activity = activity


class ActivityNotCompleted(KeysteadError):
    """The program read a result that does not exist yet: the activity may wait for approval. `activity` is its
    record as last read."""

    def __init__(self, activity: Activity) -> None:
        super().__init__(
            f"activity {activity.id} ({activity.type}) has no result yet, it is {activity.status.value}; "
            "look at `needs_approval` first, and call `refresh` later"
        )
        self.activity = activity
