"""What submitting an activity gives: its result, or that it waits for approval.

Not here: the generated classes that add the fields of each operation's own result (`shapes`), and sending
(`client`).
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Activity, Wire
from keystead.client.errors import ActivityFailed, ActivityNotCompleted, ProtocolError
from keystead.client.leniency import converted

ResultT = TypeVar("ResultT", bound=Wire, covariant=True)


class Submitted(Generic[ResultT]):
    """What submitting an activity gives: its result, with the activity itself at hand.

    The fields of the result are attributes of this object, and `result` is all of them as one struct. An activity
    that needs approval gives one of these as well, with `needs_approval` true; reading its result then raises
    ActivityNotCompleted, until a `refresh` finds it completed.
    """

    operation: ClassVar[str]
    activity_type: ClassVar[str]
    result_key: ClassVar[str]
    result_struct: ClassVar[type[Wire]]

    def __init__(self, activity: Activity) -> None:
        """Raises ActivityFailed if the activity is one of this operation's, and failed or was rejected."""
        # The answer to a vote is the activity voted on: if that is rejected now, the vote may have done it.
        if activity.type == self.activity_type and activity.status in _WITHOUT_RESULT:
            raise ActivityFailed(activity)
        self.activity = activity

    @property
    def completed(self) -> bool:
        """Whether the activity was executed, so that its result can be read."""
        return self.activity.status == ActivityStatus.COMPLETED

    @property
    def needs_approval(self) -> bool:
        """Whether the activity waits for others to approve it, or for further proofs of its submitter."""
        return self.activity.status in _WAITING

    @cached_property
    def result(self) -> ResultT:
        """Raises ActivityNotCompleted if there is none yet, ProtocolError if it cannot be read."""
        if not self.completed:
            raise ActivityNotCompleted(self.activity)
        try:
            return converted(self.activity.result[self.result_key], self.result_struct)  # type: ignore[no-any-return]
        except KeyError:
            found = ", ".join(self.activity.result) or "nothing"
            raise ProtocolError(
                f"the result of activity {self.activity.id} lacks `{self.result_key}`; it holds {found}"
            ) from None
        except msgspec.ValidationError as refused:
            raise ProtocolError(
                f"`{self.result_key}` of activity {self.activity.id} cannot be read: {refused}"
            ) from refused

    def __repr__(self) -> str:
        says = ", needs approval" if self.needs_approval else ""
        return f"<{type(self).__name__}: activity {self.activity.id}, {self.activity.status.value}{says}>"


SubmittedT = TypeVar("SubmittedT", bound=Submitted[Wire])

_WITHOUT_RESULT = frozenset({ActivityStatus.FAILED, ActivityStatus.REJECTED})
_WAITING = frozenset({ActivityStatus.CONSENSUS_NEEDED, ActivityStatus.AUTHENTICATORS_NEEDED})
