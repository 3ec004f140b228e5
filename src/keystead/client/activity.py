"""The return value of a submission: the activity with its result, or an activity that waits for approval.

Not here: the generated classes with the fields of each operation's result (`shapes`), sending (`client`).
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Activity, Wire
from keystead.client.errors import ActivityFailed, ActivityNotCompleted, ProtocolError
from keystead.client.leniency import convert_leniently

ResultT = TypeVar("ResultT", bound=Wire, covariant=True)


class Submitted(Generic[ResultT]):
    """The return value of a submission: the activity and its result.

    The fields of the result are attributes of this object, and `result` has all of them as one struct. For an
    activity that waits for approval, `needs_approval` is true, and reading the result raises ActivityNotCompleted
    until a `refresh` finds it completed.
    """

    operation: ClassVar[str]
    activity_type: ClassVar[str]
    result_key: ClassVar[str]
    result_struct: ClassVar[type[Wire]]

    def __init__(self, activity: Activity) -> None:
        """Raises ActivityFailed if the activity is of this operation and has failed or was rejected."""
        # The answer to a vote is the activity voted on. If that is rejected now, the vote may have rejected it.
        if activity.type == self.activity_type and activity.status in _WITHOUT_RESULT:
            raise ActivityFailed(activity)
        self.activity = activity

    @property
    def completed(self) -> bool:
        """Whether the activity was executed and has a result."""
        return self.activity.status == ActivityStatus.COMPLETED

    @property
    def needs_approval(self) -> bool:
        """Whether the activity waits for others to approve it, or for further proofs of its submitter."""
        return self.activity.status in _WAITING

    @cached_property
    def result(self) -> ResultT:
        """The result. Raises ActivityNotCompleted while the activity has no result, ProtocolError if the result
        cannot be read."""
        if not self.completed:
            raise ActivityNotCompleted(self.activity)
        try:
            return convert_leniently(self.activity.result[self.result_key], self.result_struct)  # type: ignore[no-any-return]
        except KeyError:
            result_keys = ", ".join(self.activity.result) or "nothing"
            raise ProtocolError(
                f"the result of activity {self.activity.id} lacks `{self.result_key}`; it holds {result_keys}"
            ) from None
        except msgspec.ValidationError as refused:
            raise ProtocolError(
                f"`{self.result_key}` of activity {self.activity.id} cannot be read: {refused}"
            ) from refused

    def __repr__(self) -> str:
        note = ", needs approval" if self.needs_approval else ""
        return f"<{type(self).__name__}: activity {self.activity.id}, {self.activity.status.value}{note}>"


SubmittedT = TypeVar("SubmittedT", bound=Submitted[Wire])

_WITHOUT_RESULT = frozenset({ActivityStatus.FAILED, ActivityStatus.REJECTED})
_WAITING = frozenset({ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.AUTHENTICATORS_NEEDED})
