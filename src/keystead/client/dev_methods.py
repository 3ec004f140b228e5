"""The methods of `DevControls`. Made by `make generate` from keystead.api.developer_controls. Do not edit."""

from __future__ import annotations

import datetime
from typing import Protocol, TypeVar

from keystead.api.developer_controls import (
    CLOCK,
    FAULTS,
    OUTCOMES,
    RATE_LIMIT,
    REQUESTS,
    RESET,
    RESTORE,
    SNAPSHOTS,
    ClockUpdate,
    Control,
    ControlRequest,
    FaultUpdate,
    OutcomeUpdate,
    RateLimitUpdate,
    RequestSeen,
    RequestsUpdate,
    ResetUpdate,
    RestoreUpdate,
    SnapshotUpdate,
)
from keystead.api.enums import ActivityStatus
from keystead.client.errors import UsageError

T = TypeVar("T")


class _Requests(Protocol):
    def read(self, control: Control[T]) -> T: ...

    def change(self, control: Control[T], change: ControlRequest) -> T: ...


class DevClock:
    """The clock of the whole server. Each change returns the time that the clock shows then."""

    def __init__(self, controls: _Requests) -> None:
        self._controls = controls

    def now(self) -> datetime.datetime:
        """The server's time."""
        return _moment(self._controls.read(CLOCK).now_ms)

    @property
    def is_frozen(self) -> bool:
        """Whether the clock is stopped."""
        return self._controls.read(CLOCK).frozen

    def set(self, moment: datetime.datetime) -> datetime.datetime:
        """Set the time. The clock continues from there unless it is frozen."""
        return _moment(self._controls.change(CLOCK, ClockUpdate(now_ms=_ms(moment))).now_ms)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime.datetime:
        """Move the clock forwards by the sum, or backwards if it is negative."""
        change = ClockUpdate(
            advance_ms=datetime.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            // datetime.timedelta(milliseconds=1)
        )
        return _moment(self._controls.change(CLOCK, change).now_ms)

    def freeze(self, moment: datetime.datetime | None = None) -> datetime.datetime:
        """Stop the clock, at its present time or at `moment`."""
        change = ClockUpdate(frozen=True, now_ms=None if moment is None else _ms(moment))
        return _moment(self._controls.change(CLOCK, change).now_ms)

    def resume(self) -> datetime.datetime:
        """Start a frozen clock again, from the time that it shows."""
        return _moment(self._controls.change(CLOCK, ClockUpdate(frozen=False)).now_ms)

    def reset(self) -> datetime.datetime:
        """Set the clock to the system's time."""
        return _moment(self._controls.change(CLOCK, ClockUpdate(system=True, system_time_accepted=True)).now_ms)

    def accept_system_time(self, accepted: bool) -> datetime.datetime:
        """Choose whether a submission's `timestampMs` may be near the system's time while the clock shows another.
        At the start it may, because published clients use the system's time."""
        return _moment(self._controls.change(CLOCK, ClockUpdate(system_time_accepted=accepted)).now_ms)


class DevFaults:
    """Makes requests fail on purpose: the next `count` requests whose path contains `path`."""

    def __init__(self, controls: _Requests) -> None:
        self._controls = controls

    def fail(self, status: int = 503, *, count: int = 1, path: str = "") -> None:
        """Answer with this HTTP status, 400 to 599, instead of executing the request."""
        self._controls.change(FAULTS, FaultUpdate(status=status, count=count, path=path))

    def cut(self, *, count: int = 1, path: str = "") -> None:
        """Close the connection without an answer."""
        self._controls.change(FAULTS, FaultUpdate(cut=True, count=count, path=path))

    def slow(self, seconds: float, *, count: int = 1, path: str = "") -> None:
        """Answer as usual, after a delay."""
        change = FaultUpdate(delay_ms=int(seconds * 1000), count=count, path=path)
        self._controls.change(FAULTS, change)

    def clear(self) -> None:
        """Remove all faults."""
        self._controls.change(FAULTS, FaultUpdate(clear=True))


class DevMethods(_Requests):
    """The methods of the controls themselves."""

    def next_outcome(self, activity_type: str, status: ActivityStatus, *, count: int = 1) -> None:
        """The next `count` activities of a type end in this status, regardless of policies and votes. The type: any
        version of it, for example ACTIVITY_TYPE_CREATE_WALLET."""
        self.change(OUTCOMES, OutcomeUpdate(type=activity_type, status=status, count=count))

    def clear_outcomes(self) -> None:
        """Remove the statuses that were chosen and that no activity has got yet."""
        self.change(OUTCOMES, OutcomeUpdate(clear=True))

    def limit_rate(self, per_second: int) -> None:
        """Answer at most this number of requests per second, of all callers together; refuse the others with 429.
        0: no limit."""
        self.change(RATE_LIMIT, RateLimitUpdate(per_second=per_second))

    def requests(self) -> list[RequestSeen]:
        """The last requests, at most 200, oldest first."""
        return list(self.read(REQUESTS).requests)

    def forget_requests(self) -> None:
        """Empty the list of requests."""
        self.change(REQUESTS, RequestsUpdate(clear=True))

    def snapshot(self, name: str) -> None:
        """Take a snapshot of everything that is stored, and keep it under this name."""
        self.change(SNAPSHOTS, SnapshotUpdate(name=name))

    def snapshots(self) -> list[str]:
        """The names of the snapshots."""
        return list(self.read(SNAPSHOTS).snapshots)

    def restore(self, name: str) -> None:
        """Restore everything that was stored when the snapshot was taken."""
        self.change(RESTORE, RestoreUpdate(name=name))

    def reset(self, organization_id: str | None = None) -> None:
        """Restore everything that was stored when the server started, or only one organization with its
        sub-organizations."""
        self.change(RESET, ResetUpdate(organization_id=organization_id))


def _ms(moment: datetime.datetime) -> int:
    """Raises UsageError for a time without a zone."""
    if moment.tzinfo is None:
        raise UsageError("the time has no zone: give one, for example datetime(2030, 1, 1, tzinfo=UTC)")
    return int(moment.timestamp() * 1000)


def _moment(epoch_ms: int) -> datetime.datetime:
    """In UTC."""
    return datetime.datetime.fromtimestamp(epoch_ms / 1000, datetime.UTC)
