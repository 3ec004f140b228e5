"""How long another tenant waits while one tenant sends the worst known requests.

Each case is one kind of request, which one caller of a new organization sends over several connections. Meanwhile
a user of another organization queries `list_wallets` and submits `update_user_name`, in turns. The longest
wait is compared with the bound. Here: the measurement. Not here: the requests (`worst_requests`), the limits of one
request (docs/limits.md).

Two things keep other programs on the machine out of the result. A wait counts as long as the server had a processor
meanwhile (Linux tells it), and no longer. And a case above its bound is measured again: what the server does itself
takes as long each time.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from fuzz.findings import Findings
from fuzz.worst_requests import Case, MakeCase, every_case
from keystead.stamps.signing import ApiKeyPair
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import Caller, unique
from tests.support.organization_fixtures import RecordIds, create_records
from tests.support.servers import Server

CONNECTIONS = 4

MEASURED_AGAIN = 2
"""How often a case above its bound is measured again; its shortest result counts."""

AGAIN_S = 3.0
"""How long each of these measurements takes."""

_LEAST_S = 0.5
"""A shorter measurement might be over before the first request of the attack has arrived."""


@dataclass(frozen=True)
class Wait:
    """One request of the tenant that waits, in milliseconds. `server_ms`: processor time that the server's process
    used meanwhile."""

    whole_ms: float
    server_ms: float

    @property
    def ms(self) -> float:
        """The time that counts: at most the whole wait, because several threads may have used more."""
        return min(self.whole_ms, self.server_ms)


@dataclass(frozen=True)
class Delay:
    """`longest`: the longest wait."""

    case: Case
    sent: int
    statuses: frozenset[int]
    longest: Wait

    @property
    def is_too_long(self) -> bool:
        return self.longest.ms > self.case.bound_ms


def measured(server: Server, cases: Sequence[MakeCase], *, each_s: float) -> Iterator[Delay]:
    """Each case for `each_s` seconds; at least one request is sent and one wait measured."""
    victim = new_sub_organization(server.caller)
    with _another_process() as waiting:
        for make in cases:
            yield _measured(server, victim, make, each_s, waiting)


def _measured(server: Server, victim: Caller, make: MakeCase, each_s: float, waiting: Executor) -> Delay:
    """The attacker's organization is new, because a case may delete it, or fill it up to its limits."""
    attacker = new_parent(server) if make.by_parent else new_sub_organization(server.caller)
    records = create_records(attacker)
    case = make.build(records)
    over = threading.Event()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        attacks = [threads.submit(_attack, case, attacker, records, over) for _ in range(CONNECTIONS)]
        base_url = str(victim.http.base_url)
        longest = waiting.submit(
            _longest_wait, server.pid, base_url, victim.organization_id, victim.user_id, victim.key, each_s
        )
        try:
            found = longest.result()
        finally:
            over.set()
        statuses = [status for one in attacks for status in one.result()]
    return Delay(case, len(statuses), frozenset(statuses), found)


def _attack(case: Case, attacker: Caller, records: RecordIds, over: threading.Event) -> list[int]:
    statuses: list[int] = []
    with httpx.Client(base_url=attacker.http.base_url, timeout=60) as http:
        own = Caller(http, attacker.organization_id, attacker.user_id, attacker.key)
        while not statuses or not over.is_set():
            statuses.append(case.send(own, records).status_code)
    return statuses


def _longest_wait(
    server_pid: int, base_url: str, organization_id: str, user_id: str, key: ApiKeyPair, each_s: float
) -> Wait:
    """The longest wait of the victim. It runs in its own process, because in the attacker's process it would also
    wait for the attacker's threads."""
    longest, deadline = Wait(0.0, 0.0), time.monotonic() + each_s
    with httpx.Client(base_url=base_url, timeout=60) as http:
        victim = Caller(http, organization_id, user_id, key)
        while longest.whole_ms == 0.0 or time.monotonic() < deadline:
            for send in (_query, _submission):
                begun_s, used_s = time.perf_counter(), _processor_time_s(server_pid)
                assert send(victim).status_code == 200
                whole_s, used_s = time.perf_counter() - begun_s, _processor_time_s(server_pid) - used_s
                wait = Wait(whole_s * 1_000, used_s * 1_000)
                longest = max(longest, wait, key=lambda one: one.ms)
            time.sleep(0.002)
    return longest


def _processor_time_s(pid: int) -> float:
    """The processor time of all threads of a process; the time on the clock where the system does not tell it."""
    if sys.platform != "linux":
        return time.perf_counter()
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) makes it of a process id


def _another_process() -> ProcessPoolExecutor:
    """A process for the victim. It is spawned, because a process with threads must not fork. It has loaded this
    module already, so that no attack lasts until it has."""
    process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    process.submit(_processor_time_s, os.getpid()).result()
    return process


def _query(victim: Caller) -> httpx.Response:
    return victim.ask("list_wallets")


def _submission(victim: Caller) -> httpx.Response:
    return victim.submit("update_user_name", {"userId": victim.user_id, "userName": unique("name")})


def fuzz_delays(server: Server, findings: Findings, chance: random.Random, *, until: float) -> Iterator[Delay]:
    """Measure every case until `until` (`time.monotonic`), in a random order. A wait above its bound is a finding,
    and so is a 5xx answer other than 503."""
    every = every_case()
    cases = chance.sample(every, len(every))
    victim = new_sub_organization(server.caller)
    setup_s = 0.0
    with _another_process() as waiting:
        for left, make in zip(range(len(cases), 0, -1), cases, strict=True):
            begun = time.monotonic()
            each_s = max(_LEAST_S, (until - begun) / left - setup_s)
            delay = _measured(server, victim, make, each_s, waiting)
            setup_s = time.monotonic() - begun - each_s
            for _ in range(MEASURED_AGAIN if delay.is_too_long else 0):
                again = _measured(server, victim, make, AGAIN_S, waiting)
                delay = min(delay, again, key=lambda one: one.longest.ms)
            _report(delay, findings)
            yield delay


def _report(delay: Delay, findings: Findings) -> None:
    findings.tried += delay.sent
    if delay.is_too_long:
        said = f"another waits {delay.longest.ms:.0f} ms, bound {delay.case.bound_ms}"
        findings.add(f"{delay.case.name}: {said}", b"")
    if any(status >= 500 and status != 503 for status in delay.statuses):
        findings.add(f"{delay.case.name}: answered {sorted(delay.statuses)}", b"")
