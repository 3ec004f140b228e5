"""The step that makes requests of equal bytes one: they are carried out once, and all get the same activity.

Here: the requests in flight (of several equal ones, a process carries out one at a time); those that ended
recently; the search for the stored activity. Not here: when that search is made (`lifecycle`). The store, too,
refuses a second activity of the same bytes.
"""

from __future__ import annotations

import asyncio
from collections import deque

from keystead.api.errors import NotFound
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.received import ReceivedRequest
from keystead.pipeline.store import Store
from keystead.primitives.lru import Lru

RequestKey = tuple[str, str]
"""The id of the organization, and the fingerprint of the request's bytes."""

RECENT_MAX = 10_000
"""How many requests are remembered after they ended."""


class InFlightRequests:
    """The requests that this process works on. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[RequestKey, deque[asyncio.Future[None]]] = {}
        """The requests that wait for each key that is in flight, in their order."""
        self._recent = Lru[RequestKey, bool](RECENT_MAX)

    async def join(self, key: RequestKey) -> bool:
        """Wait until no other request of this key is in flight. Returns whether one ended here recently.

        The caller must call `finish` afterwards.
        """
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque()
        else:
            ready = asyncio.get_running_loop().create_future()
            waiting.append(ready)
            try:
                await ready
            except asyncio.CancelledError:
                if not ready.cancelled():  # it was let through, and then cancelled
                    self._next(key)
                raise
        return self._recent.peek(key) is not None

    def finish(self, key: RequestKey) -> None:
        self._recent.put(key, True)
        self._next(key)

    def _next(self, key: RequestKey) -> None:
        """Let the request that waits longest continue. Only one continues, because thousands may wait."""
        waiting = self._waiting[key]
        while waiting:
            ready = waiting.popleft()
            if not ready.cancelled():
                ready.set_result(None)
                return
        del self._waiting[key]


async def existing_activity(request: ReceivedRequest, store: Store) -> RecordedActivity | None:
    """The activity that the same bytes made or voted on before, in this or another process, if they did."""
    activity = await _recorded_activity(request, store)
    return activity if activity is not None and was_carried_out(request, activity) else None


def was_carried_out(request: ReceivedRequest, activity: RecordedActivity) -> bool:
    """Whether the activity on record shows that the request was carried out before: it has the request's vote."""
    return not request.is_vote or any(
        proof.user_id == request.caller.user.user_id and proof.fingerprint == request.submission.fingerprint
        for proof in activity.proofs
    )


async def activity_voted_on(vote: ReceivedRequest, store: Store) -> RecordedActivity:
    """The activity that this request votes on. Raises NotFound if it is not on record."""
    activity = await _recorded_activity(vote, store)
    if activity is None:
        raise NotFound(
            f"No activity found with fingerprint {vote.activity_fingerprint[:100]!r}. Consensus activities "
            "must target an existing activity by fingerprint"
        )
    return activity


async def _recorded_activity(request: ReceivedRequest, store: Store) -> RecordedActivity | None:
    return await store.activity_with_fingerprint(request.organization_id, request.activity_fingerprint)
