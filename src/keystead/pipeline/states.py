"""The statuses of an activity and every transition between them. Nothing else changes a status.

Here: the state machine. Not here: what causes its events (`execution`, `vote`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest


class Event(Enum):
    """What happened to an activity at its submission, and at each vote."""

    EXECUTED = "allowed, and the execution succeeded"
    FAILED = "allowed, and the execution was refused"
    LACKS_CONSENSUS = "more approvals are needed"
    LACKS_AUTHENTICATORS = "a voter has not proved every method that an MFA policy asks for"
    REJECTED = "a user who may vote rejected it"


_OPEN = (
    ActivityStatus.CREATED,
    ActivityStatus.PENDING,
    ActivityStatus.CONSENSUS_NEEDED,
    ActivityStatus.AUTHENTICATORS_NEEDED,
)
_NEXT: Mapping[Event, ActivityStatus] = {
    Event.EXECUTED: ActivityStatus.COMPLETED,
    Event.FAILED: ActivityStatus.FAILED,
    Event.LACKS_CONSENSUS: ActivityStatus.CONSENSUS_NEEDED,
    Event.LACKS_AUTHENTICATORS: ActivityStatus.AUTHENTICATORS_NEEDED,
    Event.REJECTED: ActivityStatus.REJECTED,
}

TRANSITIONS: Mapping[tuple[ActivityStatus, Event], ActivityStatus] = {
    (status, event): next_
    for status in _OPEN
    for event, next_ in _NEXT.items()
    # A submission does not reject itself. If its execution fails at once, it is refused and becomes no activity.
    if not (status is ActivityStatus.CREATED and event in (Event.REJECTED, Event.FAILED))
}
"""The next status by status and event. CREATED stands for a submission that is being decided."""


def next_status(status: ActivityStatus, event: Event) -> ActivityStatus:
    """The status after the event. Raises InvalidRequest for a vote on an activity in a final status."""
    next_ = TRANSITIONS.get((status, event))
    if next_ is None:
        raise InvalidRequest(f"the activity is already in status {status}; votes on it are closed")
    return next_


def chosen_by_developer(status: ActivityStatus, chosen: ActivityStatus) -> ActivityStatus:
    """The status of a new activity that a developer chose. Only a development server has such choices."""
    assert status is ActivityStatus.CREATED, status
    return chosen
