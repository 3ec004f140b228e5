"""Delivers waiting events: which endpoint has its turn, which of its deliveries, and what is recorded after.

One process at a time delivers to an endpoint: the one that holds its lease. It attempts the first waiting delivery
of each activity, so the events of an activity arrive in order. A delivery is recorded after the attempt. If the
process dies in between, the process that takes the lease over attempts it again: at least once.

An endpoint has a slot while it is served. Endpoints that are slow or fail share slots of their own, so they never
take those of others. Memory is bounded: a process reads a window of each endpoint that it serves. Not here: the
lease (`leases`), the attempt and its record (`recording`), how fast (`pacing`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from keystead.api.errors import ServiceError
from keystead.delivery.webhooks.attempts import Attempt
from keystead.delivery.webhooks.leases import Leases
from keystead.delivery.webhooks.pacing import Pace
from keystead.delivery.webhooks.recording import RecordedAttempts, Send
from keystead.delivery.webhooks.store import WebhookStore
from keystead.organizations.webhook_targets import Target, target_of
from keystead.organizations.webhooks import DeliveryResult, WebhookDelivery

logger = logging.getLogger("keystead.delivery")

POLL_S: Final = 1.0
"""How often waiting endpoints are looked for: those of other processes, and those that are due again."""

SLOTS: Final = 32
"""Endpoints that a process serves at the same time; as many again that are slow or fail."""

AT_ONCE_MAX: Final = 8
"""Deliveries to one endpoint at the same time, each of another activity."""

WINDOW: Final = 64
"""Deliveries of an endpoint that are looked at together."""

_ROUNDS_MAX: Final = 16
"""After so many rounds an endpoint gives its slot to one that waits."""

_PAGE: Final = 200

_RELEASED_MAX: Final = 1_000
"""Released leases that are read at a time. Those beyond end by themselves."""


class WebhookDispatcher:
    """Delivers from one process. `holder`: an id of this process, new at each start."""

    def __init__(
        self,
        store: WebhookStore,
        send: Send,
        *,
        holder: str,
        now_ms: Callable[[], int],
        random_fraction: Callable[[], float],
    ) -> None:
        self._store = store
        self._now_ms = now_ms
        self._leases = Leases(store, holder, now_ms)
        self._attempts = RecordedAttempts(store, send, now_ms, random_fraction)
        self._paces: dict[str, Pace] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._slow_serving: set[str] = set()
        self._news: set[str] = set()
        self._is_crowded = False
        self._scan_after = ""
        self._woken = asyncio.Event()

    @property
    def results(self) -> Mapping[DeliveryResult, int]:
        """How many attempts ended so; GIVEN_UP also counts deliveries without an attempt."""
        return self._attempts.results

    @property
    def serving(self) -> Sequence[asyncio.Task[None]]:
        """The endpoints that are served now."""
        return list(self._serving.values())

    @property
    def known_endpoints(self) -> int:
        """The endpoints of which something is in memory."""
        return max(len(self._paces), len(self._leases))

    def wake(self, endpoint_ids: Iterable[str]) -> None:
        """This process has just committed deliveries to these endpoints."""
        self._news.update(endpoint_ids)
        self._woken.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        loop = asyncio.get_running_loop()
        scan_at_s = 0.0
        while True:
            self._woken.clear()
            try:
                news, self._news = self._news, set()
                for endpoint_id in news:
                    if not self._start(endpoint_id, has_news=True):
                        self._is_crowded = True
                if loop.time() >= scan_at_s or self._is_crowded:
                    await self.scan()
                    scan_at_s = loop.time() + POLL_S
            except Exception as failed:  # noqa: BLE001 (the loop must continue after every failure; it is logged)
                logger.warning("webhooks that wait could not be read: %s", type(failed).__name__)
                scan_at_s = loop.time() + POLL_S
            timer = loop.call_at(scan_at_s, self._woken.set)
            await self._woken.wait()
            timer.cancel()

    async def close(self) -> None:
        """Stop delivering, and let other processes take over at once."""
        tasks = list(self._serving.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._leases.release()

    async def scan(self) -> None:
        """Start to serve every endpoint that waits and may be served now, as far as there are slots.

        The next scan begins with the first that got no slot, so each has its turn.
        """
        await self._notice_released()
        waiting: set[str] = set()
        begin, before, first_denied_after = self._scan_after, self._scan_after, ""
        self._is_crowded = False
        async for endpoint_id in self._waiting_from(begin):
            waiting.add(endpoint_id)
            if not self._start(endpoint_id, has_news=False):
                first_denied_after = first_denied_after or before
                if len(self._serving) - len(self._slow_serving) >= SLOTS:
                    self._is_crowded = True
                    break
            before = endpoint_id
        else:
            self._forget_all_but(waiting)
        self._scan_after = first_denied_after

    async def _notice_released(self) -> None:
        """Wait no longer for leases that other processes gave back."""
        now_ms = self._now_ms()
        elsewhere = {id_ for id_, pace in self._paces.items() if pace.leased_elsewhere_ms > now_ms}
        if elsewhere:
            for endpoint_id in elsewhere.intersection(await self._store.released_webhook_leases(_RELEASED_MAX)):
                del self._paces[endpoint_id]

    async def _waiting_from(self, begin: str) -> AsyncIterator[str]:
        """The endpoints that wait: those above the id `begin`, then the others."""
        after, is_second_part = begin, not begin
        while True:
            page = await self._store.waiting_endpoints(after, _PAGE)
            for endpoint_id in page:
                if is_second_part and begin and endpoint_id > begin:
                    return
                yield endpoint_id
            if len(page) == _PAGE:
                after = page[-1]
            elif is_second_part:
                return
            else:
                after, is_second_part = "", True

    def _forget_all_but(self, waiting: set[str]) -> None:
        for endpoint_id in [one for one in self._paces if one not in waiting and one not in self._serving]:
            if self._leases.forget(endpoint_id):
                del self._paces[endpoint_id]

    def _start(self, endpoint_id: str, *, has_news: bool) -> bool:
        """Begin to serve an endpoint, if it may be served now. False if there is no slot for it."""
        if endpoint_id in self._serving:
            if has_news:
                self._news.add(endpoint_id)  # it is served again, if it does not look again itself
            return True
        pace = self._paces.get(endpoint_id, Pace())
        if not pace.may_start(self._now_ms(), has_news=has_news):
            return True
        serving = len(self._slow_serving) if pace.is_slow else len(self._serving) - len(self._slow_serving)
        if serving >= SLOTS:
            return False
        if pace.is_slow:
            self._slow_serving.add(endpoint_id)
        task = self._serving[endpoint_id] = asyncio.create_task(self._serve(endpoint_id))
        task.add_done_callback(lambda _: self._ended(endpoint_id))
        return True

    def _ended(self, endpoint_id: str) -> None:
        del self._serving[endpoint_id]
        self._slow_serving.discard(endpoint_id)
        if self._is_crowded or endpoint_id in self._news:
            self._woken.set()

    async def _serve(self, endpoint_id: str) -> None:
        try:
            for _ in range(_ROUNDS_MAX):
                self._news.discard(endpoint_id)
                if not await self.serve_round(endpoint_id):
                    return
            self._news.add(endpoint_id)
        except ServiceError as failed:
            self._pause(endpoint_id)
            logger.warning("webhooks of endpoint %s wait: %s", endpoint_id, failed.message)
        except Exception:
            self._pause(endpoint_id)
            logger.exception("webhooks of endpoint %s wait because of a defect of the server", endpoint_id)

    def _pause(self, endpoint_id: str) -> None:
        pace = self._paces.get(endpoint_id, Pace())
        self._paces[endpoint_id] = replace(pace, not_before_ms=self._now_ms() + int(POLL_S * 1000))

    async def serve_round(self, endpoint_id: str) -> bool:
        """Attempt what is due now. Returns whether to look again at once."""
        window = await self._store.waiting_deliveries(endpoint_id, WINDOW)
        if not window:
            return False
        until_ms = await self._leases.elsewhere_until_ms(endpoint_id, window[0].endpoint_organization_id)
        if until_ms:
            self._paces[endpoint_id] = Pace(leased_elsewhere_ms=until_ms)
            return False
        now_ms = self._now_ms()
        if late := [one for one in window if one.give_up_at_ms <= now_ms]:
            await self._attempts.give_up(late, "it is too late")
            return True
        target = await self._target(window[0])
        if target is None:
            await self._attempts.give_up(window, "the endpoint was deleted or is paused")
            return True
        pace = self._paces.get(endpoint_id, Pace())
        firsts = {one.activity_id: one for one in reversed(window)}.values()
        due = [one for one in firsts if (one.due_ms or 0) <= now_ms]
        if not due:
            first_due_ms = min(one.due_ms or 0 for one in firsts)
            self._paces[endpoint_id] = replace(pace, not_before_ms=first_due_ms)
            return False
        chosen = sorted(due, key=lambda one: one.id)[: AT_ONCE_MAX if pace.is_proven else 1]
        ended = await asyncio.gather(
            *[self._attempts.attempt(one, target) for one in chosen], return_exceptions=True
        )
        if failures := [one for one in ended if isinstance(one, BaseException)]:
            raise failures[0]
        attempts = [one for one in ended if isinstance(one, Attempt)]
        self._paces[endpoint_id] = after = pace.after_round(attempts, now_ms, self._now_ms())
        # An endpoint that turned slow gives its slot back, and gets one of those for slow ones.
        return not after.failures and after.is_slow == pace.is_slow

    async def _target(self, delivery: WebhookDelivery) -> Target | None:
        organization = await self._store.organization(delivery.endpoint_organization_id)
        if organization is None or organization.profile.deleted:
            return None
        return target_of(organization, delivery.endpoint_id)
