"""The long calls of the signer: how many may be under way. They share the processor of its process.

Between their slices the event loop answers short calls, such as signatures. Not here: whose slice is next
(`primitives.share`), the work (`keys.steps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

from keystead.api.errors import Unavailable
from keystead.keys.steps import ResultT, Steps
from keystead.primitives.share import Share
from keystead.signer.bounds import LONG_CALLS_MAX, LONG_CALLS_PER_ORGANIZATION_MAX


class LongCalls:
    """The signers of one process share one object. Belongs to one event loop."""

    def __init__(self, share: Share | None = None) -> None:
        self._share = share or Share()
        self._under_way = Counter[str]()

    async def run(self, organization_id: str, steps: Steps[ResultT]) -> ResultT:
        """The result of the work. Raises what the work raises, and Unavailable if too many calls are under way."""
        under_way = self._under_way
        if (count := under_way[organization_id]) >= LONG_CALLS_PER_ORGANIZATION_MAX:
            raise Unavailable(
                f"the signer already works on {count} requests of this organization; wait for their answers; "
                "sending the same request again is safe"
            )
        if under_way.total() >= LONG_CALLS_MAX:
            raise Unavailable("the signer has too many requests to work on; sending the same request again is safe")
        under_way[organization_id] += 1
        try:
            with closing(steps):  # if its caller gives up, the secrets in it are dropped
                return await self._completed(organization_id, steps)
        finally:
            under_way[organization_id] -= 1
            if not under_way[organization_id]:
                del under_way[organization_id]

    async def _completed(self, organization_id: str, steps: Steps[ResultT]) -> ResultT:
        results: list[ResultT] = []

        def each_step() -> Iterator[None]:
            results.append((yield from steps))

        await self._share.each(organization_id, lambda _: None, each_step())
        return results[0]
