"""The result of an attempt to deliver a webhook. Pure. Not here: making an attempt (`sending`)."""

from __future__ import annotations

from enum import Enum

import msgspec


class AttemptResult(Enum):
    """After LATER and DEFECT another attempt may succeed. DEFECT: this server failed, not the receiver. The other
    results are final."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    LATER = "another attempt may succeed"
    DEFECT = "a defect of this server"


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was made. `status`: the HTTP status of the answer, 0 if there was none. `reason` does not
    quote the receiver. `defect`: the error of this server, if the result is DEFECT."""

    result: AttemptResult
    status: int = 0
    reason: str = ""
    defect: Exception | None = None


def result_of_status(status: int) -> AttemptResult:
    """The documented rule: 2xx is accepted, 5xx may be attempted again, every other status is final, redirects
    too."""
    if 200 <= status < 300:
        return AttemptResult.ACCEPTED
    return AttemptResult.LATER if status >= 500 else AttemptResult.REFUSED
