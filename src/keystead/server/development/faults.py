"""/dev/v1/faults: the next requests fail with a status code, are slow, or are cut off without an answer."""

from __future__ import annotations

from http import HTTPStatus

from msgspec.structs import replace

from keystead.api.developer_controls import FAULTS, Fault, Faults, FaultUpdate
from keystead.api.errors import InvalidRequest
from keystead.api.rendering import encode
from keystead.server.bounds import DEVELOPMENT_ENTRIES_MAX
from keystead.server.development.control import ServedControl

_GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 409: 10, 429: 8, 500: 13, 501: 12, 503: 14, 504: 4}
_UNKNOWN_GRPC_CODE = 2


_STATUSES = frozenset(HTTPStatus)


class ChosenFaults:
    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def clear(self) -> None:
        self.waiting.clear()

    def next_for(self, path: str) -> Fault | None:
        """The fault of a request at this path; it counts as used."""
        for index, fault in enumerate(self.waiting):
            if fault.path in path:
                remaining = replace(fault, count=fault.count - 1)
                self.waiting[index : index + 1] = [remaining] if remaining.count else []
                return fault
        return None

    def state(self) -> Faults:
        return Faults(faults=tuple(self.waiting))

    async def change(self, change: FaultUpdate) -> Faults:
        """Add a fault. Raises InvalidRequest for a change without effect, for both `status` and `cut`, for a status
        that HTTP does not have, and for too many faults."""
        if change.cut and change.status is not None:
            raise InvalidRequest(
                "fields `status` and `cut`: send only one of them; a request that is cut has no status"
            )
        if change.status is not None and change.status not in _STATUSES:
            raise InvalidRequest(f"field `status`: HTTP has no status {change.status}")
        has_fault = change.cut or change.status is not None or change.delay_ms > 0
        if not has_fault and not change.clear:
            raise InvalidRequest("a fault has at least one of the fields `status`, `delayMs` and `cut`")
        if len(self.waiting) >= DEVELOPMENT_ENTRIES_MAX and not change.clear:
            raise InvalidRequest(f"{DEVELOPMENT_ENTRIES_MAX} faults wait already; clear them first")
        if change.clear:
            self.clear()
        if has_fault and change.count:
            self.waiting.append(
                Fault(
                    count=change.count,
                    path=change.path,
                    status=change.status,
                    delay_ms=change.delay_ms,
                    cut=change.cut,
                )
            )
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=FAULTS, read=self.state, change=self.change)


def fault_message(status: int) -> str:
    return f"a developer chose that this request fails with {status} (/dev/v1/faults)"


def fault_body(status: int) -> bytes:
    """An error in the form of every other error."""
    return encode(
        {
            "code": _GRPC_CODES.get(status, _UNKNOWN_GRPC_CODE),
            "message": fault_message(status),
            "details": [],
        }
    )
