"""What an attempt to deliver a webhook came to. Pure. Not here: making one (`sending`)."""

from __future__ import annotations

from enum import Enum

import msgspec


class AttemptVerdict(Enum):
    """What an attempt means for its delivery."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    LATER = "another attempt may succeed"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was made. `status`: of the answer, 0 if there was none. `reason` quotes nothing that the
    receiver sent."""

    verdict: AttemptVerdict
    status: int = 0
    reason: str = ""


class SeenWebhook(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An attempt, for developers. `status` and `reason`: see Attempt. `body`: the JSON that was sent."""

    sent_at_ms: int
    endpoint_id: str
    organization_id: str
    url: str
    headers: dict[str, str]
    body: str
    verdict: str
    status: int
    reason: str


def verdict_of(status: int) -> AttemptVerdict:
    """As documented: 2xx is accepted, 5xx may be attempted again, everything else (redirects too) is final."""
    if 200 <= status < 300:
        return AttemptVerdict.ACCEPTED
    return AttemptVerdict.LATER if status >= 500 else AttemptVerdict.REFUSED
