"""Every error that a caller may get, and its codes on the wire.

Here: one hierarchy; each class knows its HTTP status, its gRPC code and its machine-readable code.
Not here: when to refuse (the packages above), and how an error becomes bytes (`rendering`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class ServiceError(Exception):
    """A refusal with a message for the caller: what is wrong, in which field, and what to send instead.

    The message never contains a secret. `machine_code` is the public API's turnkeyErrorCode, or "". `details`
    replaces the standard detail object if the public API documents another shape.
    """

    http_status: ClassVar[int] = 500
    grpc_code: ClassVar[int] = 13
    default_machine_code: ClassVar[str] = "INTERNAL"

    sender_id: str = ""
    """The user whose credential stamped the refused request, if the credential is known and may not be used."""

    def __init__(
        self,
        message: str,
        *,
        machine_code: str | None = None,
        details: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.machine_code = self.default_machine_code if machine_code is None else machine_code
        self.details = details

    @property
    def is_temporary(self) -> bool:
        """Whether a later attempt may succeed, because the refusal does not depend on what is asked for."""
        return self.http_status >= 500


class InvalidRequest(ServiceError):
    """The request is malformed, or what it asks for breaks a rule of the organization."""

    http_status = 400
    grpc_code = 3
    default_machine_code = "REQUEST_INVALID"


class Unauthenticated(ServiceError):
    """There is no valid stamp, or its key is not known in the organization that the request names."""

    http_status = 401
    grpc_code = 16
    default_machine_code = "SIGNATURE_INVALID"


class PermissionDenied(ServiceError):
    """The stamp is valid, but its user may not do this."""

    http_status = 403
    grpc_code = 7
    default_machine_code = "REQUEST_NOT_AUTHORIZED"


class Denied(PermissionDenied):
    """The rules of the organization deny an activity. `activity_id`: the id under which its evaluation
    is stored."""

    default_machine_code = ""

    def __init__(
        self, message: str, *, activity_id: str = "", details: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        super().__init__(message, details=details)
        self.activity_id = activity_id


class NotFound(ServiceError):
    """The path, the organization or a record that the request names does not exist."""

    http_status = 404
    grpc_code = 5
    default_machine_code = ""


class MethodNotAllowed(ServiceError):
    """The path exists, and does not accept this HTTP method."""

    http_status = 405
    grpc_code = 12
    default_machine_code = ""


class RequestTimeout(ServiceError):
    """The body did not arrive in time."""

    http_status = 408
    grpc_code = 4
    default_machine_code = ""


class AlreadyExists(ServiceError):
    """A record with the same unique value exists already."""

    http_status = 409
    grpc_code = 6
    default_machine_code = ""


class Conflict(ServiceError):
    """The organization changed too often while this change was decided. Sending the request again is safe."""

    http_status = 409
    grpc_code = 10
    default_machine_code = ""


class TooLarge(ServiceError):
    """The body is longer than the server accepts."""

    http_status = 413
    grpc_code = 11
    default_machine_code = "REQUEST_INVALID"


class LimitReached(ServiceError):
    """The request exceeds a limit on the number of records, or a rate limit."""

    http_status = 429
    grpc_code = 8
    default_machine_code = ""


class HeadersTooLarge(ServiceError):
    """The headers are longer than the server accepts."""

    http_status = 431
    grpc_code = 11
    default_machine_code = "REQUEST_INVALID"


class NotImplementedHere(ServiceError):
    """A path or variant of the public schema that this version does not answer."""

    http_status = 501
    grpc_code = 12
    default_machine_code = ""

    @property
    def is_temporary(self) -> bool:
        return False


class Unavailable(ServiceError):
    """A part of the service does not answer now. Nothing was changed; sending the request again is safe, after
    `retry_after_s` whole seconds."""

    http_status = 503
    grpc_code = 14
    default_machine_code = ""
    retry_after_s: ClassVar[int] = 1


class DatabaseUnavailable(Unavailable):
    """The database does not answer now, or a statement failed."""


class Internal(ServiceError):
    """A defect of the server. The message names the request and not the cause."""
