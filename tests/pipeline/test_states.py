"""The state machine of activities: every status with every event, and which statuses are final."""

from __future__ import annotations

import pytest

from keystead.api.enums import FINAL_STATUSES, ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.pipeline.activity import Event, next_status

WAITING = ("PENDING", "CONSENSUS_NEEDED", "AUTHENTICATORS_NEEDED")
FINAL = ("COMPLETED", "FAILED", "REJECTED")
LEADS_TO = {
    "EXECUTED": "COMPLETED",
    "FAILED": "FAILED",
    "LACKS_CONSENSUS": "CONSENSUS_NEEDED",
    "LACKS_AUTHENTICATORS": "AUTHENTICATORS_NEEDED",
    "REJECTED": "REJECTED",
}
TABLE: dict[tuple[str, str], str | None] = {
    **{(status, event): target for status in ("CREATED", *WAITING) for event, target in LEADS_TO.items()},
    **{(status, event): None for status in FINAL for event in LEADS_TO},
    # A submission that fails at once is refused and leaves no activity; it is not a vote against itself.
    ("CREATED", "FAILED"): None,
    ("CREATED", "REJECTED"): None,
}


def test_the_table_is_complete() -> None:
    assert set(TABLE) == {(status.name, event.name) for status in ActivityStatus for event in Event}


@pytest.mark.parametrize(("status", "event", "target"), [(*row, target) for row, target in TABLE.items()])
def test_transition(status: str, event: str, target: str | None) -> None:
    if target is None:
        with pytest.raises(InvalidRequest, match=f"already in status ACTIVITY_STATUS_{status}"):
            next_status(ActivityStatus[status], Event[event])
    else:
        assert next_status(ActivityStatus[status], Event[event]) is ActivityStatus[target]


@pytest.mark.parametrize("status", ActivityStatus)
def test_final(status: ActivityStatus) -> None:
    assert (status in FINAL_STATUSES) is (status.name in FINAL)
