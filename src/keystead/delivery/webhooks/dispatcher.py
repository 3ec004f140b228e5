"""Delivers waiting events: chooses the endpoint, then its deliveries, and records the results.

One process at a time delivers to an endpoint: the one that holds its lease. It attempts the first waiting delivery
of each activity, so the events of an activity arrive in order. A delivery is recorded after the attempt. If the
process dies in between, the process that takes the lease over attempts it again: at least once.

An endpoint has a slot while it is served. Endpoints that are slow or fail have separate slots, so they never use
the slots of other endpoints. Memory is bounded: a process reads a window of deliveries for each endpoint that it
serves. Here: the leases, and the pace of
an endpoint that is slow or fails. Not here: the attempt and its record (`recording`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.delivery.stopping import FINISH_S, finish
from keystead.delivery.webhooks.attempts import AttemptResult, DeliveryAttempt, WebhookRows, WebhookStore
from keystead.delivery.webhooks.recording import RecordedAttempts, Send
from keystead.failures.defects import is_defect, log_failure
from keystead.failures.rounds import Rounds, pause_after
from keystead.organizations.webhooks.targets import WebhookTarget, target_of
from keystead.organizations.webhooks.webhooks import DeliveryResult, WebhookDelivery, WebhookLease

PROBE_EVERY_MS = 60_000
"""The longest pause between two rounds for an endpoint that keeps failing, or whose rounds end in errors."""

_FIRST_PAUSE_MS = 1_000
_SLOW_MS = 2_000


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """What a process knows about an endpoint. Times are milliseconds since the epoch.

    `is_proven`: its last attempt was answered. Until then, one delivery is attempted at a time. `is_slow`: it
    failed or took long, so it may use only the slots for such endpoints. `failures`: rounds that failed, one after
    another. `errors`: rounds that ended in an error of this server or of its database, one after another.
    `has_defect`: the last of them was a defect. `not_before_ms`: nothing is attempted before.
    `leased_elsewhere_ms`: another process delivers until then.
    """

    is_proven: bool = False
    is_slow: bool = False
    failures: int = 0
    errors: int = 0
    has_defect: bool = False
    not_before_ms: int = 0
    leased_elsewhere_ms: int = 0

    def may_start(self, now_ms: int, *, has_new_deliveries: bool) -> bool:
        """Whether a round may start now. `has_new_deliveries`: deliveries were just written; they wait only while
        the endpoint fails, or after a defect."""
        if now_ms < self.leased_elsewhere_ms:
            return False
        return now_ms >= self.not_before_ms or (has_new_deliveries and not self.failures and not self.has_defect)

    def after_round(self, attempts: list[DeliveryAttempt], began_ms: int, ended_ms: int) -> Pace:
        """The pace after attempts that were made together. Those that ended in a defect of this server say nothing
        about the endpoint, except how long they took."""
        took_long = ended_ms - began_ms > _SLOW_MS
        results = [attempt.result for attempt in attempts if attempt.result is not AttemptResult.DEFECT]
        if not results:
            return replace(self, is_slow=self.is_slow or took_long)
        if all(result is AttemptResult.LATER for result in results):
            failures = self.failures + 1
            pause_ms = pause_after(failures, _FIRST_PAUSE_MS, PROBE_EVERY_MS)
            return Pace(is_slow=True, failures=failures, not_before_ms=ended_ms + pause_ms)
        return Pace(is_proven=True, is_slow=took_long)

    def after_error(self, now_ms: int, *, is_defect: bool) -> Pace:
        """The pace after a round that ended in an error of this server or of its database."""
        errors = self.errors + 1
        not_before_ms = now_ms + pause_after(errors, _FIRST_PAUSE_MS, PROBE_EVERY_MS)
        return replace(self, errors=errors, has_defect=is_defect, not_before_ms=not_before_ms)

    def after_no_error(self) -> Pace:
        """The pace after a round without such an error."""
        return replace(self, errors=0, has_defect=False) if self.errors else self


LEASE_MS: Final = 30_000
_RENEWED_BEFORE_MS: Final = 15_000
"""A lease that ends within this time is renewed before a round. It is longer than an attempt may take."""

_LOST_RACE_MS: Final = 1_000
"""After another process was faster, its lease is read again after this time."""


class Leases:
    """The leases of one process. `holder`: an id of this process, new at each start."""

    def __init__(self, rows: WebhookRows, holder: str, now_ms: Callable[[], int]) -> None:
        self._rows = rows
        self._holder = holder
        self._now_ms = now_ms
        self._held: dict[str, WebhookLease] = {}

    async def take_or_renew(self, endpoint_id: str, organization_id: str) -> int:
        """Take the lease of an endpoint, or renew it. Returns 0 if this process has the lease now; otherwise the
        time until which another process has it, in milliseconds since the epoch."""
        now_ms = self._now_ms()
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms - now_ms > _RENEWED_BEFORE_MS:
            return 0
        if lease is None:
            lease = await self._rows.webhook_lease(organization_id, endpoint_id)
        if lease is not None and lease.holder != self._holder and lease.expires_at_ms > now_ms:
            return lease.expires_at_ms
        until_ms = now_ms + LEASE_MS
        if lease is None:
            lease = WebhookLease(
                endpoint_id=endpoint_id,
                organization_id=organization_id,
                holder=self._holder,
                expires_at_ms=until_ms,
            )
        else:
            lease = lease.renewed(self._holder, until_ms)
        if not await self._rows.write_webhook_lease(lease):
            self._held.pop(endpoint_id, None)
            return now_ms + _LOST_RACE_MS
        self._held[endpoint_id] = lease
        return 0

    def forget(self, endpoint_id: str) -> bool:
        """Forget the lease of an endpoint. Returns False, and keeps it, if this process still has the lease."""
        lease = self._held.get(endpoint_id)
        if lease is not None and lease.expires_at_ms > self._now_ms():
            return False
        self._held.pop(endpoint_id, None)
        return True

    def __len__(self) -> int:
        return len(self._held)

    async def release(self) -> None:
        """Release all leases, so that other processes can deliver at once."""
        now_ms = self._now_ms()
        held = [lease for lease in self._held.values() if lease.expires_at_ms > now_ms]
        released = [self._rows.write_webhook_lease(lease.released()) for lease in held]
        await asyncio.gather(*released, return_exceptions=True)


logger = logging.getLogger("keystead.delivery")

POLL_S: Final = 1.0
"""Seconds between two searches for waiting endpoints. They find the deliveries of other processes, and those that
are due again."""

SLOTS: Final = 32
"""Endpoints that a process serves at the same time. Slow and failing endpoints have as many slots in addition."""

AT_ONCE_MAX: Final = 8
"""Deliveries to one endpoint at the same time. Each belongs to another activity."""

WINDOW: Final = 64
"""Deliveries of an endpoint that are read together."""

WINDOWS_MAX: Final = 16
"""How many windows one round searches for a delivery that is due. If more deliveries than these wait for another
attempt, the deliveries after them wait too."""

_ROUNDS_MAX: Final = 16
"""After this many rounds an endpoint gives its slot to an endpoint that waits."""

_PAGE: Final = 200

_RELEASED_MAX: Final = 1_000
"""Released leases that are read together. Other released leases expire."""


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
        self._leases = Leases(store.deliveries, holder, now_ms)
        self._attempts = RecordedAttempts(store.deliveries, send, now_ms, random_fraction)
        self._paces: dict[str, Pace] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._slow_serving: set[str] = set()
        self._updated_endpoints: set[str] = set()
        self._lacks_slots = False
        self._is_closing = False
        self._scan_after = ""
        self._scans = Rounds(logger, "webhooks that wait could not be read", POLL_S)
        self._woken = asyncio.Event()

    @property
    def results(self) -> Mapping[DeliveryResult, int]:
        """The number of attempts, by result. GIVEN_UP also counts deliveries without an attempt."""
        return self._attempts.results

    @property
    def serving(self) -> Sequence[asyncio.Task[None]]:
        """The endpoints that are served now."""
        return list(self._serving.values())

    @property
    def known_endpoints(self) -> int:
        """How many endpoints have a state in memory."""
        return max(len(self._paces), len(self._leases))

    def wake(self, endpoint_ids: Iterable[str]) -> None:
        """Serve these endpoints now, because this process has just committed deliveries to them."""
        self._updated_endpoints.update(endpoint_ids)
        self._woken.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        loop = asyncio.get_running_loop()
        scan_at_s = 0.0
        while True:
            self._woken.clear()
            updated_endpoints, self._updated_endpoints = self._updated_endpoints, set()
            for endpoint_id in updated_endpoints:
                if not self._start(endpoint_id, has_new_deliveries=True):
                    self._lacks_slots = True
            if loop.time() >= scan_at_s or (self._lacks_slots and not self._scans.has_failed):
                with self._scans.logged():
                    await self.scan()
                scan_at_s = loop.time() + self._scans.pause_s(POLL_S)
            timer = loop.call_at(scan_at_s, self._woken.set)
            await self._woken.wait()
            timer.cancel()

    async def close(self, finish_s: float = FINISH_S) -> None:
        """Begin no more attempts, and wait until those under way are recorded, at most `finish_s` seconds. Then let
        other processes take over at once. Call it after `run` is cancelled."""
        self._is_closing = True
        await finish(self.serving, finish_s)
        await self._leases.release()

    async def scan(self) -> None:
        """Start to serve every endpoint that waits and may be served now, while there are slots.

        The next scan begins with the first endpoint that got no slot, so that every endpoint is served.
        """
        await self._notice_released()
        waiting: set[str] = set()
        begin, before, first_unserved_after = self._scan_after, self._scan_after, ""
        self._lacks_slots = False
        async for endpoint_id in self._waiting_from(begin):
            waiting.add(endpoint_id)
            if not self._start(endpoint_id, has_new_deliveries=False):
                first_unserved_after = first_unserved_after or before
                if len(self._serving) - len(self._slow_serving) >= SLOTS:
                    self._lacks_slots = True
                    break
            before = endpoint_id
        else:
            self._forget_all_but(waiting)
        self._scan_after = first_unserved_after

    async def _notice_released(self) -> None:
        """Forget the waits for leases that other processes released."""
        now_ms = self._now_ms()
        elsewhere = {id_ for id_, pace in self._paces.items() if pace.leased_elsewhere_ms > now_ms}
        if elsewhere:
            for endpoint_id in elsewhere.intersection(
                await self._store.deliveries.released_webhook_leases(_RELEASED_MAX)
            ):
                del self._paces[endpoint_id]

    async def _waiting_from(self, begin: str) -> AsyncIterator[str]:
        """The endpoints that wait: those above the id `begin`, then the others."""
        after, is_second_part = begin, not begin
        while True:
            page = await self._store.deliveries.waiting_endpoints(after, _PAGE)
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
        for endpoint_id in self._paces.keys() - waiting - self._serving.keys():
            if self._leases.forget(endpoint_id):
                del self._paces[endpoint_id]

    def _start(self, endpoint_id: str, *, has_new_deliveries: bool) -> bool:
        """Begin to serve an endpoint, if it may be served now. False if there is no slot for it."""
        if endpoint_id in self._serving:
            if has_new_deliveries:
                self._updated_endpoints.add(
                    endpoint_id
                )  # it is served again, unless its present round still reads these
            return True
        pace = self._paces.get(endpoint_id, Pace())
        if not pace.may_start(self._now_ms(), has_new_deliveries=has_new_deliveries):
            return True
        serving = len(self._slow_serving) if pace.is_slow else len(self._serving) - len(self._slow_serving)
        if serving >= SLOTS:
            return False
        if pace.is_slow:
            self._slow_serving.add(endpoint_id)
        task = self._serving[endpoint_id] = asyncio.create_task(self._serve(endpoint_id))
        task.add_done_callback(lambda _: self._on_served(endpoint_id))
        return True

    def _on_served(self, endpoint_id: str) -> None:
        del self._serving[endpoint_id]
        self._slow_serving.discard(endpoint_id)
        if self._lacks_slots or endpoint_id in self._updated_endpoints:
            self._woken.set()

    async def _serve(self, endpoint_id: str) -> None:
        try:
            for _ in range(_ROUNDS_MAX):
                self._updated_endpoints.discard(endpoint_id)
                is_served_again = await self.serve_round(endpoint_id)
                if (pace := self._paces.get(endpoint_id)) is not None:
                    self._paces[endpoint_id] = pace.after_no_error()
                if not is_served_again:
                    return
            self._updated_endpoints.add(endpoint_id)
        except Exception as failed:  # noqa: BLE001 - other endpoints are served, and this one again later
            log_failure(logger, failed, "webhooks of endpoint %s wait", endpoint_id)
            pace = self._paces.get(endpoint_id, Pace())
            self._paces[endpoint_id] = pace.after_error(self._now_ms(), is_defect=is_defect(failed))

    async def serve_round(self, endpoint_id: str) -> bool:
        """Attempt the deliveries that are due now. Returns whether to begin another round at once.

        Raises the error if the database or the signer does not answer, and if every attempt ended in a defect of
        this server.
        """
        window = await self._store.deliveries.waiting_deliveries(endpoint_id, "", WINDOW)
        if not window:
            return False
        until_ms = await self._leases.take_or_renew(endpoint_id, window[0].endpoint_organization_id)
        if until_ms:
            self._paces[endpoint_id] = Pace(leased_elsewhere_ms=until_ms)
            return False
        target = await self._target(window[0])
        if target is None:
            await self._attempts.give_up(window, "the endpoint was deleted or is paused")
            return True
        now_ms = self._now_ms()
        firsts = await self._firsts(endpoint_id, window, now_ms)
        if late := [delivery for delivery in (*window, *firsts) if delivery.give_up_at_ms <= now_ms]:
            await self._attempts.give_up(list(dict.fromkeys(late)), "the time for their delivery is over")
            return True
        pace = self._paces.get(endpoint_id, Pace())
        due = [delivery for delivery in firsts if (delivery.due_ms or 0) <= now_ms]
        if not due:
            first_due_ms = min(delivery.due_ms or 0 for delivery in firsts)
            self._paces[endpoint_id] = replace(pace, not_before_ms=first_due_ms)
            return False
        # Those that are due longest come first: an event that keeps failing would otherwise be ahead of all others.
        chosen = sorted(due, key=lambda one: (one.due_ms or 0, one.id))[: AT_ONCE_MAX if pace.is_proven else 1]
        if self._is_closing:
            return False
        results = await asyncio.gather(
            *[self._attempts.attempt(delivery, target) for delivery in chosen], return_exceptions=True
        )
        if failures := [result for result in results if isinstance(result, BaseException)]:
            raise failures[0]
        attempts = [result for result in results if isinstance(result, DeliveryAttempt)]
        self._paces[endpoint_id] = after = pace.after_round(attempts, now_ms, self._now_ms())
        if defects := [attempt.defect for attempt in attempts if attempt.defect is not None]:
            if len(defects) == len(attempts):
                raise defects[0]  # every event may have it, so the next round waits
            log_failure(logger, defects[0], "%d webhooks of endpoint %s wait", len(defects), endpoint_id)
        # An endpoint that became slow gives its slot back and gets a slot for slow endpoints.
        return not after.failures and after.is_slow == pace.is_slow

    async def _firsts(
        self, endpoint_id: str, window: Sequence[WebhookDelivery], now_ms: int
    ) -> Sequence[WebhookDelivery]:
        """The first waiting delivery of each activity, in the first window in which one of them is due. If none is
        due: those of all windows that were searched. `window` is the first window."""
        delayed: list[WebhookDelivery] = []
        activity_before = ""
        for _ in range(WINDOWS_MAX):
            firsts = {one.activity_id: one for one in reversed(window) if one.activity_id != activity_before}
            if any((one.due_ms or 0) <= now_ms for one in firsts.values()):
                return list(firsts.values())
            delayed += firsts.values()
            if len(window) < WINDOW:
                break
            activity_before = window[-1].activity_id
            window = await self._store.deliveries.waiting_deliveries(endpoint_id, window[-1].id, WINDOW)
        return delayed

    async def _target(self, delivery: WebhookDelivery) -> WebhookTarget | None:
        organization = await self._store.organization(delivery.endpoint_organization_id)
        if organization is None or organization.profile.deleted:
            return None
        return target_of(organization, delivery.endpoint_id)
