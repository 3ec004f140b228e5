"""`DevControls`: what a developer may do to a development server (`keystead dev`): its clock, faults, resets.

They are at /dev/v1 of the server, for programs on its machine. Not here: calls of the API itself (`client`).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from keystead.api.enums import ActivityStatus
from keystead.client.answers import refusal
from keystead.client.certificates import certificates_for
from keystead.client.credentials import Credentials
from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.client.dev_webhooks import DevWebhooks
from keystead.client.errors import ConnectionFailed, UsageError

T = TypeVar("T")

_TIMEOUT_S = 10.0
_HEADERS = {"content-type": "application/json", "x-keystead-dev": "1"}


class _ClockState(msgspec.Struct, frozen=True, rename="camel"):
    now_ms: int
    frozen: bool


class _Organization(msgspec.Struct, frozen=True, rename="camel"):
    organization_id: str
    user_id: str
    api_public_key: str
    api_private_key: str


class StampSeen(msgspec.Struct, frozen=True, rename="camel"):
    """A stamp header taken apart. `problem`: why it cannot be read. `public_key`: lower-case hex."""

    header: str
    problem: str = ""
    scheme: str = ""
    public_key: str = ""
    signature: str = ""
    credential_id: str = ""
    client_data: str = ""


class RequestSeen(msgspec.Struct, frozen=True, rename="camel"):
    """A request that the server got. `at_ms`: milliseconds since the epoch. `operation`: for example create_wallet.

    `status` 0: the connection was cut. `reason`: the message of a refusal. `fault`: it failed because a developer
    had ordered that. `body` and `answer` are text, cut after 16 KiB. `form`: `sdk` or `documented`; "" for a
    refusal.
    """

    number: int
    at_ms: int
    ms: float
    request_id: str
    method: str
    path: str
    operation: str
    organization_id: str
    stamps: tuple[StampSeen, ...]
    body: str
    status: int
    reason: str
    answer: str
    fault: bool
    form: str = ""


class _Requests(msgspec.Struct, frozen=True):
    requests: tuple[RequestSeen, ...]


class _Snapshots(msgspec.Struct, frozen=True):
    snapshots: tuple[str, ...]


class DevClock:
    """The clock of the whole server."""

    def __init__(self, controls: DevControls) -> None:
        self._controls = controls

    def now(self) -> datetime.datetime:
        """The server's time, in UTC."""
        return _moment(self._controls.get("clock", _ClockState).now_ms)

    @property
    def is_frozen(self) -> bool:
        return self._controls.get("clock", _ClockState).frozen

    def set(self, moment: datetime.datetime) -> datetime.datetime:
        """Set the time. The clock continues from there unless it is frozen. Raises UsageError for a time without a
        zone."""
        return self._change(nowMs=_epoch_ms(moment))

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime.datetime:
        """Move the clock forwards by the sum of the arguments, or backwards if it is negative."""
        distance = datetime.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self._change(advanceMs=distance // datetime.timedelta(milliseconds=1))

    def freeze(self, moment: datetime.datetime | None = None) -> datetime.datetime:
        """Stop the clock, at its present time or at `moment`. Raises UsageError for a time without a zone."""
        if moment is None:
            return self._change(frozen=True)
        return self._change(frozen=True, nowMs=_epoch_ms(moment))

    def resume(self) -> datetime.datetime:
        """Start a frozen clock again, from the time that it shows."""
        return self._change(frozen=False)

    def reset(self) -> datetime.datetime:
        """Set the clock to the system's time."""
        return self._change(system=True, systemTimeAccepted=True)

    def accept_system_time(self, accepted: bool) -> datetime.datetime:
        """Choose whether a submission's `timestampMs` may be near the system's time while the clock shows another.

        At the start it may, because published clients use the system's time."""
        return self._change(systemTimeAccepted=accepted)

    def _change(self, **change: int | bool) -> datetime.datetime:
        return _moment(self._controls.post("clock", change, _ClockState).now_ms)


class DevFaults:
    """Makes requests fail on purpose: the next `count` requests whose path contains `path`."""

    def __init__(self, controls: DevControls) -> None:
        self._controls = controls

    def fail(self, status: int = 503, *, count: int = 1, path: str = "") -> None:
        """Answer with this HTTP status, 400 to 599, instead of executing the request."""
        self._add(status=status, count=count, path=path)

    def cut(self, *, count: int = 1, path: str = "") -> None:
        """Close the connection without an answer."""
        self._add(cut=True, count=count, path=path)

    def slow(self, seconds: float, *, count: int = 1, path: str = "") -> None:
        """Answer as usual, after a delay of `seconds`."""
        self._add(delayMs=int(seconds * 1000), count=count, path=path)

    def clear(self) -> None:
        """Remove all faults."""
        self._add(clear=True)

    def _add(self, **fault: Any) -> None:
        self._controls.post("faults", fault, msgspec.Raw)


class DevControls:
    """The developer's controls of a server. `base_url`: for example http://localhost:8080. `ca_file`: the authority
    of a server with `--tls` (`caFile` of its credentials).

    Every method raises ApiError, with the reason, if the server refuses, and ConnectionFailed if it does not
    answer. Several threads may use it. Close it, or use it as a context manager.
    """

    def __init__(self, base_url: str, *, ca_file: str | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self._ca_file = ca_file
        # A proxy of the environment cannot reach this machine.
        self._http = httpx.Client(
            base_url=f"{self.base_url}/dev/v1/",
            timeout=_TIMEOUT_S,
            trust_env=False,
            verify=certificates_for(self.base_url, is_direct=True, ca_file=ca_file),
        )
        self.clock = DevClock(self)
        self.faults = DevFaults(self)
        self.outbox = DevelopmentOutbox(self.base_url, self._http)
        self.webhooks = DevWebhooks(self.base_url, self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def new_organization(self, name: str = "Test", *, wallet: bool = False) -> Credentials:
        """Make a new organization, with a root user and an API key.

        wallet: also make an authentication proxy, and the wallet "Development", which has the public test mnemonic
        of local chains.
        """
        made = self.post("organizations", {"name": name, "wallet": wallet}, _Organization)
        return Credentials(
            base_url=self.base_url,
            organization_id=made.organization_id,
            user_id=made.user_id,
            api_public_key=made.api_public_key,
            api_private_key=made.api_private_key,
            ca_file=self._ca_file,
        )

    def next_outcome(self, activity_type: str, status: ActivityStatus, *, count: int = 1) -> None:
        """The next `count` activities of a type end in this status, regardless of policies and votes.

        activity_type: any version of it, for example ACTIVITY_TYPE_CREATE_WALLET."""
        self.post("outcomes", {"type": activity_type, "status": status, "count": count}, msgspec.Raw)

    def clear_outcomes(self) -> None:
        """Remove the statuses chosen with `next_outcome`."""
        self.post("outcomes", {"clear": True}, msgspec.Raw)

    def limit_rate(self, per_second: int) -> None:
        """Answer at most this number of requests per second, of all callers together; refuse the others with 429.

        0: no limit."""
        self.post("rate-limit", {"perSecond": per_second}, msgspec.Raw)

    def requests(self) -> list[RequestSeen]:
        """The last requests, at most 200, oldest first."""
        return list(self.get("requests", _Requests).requests)

    def forget_requests(self) -> None:
        """Empty the list of `requests`."""
        self.post("requests", {"clear": True}, msgspec.Raw)

    def snapshot(self, name: str) -> None:
        """Take a snapshot of everything that is stored, and keep it under this name."""
        self.post("snapshots", {"name": name}, msgspec.Raw)

    def snapshots(self) -> list[str]:
        """The names of the snapshots."""
        return list(self.get("snapshots", _Snapshots).snapshots)

    def restore(self, name: str) -> None:
        """Restore everything that was stored when the snapshot was taken."""
        self.post("restore", {"name": name}, msgspec.Raw)

    def reset(self, organization_id: str | None = None) -> None:
        """Restore everything that was stored when the server started, or only one organization with its
        sub-organizations."""
        self.post("reset", {} if organization_id is None else {"organizationId": organization_id}, msgspec.Raw)

    def get(self, control: str, kind: type[T]) -> T:
        """The answer to GET /dev/v1/CONTROL."""
        return msgspec.json.decode(self._answer("GET", control), type=kind)

    def post(self, control: str, change: Mapping[str, Any], kind: type[T]) -> T:
        """The answer to POST /dev/v1/CONTROL with this change."""
        return msgspec.json.decode(self._answer("POST", control, msgspec.json.encode(change)), type=kind)

    def _answer(self, method: str, control: str, body: bytes = b"") -> bytes:
        try:
            answer = self._http.request(method, control, content=body, headers=_HEADERS)
        except httpx.TransportError as failed:
            raise ConnectionFailed(f"{self.base_url}: {failed}: is keystead dev running?") from failed
        error = refusal(f"/dev/v1/{control}", answer.status_code, answer.headers, answer.content)
        if error is not None:
            raise error
        return answer.content


def _epoch_ms(moment: datetime.datetime) -> int:
    if moment.tzinfo is None:
        raise UsageError("the time has no zone: give one, for example datetime(2030, 1, 1, tzinfo=UTC)")
    return int(moment.timestamp() * 1000)


def _moment(epoch_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(epoch_ms / 1000, datetime.UTC)
