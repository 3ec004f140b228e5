"""/dev/v1/outcomes: the status in which the next activities of a type end, whatever is decided about them.

For COMPLETED the activity is executed without anybody's approval. For every other status it is put on record
without execution; where the status is not final, an approval executes it later. Not here: how (`pipeline.submit`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Annotated

from msgspec import Meta

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.operations import CATALOGUE
from keystead.pipeline.activity import ActivityOperation
from keystead.server.development.control import PREVIOUS_MAX, Control, ControlAnswer, ControlRequest


class ChosenOutcome(ControlAnswer, frozen=True):
    """`count`: how many more activities of this type end so."""

    type: str
    status: ActivityStatus
    count: int


class Outcomes(ControlAnswer, frozen=True):
    """In the order in which they are used."""

    outcomes: tuple[ChosenOutcome, ...]


class OutcomeChange(ControlRequest, frozen=True):
    """type: an activity type in any of its versions, as in ACTIVITY_TYPE_CREATE_WALLET. clear: remove all; then
    neither type nor status is needed."""

    type: str = ""
    status: ActivityStatus | None = None
    count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    clear: bool = False


class ChosenOutcomes:
    def __init__(self) -> None:
        self._waiting: list[ChosenOutcome] = []
        self._given: OrderedDict[str, ActivityStatus] = OrderedDict()

    def clear(self) -> None:
        """Remove the outcomes that no activity has yet."""
        self._waiting.clear()

    def reset(self) -> None:
        """Forget everything. The activities whose bytes have a status are gone, so equal bytes are new ones."""
        self._waiting.clear()
        self._given.clear()

    def status_of(self, activity_type: str, fingerprint: str) -> ActivityStatus | None:
        """`pipeline.environment.ChosenStatus`: a submission that is decided again keeps its status."""
        known = self._given.get(fingerprint)
        if known is not None:
            return known
        kind = activity_kind(activity_type)
        for at, one in enumerate(self._waiting):
            if activity_kind(one.type) == kind:
                left = ChosenOutcome(type=one.type, status=one.status, count=one.count - 1)
                self._waiting[at : at + 1] = [left] if left.count else []
                self._given[fingerprint] = one.status
                if len(self._given) > PREVIOUS_MAX:
                    self._given.popitem(last=False)
                return one.status
        return None

    def state(self) -> Outcomes:
        return Outcomes(outcomes=tuple(self._waiting))

    async def change(self, change: OutcomeChange) -> Outcomes:
        """Raises InvalidRequest for a type that no submission makes, and for too many."""
        if change.clear:
            self.clear()
        if change.status is not None:
            operation = CATALOGUE.of_type(change.type)
            if not isinstance(operation, ActivityOperation) or operation.vote is not None:
                raise InvalidRequest(
                    f"field `type`: no submission makes an activity of type {change.type[:100]!r}; expected a name "
                    "such as ACTIVITY_TYPE_CREATE_WALLET"
                )
            if len(self._waiting) >= PREVIOUS_MAX:
                raise InvalidRequest(f"{PREVIOUS_MAX} outcomes wait already: clear them first")
            self._waiting.append(ChosenOutcome(type=change.type, status=change.status, count=change.count))
        elif change.type or not change.clear:
            statuses = ", ".join(ActivityStatus)
            raise InvalidRequest(f"field `status` is missing: expected one of {statuses}")
        return self.state()

    def control(self) -> Control:
        return Control(name="outcomes", read=self.state, change=self.change, change_type=OutcomeChange)
