"""The developer's controls of a development server (/dev/v1), declared once: their requests, answers and methods.

The server answers them (`server.development`). The Python client reads the types, and its methods and those of
packages/js are made from METHODS by `make generate`. Not here: what a control does, HTTP.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import ActivityStatus
from keystead.api.identifiers import Uuid

PREFIX = "/dev/v1"

YEAR_10000_MS = 253_402_300_800_000
TimeMs = Annotated[int, Meta(ge=0, lt=YEAR_10000_MS)]
DurationMs = Annotated[int, Meta(gt=-YEAR_10000_MS, lt=YEAR_10000_MS)]
SnapshotName = Annotated[str, Meta(min_length=1, max_length=64)]


class ControlRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The body of a POST."""


class ControlAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of an answer."""


class ClockState(ControlAnswer, frozen=True):
    """`now_ms`, `system_ms`: milliseconds since the epoch. `system_time_accepted`: see ClockUpdate."""

    now_ms: int
    system_ms: int
    frozen: bool
    system_time_accepted: bool


class ClockUpdate(ControlRequest, frozen=True):
    """The fields that are present are applied in this order.

    system: use the time of the system again; the clock runs. now_ms: set the clock to this time. advance_ms: add
    this number of milliseconds; a negative number moves the clock back. frozen: true stops the clock, false lets it
    run from its present time. system_time_accepted: whether a submission's timestampMs may also be near the time of
    the system, true at the start. Published clients use the time of the system.
    """

    system: bool = False
    now_ms: TimeMs | None = None
    advance_ms: DurationMs | None = None
    frozen: bool | None = None
    system_time_accepted: bool | None = None


class Fault(ControlAnswer, frozen=True):
    """`count`: how many more requests have this fault. The other members are those of FaultUpdate."""

    count: int
    path: str
    status: int | None
    delay_ms: int
    cut: bool


class Faults(ControlAnswer, frozen=True):
    """In the order in which they are used: a request gets the first fault whose `path` is part of its path."""

    faults: tuple[Fault, ...]


class FaultUpdate(ControlRequest, frozen=True):
    """Adds a fault for the next `count` requests whose path contains `path`, such as create_wallet; "" for any
    path.

    status: answer with this HTTP status in place of the result. cut: close the connection without an answer.
    Without these two, the request is answered as usual. delay_ms: milliseconds to wait before. clear: first remove
    all faults.
    """

    count: Annotated[int, Meta(ge=0, le=1_000_000)] = 1
    path: Annotated[str, Meta(max_length=200)] = ""
    status: Annotated[int, Meta(ge=400, le=599)] | None = None
    delay_ms: Annotated[int, Meta(ge=0, le=600_000)] = 0
    cut: bool = False
    clear: bool = False


class RateLimitState(ControlAnswer, frozen=True):
    """`per_second`: 0 for no limit."""

    per_second: int


class RateLimitUpdate(ControlRequest, frozen=True):
    """per_second: the requests per second on average, and the most that may come at once. 0: no limit."""

    per_second: Annotated[int, Meta(ge=0, le=1_000_000)]


class ChosenOutcome(ControlAnswer, frozen=True):
    """`count`: how many more activities of this type get this status."""

    type: str
    status: ActivityStatus
    count: int


class Outcomes(ControlAnswer, frozen=True):
    """In the order in which they are used."""

    outcomes: tuple[ChosenOutcome, ...]


class OutcomeUpdate(ControlRequest, frozen=True):
    """type: an activity type in any of its versions, such as ACTIVITY_TYPE_CREATE_WALLET. clear: first remove all
    outcomes; then type and status may be absent."""

    type: str = ""
    status: ActivityStatus | None = None
    count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    clear: bool = False


class NewOrganizationRequest(ControlRequest, frozen=True):
    """name: the name of the new organization. wallet: whether it has the wallet "Development" (the public test
    mnemonic of local chains) and an authentication proxy, as the first organization has."""

    name: Label = "Test"
    wallet: bool = False


class MadeOrganization(ControlAnswer, frozen=True):
    """Keys are in hex. The public key is P-256, compressed."""

    organization_id: str
    user_id: str
    api_public_key: str
    api_private_key: str

    def __repr__(self) -> str:
        return f"MadeOrganization(organization_id={self.organization_id!r})"


class StampSeen(ControlAnswer, frozen=True, omit_defaults=True):
    """A stamp header. `header`: its name. `problem`: why it cannot be read; then the other members are absent.

    `public_key`: lower-case hex. `credential_id`, of a passkey: base64url. `client_data`, of a passkey: the JSON
    text that it signed.
    """

    header: str
    problem: str = ""
    scheme: str = ""
    public_key: str = ""
    signature: str = ""
    credential_id: str = ""
    client_data: str = ""


class RequestSeen(ControlAnswer, frozen=True):
    """A request that the server got. `at_ms`: milliseconds since the epoch, by its clock. `operation`: such as
    create_wallet; "" if the path has no operation. `reason`: the message of a refusal. `status` 0: the
    connection was cut. `fault`: a developer chose this answer. `body` and `answer` are text, cut after 16 KiB.
    `form`: `sdk` or `documented`; "" for a refusal."""

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


class RequestsAnswer(ControlAnswer, frozen=True):
    """Oldest first."""

    requests: tuple[RequestSeen, ...]


class RequestsUpdate(ControlRequest, frozen=True):
    """clear: forget the requests that came so far."""

    clear: bool


class SentMessage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A message as its recipient would have got it. `channel`: log for a message that only the log gets.
    `secret`: the code or the credential bundle in its text."""

    id: str
    channel: Literal["email", "sms", "log"]
    recipient: str
    text: str
    subject: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, channel={self.channel!r})"


class OutboxEntry(ControlAnswer, frozen=True):
    """`sent_at_ms`: when the message was written, in milliseconds since the epoch."""

    sent_at_ms: int
    message: SentMessage


class OutboxAnswer(ControlAnswer, frozen=True):
    """Oldest first."""

    messages: tuple[OutboxEntry, ...]


AttemptVerdict = Literal["accepted", "refused", "later", "defect"]


class SentWebhook(ControlAnswer, frozen=True):
    """An attempt to deliver an event. `sent_at_ms`: milliseconds since the epoch. `body`: the JSON that was sent.

    `organization_id`: of the endpoint. `verdict`: accepted, refused (a final answer), later (another attempt
    follows), or defect (this server failed). `status`: of the answer, 0 if there was none; then `reason` says why.
    """

    sent_at_ms: int
    endpoint_id: str
    organization_id: str
    url: str
    headers: dict[str, str]
    body: str
    verdict: AttemptVerdict
    status: int
    reason: str

    @property
    def activity(self) -> dict[str, Any]:
        """The activity in the body."""
        activity: dict[str, Any] = msgspec.json.decode(self.body)
        return activity


class SentWebhooks(ControlAnswer, frozen=True):
    """Oldest first."""

    webhooks: tuple[SentWebhook, ...]


class WebhooksUpdate(ControlRequest, frozen=True):
    """clear: forget the webhooks that were sent so far."""

    clear: bool


class SnapshotNames(ControlAnswer, frozen=True):
    """In the order in which they were taken."""

    snapshots: tuple[str, ...]


class SnapshotUpdate(ControlRequest, frozen=True):
    """name: the name of the new snapshot. It replaces a snapshot of that name."""

    name: SnapshotName


class RestoreUpdate(ControlRequest, frozen=True):
    """name: the snapshot to restore. It is kept."""

    name: SnapshotName


class ResetUpdate(ControlRequest, frozen=True):
    """organization_id: the organization to reset to its state at the start, with its sub-organizations. An
    organization that was made later is removed. Without it, everything is reset: the database, messages, requests
    seen, faults, outcomes, rate limit and clock."""

    organization_id: Uuid | None = None


A_co = TypeVar("A_co", covariant=True)


class Control(msgspec.Struct, Generic[A_co], frozen=True):
    """A path below /dev/v1. GET answers `answer` if `is_read`; POST takes `change`, if there is one, and answers
    `answer` too."""

    name: str
    answer: type[A_co]
    change: type[ControlRequest] | None = None
    is_read: bool = True

    @property
    def path(self) -> str:
        return f"{PREFIX}/{self.name}"


CLOCK = Control("clock", ClockState, ClockUpdate)
FAULTS = Control("faults", Faults, FaultUpdate)
OUTBOX = Control("outbox", OutboxAnswer)
OUTCOMES = Control("outcomes", Outcomes, OutcomeUpdate)
ORGANIZATIONS = Control("organizations", MadeOrganization, NewOrganizationRequest, is_read=False)
RATE_LIMIT = Control("rate-limit", RateLimitState, RateLimitUpdate)
REQUESTS = Control("requests", RequestsAnswer, RequestsUpdate)
RESET = Control("reset", SnapshotNames, ResetUpdate, is_read=False)
RESTORE = Control("restore", SnapshotNames, RestoreUpdate, is_read=False)
SNAPSHOTS = Control("snapshots", SnapshotNames, SnapshotUpdate)
WEBHOOKS = Control("webhooks", SentWebhooks, WebhooksUpdate)

CONTROLS = (
    CLOCK, FAULTS, OUTBOX, OUTCOMES, ORGANIZATIONS, RATE_LIMIT, REQUESTS, RESET, RESTORE, SNAPSHOTS, WEBHOOKS,
)  # fmt: skip


class Given(Enum):
    """How a caller gives or gets a value, where it is not given as the field's own type.

    MOMENT: a time. DISTANCE: days, hours, minutes and seconds, which are added. DELAY: seconds in Python,
    milliseconds in JavaScript.
    """

    AS_IS = "as it is"
    MOMENT = "moment"
    DISTANCE = "distance"
    DELAY = "delay"


class MethodParameter(msgspec.Struct, frozen=True):
    """A parameter of a method. `field`: of the control's change, `name` if None. `keyword`: given by name.

    `default`: the value of an absent parameter, of the type of the field; without one the parameter is required.
    """

    name: str
    field: str = ""
    given: Given = Given.AS_IS
    keyword: bool = False
    default: Any = msgspec.UNSET

    @property
    def change_field(self) -> str:
        return self.field or self.name


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a client. `group`: the object that has it, "" for the controls themselves.

    It reads the control, or changes it where there are `parameters` or `fixed` fields. `answer`: the member of the
    answer that it returns, None for nothing.
    """

    group: str = ""
    name: str
    doc: str
    control: Control[Any]
    parameters: tuple[MethodParameter, ...] = ()
    fixed: dict[str, Any] = {}
    answer: str | None = None
    returns: Given = Given.AS_IS


GROUPS = {
    "clock": "The clock of the whole server. Each change returns the time that the clock shows then.",
    "faults": "Makes requests fail on purpose: the next `count` requests whose path contains `path`.",
}


def _clock(name: str, doc: str, *parameters: MethodParameter, **fixed: Any) -> Method:
    return Method(
        group="clock",
        name=name,
        doc=doc,
        control=CLOCK,
        parameters=parameters,
        fixed=fixed,
        answer="now_ms",
        returns=Given.MOMENT,
    )


_WHICH = (MethodParameter("count", keyword=True, default=1), MethodParameter("path", keyword=True, default=""))


def _fault(name: str, doc: str, *parameters: MethodParameter, **fixed: Any) -> Method:
    return Method(group="faults", name=name, doc=doc, control=FAULTS, parameters=parameters, fixed=fixed)


METHODS = (
    _clock("now", "The server's time."),
    Method(group="clock", name="is_frozen", doc="Whether the clock is stopped.", control=CLOCK, answer="frozen"),
    _clock(
        "set",
        "Set the time. The clock continues from there unless it is frozen.",
        MethodParameter("moment", "now_ms", Given.MOMENT),
    ),
    _clock(
        "advance",
        "Move the clock forwards by the sum, or backwards if it is negative.",
        MethodParameter("distance", "advance_ms", Given.DISTANCE),
    ),
    _clock(
        "freeze",
        "Stop the clock, at its present time or at `moment`.",
        MethodParameter("moment", "now_ms", Given.MOMENT, default=None),
        frozen=True,
    ),
    _clock("resume", "Start a frozen clock again, from the time that it shows.", frozen=False),
    _clock("reset", "Set the clock to the system's time.", system=True, system_time_accepted=True),
    _clock(
        "accept_system_time",
        "Choose whether a submission's `timestampMs` may be near the system's time while the clock shows another. "
        "At the start it may, because published clients use the system's time.",
        MethodParameter("accepted", "system_time_accepted"),
    ),
    _fault(
        "fail",
        "Answer with this HTTP status, 400 to 599, instead of executing the request.",
        MethodParameter("status", default=503),
        *_WHICH,
    ),
    _fault("cut", "Close the connection without an answer.", *_WHICH, cut=True),
    _fault("slow", "Answer as usual, after a delay.", MethodParameter("delay", "delay_ms", Given.DELAY), *_WHICH),
    _fault("clear", "Remove all faults.", clear=True),
    Method(
        name="next_outcome",
        doc="The next `count` activities of a type end in this status, regardless of policies and votes. The type: "
        "any version of it, for example ACTIVITY_TYPE_CREATE_WALLET.",
        control=OUTCOMES,
        parameters=(
            MethodParameter("activity_type", "type"),
            MethodParameter("status"),
            MethodParameter("count", keyword=True, default=1),
        ),
    ),
    Method(
        name="clear_outcomes",
        doc="Remove the statuses that were chosen and that no activity has got yet.",
        control=OUTCOMES,
        fixed={"clear": True},
    ),
    Method(
        name="limit_rate",
        doc="Answer at most this number of requests per second, of all callers together; refuse the others with "
        "429. 0: no limit.",
        control=RATE_LIMIT,
        parameters=(MethodParameter("per_second"),),
    ),
    Method(
        name="requests", doc="The last requests, at most 200, oldest first.", control=REQUESTS, answer="requests"
    ),
    Method(name="forget_requests", doc="Empty the list of requests.", control=REQUESTS, fixed={"clear": True}),
    Method(
        name="snapshot",
        doc="Take a snapshot of everything that is stored, and keep it under this name.",
        control=SNAPSHOTS,
        parameters=(MethodParameter("name"),),
    ),
    Method(name="snapshots", doc="The names of the snapshots.", control=SNAPSHOTS, answer="snapshots"),
    Method(
        name="restore",
        doc="Restore everything that was stored when the snapshot was taken.",
        control=RESTORE,
        parameters=(MethodParameter("name"),),
    ),
    Method(
        name="reset",
        doc="Restore everything that was stored when the server started, or only one organization with its "
        "sub-organizations.",
        control=RESET,
        parameters=(MethodParameter("organization_id", default=None),),
    ),
)
