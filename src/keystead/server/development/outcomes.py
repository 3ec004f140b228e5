"""/dev/v1/outcomes: a developer chooses the status of the next activities of a type. It replaces the decision.

For COMPLETED the activity is executed without approvals. For every other status it is recorded without execution;
if the status is not final, an approval executes it later. Not here: how this is done (`pipeline.decide`).
"""

from __future__ import annotations

from collections import OrderedDict

from keystead.api.catalogue import activity_kind
from keystead.api.developer_controls import OUTCOMES, ChosenOutcome, Outcomes, OutcomeUpdate
from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest
from keystead.operations import CATALOGUE
from keystead.pipeline.operation import ActivityOperation
from keystead.server.bounds import DEVELOPMENT_ENTRIES_MAX
from keystead.server.development.control import ServedControl


class ChosenOutcomes:
    def __init__(self) -> None:
        self._waiting: list[ChosenOutcome] = []
        self._assigned: OrderedDict[str, ActivityStatus] = OrderedDict()

    def clear(self) -> None:
        """Remove the outcomes that no activity has got yet."""
        self._waiting.clear()

    def reset(self) -> None:
        """Forget everything. The database was reset, so equal bytes are a new submission and get no earlier
        status."""
        self._waiting.clear()
        self._assigned.clear()

    def status_of(self, activity_type: str, fingerprint: str) -> ActivityStatus | None:
        """`pipeline.environment.ChosenStatus`: a submission that is decided again keeps its status."""
        assigned = self._assigned.get(fingerprint)
        if assigned is not None:
            return assigned
        kind = activity_kind(activity_type)
        for index, chosen in enumerate(self._waiting):
            if activity_kind(chosen.type) == kind:
                remaining = ChosenOutcome(type=chosen.type, status=chosen.status, count=chosen.count - 1)
                self._waiting[index : index + 1] = [remaining] if remaining.count else []
                self._assigned[fingerprint] = chosen.status
                if len(self._assigned) > DEVELOPMENT_ENTRIES_MAX:
                    self._assigned.popitem(last=False)
                return chosen.status
        return None

    def state(self) -> Outcomes:
        return Outcomes(outcomes=tuple(self._waiting))

    async def change(self, change: OutcomeUpdate) -> Outcomes:
        """Add an outcome. Raises InvalidRequest for a type that no submission makes, for a missing status, and for
        too many outcomes."""
        if change.clear:
            self.clear()
        if change.status is not None:
            operation = CATALOGUE.of_type(change.type)
            if not isinstance(operation, ActivityOperation) or operation.vote is not None:
                raise InvalidRequest(
                    f"field `type`: no submission makes an activity of type {change.type[:100]!r}; expected a name "
                    "such as ACTIVITY_TYPE_CREATE_WALLET"
                )
            if len(self._waiting) >= DEVELOPMENT_ENTRIES_MAX:
                raise InvalidRequest(f"{DEVELOPMENT_ENTRIES_MAX} outcomes wait already; clear them first")
            self._waiting.append(ChosenOutcome(type=change.type, status=change.status, count=change.count))
        elif change.type or not change.clear:
            statuses = ", ".join(ActivityStatus)
            raise InvalidRequest(f"field `status` is missing: expected one of {statuses}")
        return self.state()

    def control(self) -> ServedControl:
        return ServedControl(declared=OUTCOMES, read=self.state, change=self.change)
