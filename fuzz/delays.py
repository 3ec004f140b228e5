"""How long another tenant waits while one tenant, or many, send the worst known requests.

Each case is one kind of request, which one caller of a new organization sends over several connections. In a crowd,
many new organizations send requests of several kinds, the first ones at the same time. Meanwhile a user of another
organization queries `list_wallets` and submits `update_user_name`, in turns. The longest wait is compared with the
bound. Here: the measurement. Not here: the requests (`worst_requests`), the limits of one request (docs/limits.md),
how the tenant waits (`waiting`).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from fuzz.findings import Findings
from fuzz.processor_time import processes_of
from fuzz.waiting import Wait, another_process, longest_wait
from fuzz.worst_requests import AUTHENTICATED_MS, CASES, Case, MakeCase, every_case
from tests.support.authorization_scenario import new_parent, new_sub_organization
from tests.support.callers import Caller
from tests.support.organization_fixtures import RecordIds, create_records
from tests.support.servers import Server

CONNECTIONS = 4

CROWD = 30
"""How many organizations a crowd has. Each sends over one connection."""

KINDS = (1, 4, CROWD)
"""How many kinds of requests the crowds send."""

MEASURED_AGAIN = 2
"""How often a case above its bound is measured again; its shortest result counts."""

AGAIN_S = 3.0
"""How long each of these measurements takes."""

_LEAST_S, _LEAST_OF_CROWD_S = 0.5, 3.0
"""A shorter measurement might be over before the first request of each attacker has arrived."""


@dataclass(frozen=True)
class Delay:
    """`longest`: the longest wait."""

    name: str
    bound_ms: int
    sent: int
    statuses: frozenset[int]
    longest: Wait

    @property
    def is_too_long(self) -> bool:
        return self.longest.ms > self.bound_ms


@dataclass(frozen=True)
class Attack:
    """What one connection of an attacker sends."""

    case: Case
    attacker: Caller
    records: RecordIds


Prepare = Callable[[], Sequence[Attack]]
"""Makes the organizations of the attackers. They are new, because a case may delete its organization, or fill it up
to its limits."""


@contextmanager
def measuring(server: Server) -> Iterator[Callable[[str, Prepare, float], Delay]]:
    """A function that measures the waits during attacks, for a number of seconds. At least one request of each
    connection is sent and one wait measured."""
    victim = new_sub_organization(server.caller)
    with another_process() as waiting:

        def measure(name: str, prepare: Prepare, seconds: float) -> Delay:
            return _measured(server, victim, name, prepare(), seconds, waiting)

        yield measure


def of_one(server: Server, make: MakeCase) -> Prepare:
    """One organization, which sends one kind of request over several connections."""

    def prepare() -> Sequence[Attack]:
        attacker = new_parent(server) if make.by_parent else new_sub_organization(server.caller)
        records = create_records(attacker)
        return [Attack(make.build(records), attacker, records)] * CONNECTIONS

    return prepare


def of_crowd(server: Server, cases: Sequence[Case]) -> Prepare:
    """An organization for each of the cases."""

    def prepare() -> Sequence[Attack]:
        attackers = [new_sub_organization(server.caller) for _ in cases]
        return [
            Attack(case, attacker, create_records(attacker))
            for case, attacker in zip(cases, attackers, strict=True)
        ]

    return prepare


def _measured(
    server: Server, victim: Caller, name: str, attacks: Sequence[Attack], seconds: float, waiting: Executor
) -> Delay:
    over, start = threading.Event(), threading.Barrier(len(attacks))
    with ThreadPoolExecutor(len(attacks)) as threads:
        sending = [threads.submit(_send, attack, start, over) for attack in attacks]
        processes, told = processes_of(server), (victim.organization_id, victim.user_id, victim.key)
        longest = waiting.submit(longest_wait, processes, str(victim.http.base_url), *told, seconds)
        try:
            found = longest.result()
        finally:
            over.set()
        statuses = [status for one in sending for status in one.result()]
    bound_ms = max(attack.case.bound_ms for attack in attacks)
    return Delay(name, bound_ms, len(statuses), frozenset(statuses), found)


def _send(attack: Attack, start: threading.Barrier, over: threading.Event) -> list[int]:
    statuses: list[int] = []
    attacker = attack.attacker
    with httpx.Client(base_url=attacker.http.base_url, timeout=60) as http:
        own = Caller(http, attacker.organization_id, attacker.user_id, attacker.key)
        start.wait()
        while not statuses or not over.is_set():
            statuses.append(attack.case.send(own, attack.records).status_code)
    return statuses


def fuzz_delays(server: Server, findings: Findings, chance: random.Random, *, until: float) -> Iterator[Delay]:
    """Measure every case and the crowds until `until` (`time.monotonic`), in a random order. A wait above its bound
    is a finding, and so is a 5xx answer other than 503."""
    attacks = [(make.name, of_one(server, make), _LEAST_S) for make in every_case()]
    attacks += [(*_crowd(server, kinds, chance), _LEAST_OF_CROWD_S) for kinds in KINDS]
    chance.shuffle(attacks)
    setup_s = 0.0
    with measuring(server) as measure:
        for left, (name, prepare, least_s) in zip(range(len(attacks), 0, -1), attacks, strict=True):
            begun = time.monotonic()
            each_s = max(least_s, (until - begun) / left - setup_s)
            delay = measure(name, prepare, each_s)
            setup_s = time.monotonic() - begun - each_s
            for _ in range(MEASURED_AGAIN if delay.is_too_long else 0):
                again = measure(name, prepare, AGAIN_S)
                delay = min(delay, again, key=lambda one: one.longest.ms)
            _report(delay, findings)
            yield delay


def _crowd(server: Server, kinds: int, chance: random.Random) -> tuple[str, Prepare]:
    """The name of a crowd that sends this number of kinds of requests, and its organizations."""
    cases = chance.sample([case for case in CASES if case.bound_ms == AUTHENTICATED_MS], kinds)
    name = f"{CROWD} organizations" + (f": {cases[0].name}" if kinds == 1 else f" send {kinds} kinds of requests")
    return name, of_crowd(server, (cases * CROWD)[:CROWD])


def _report(delay: Delay, findings: Findings) -> None:
    findings.tried += delay.sent
    if delay.is_too_long:
        findings.add(f"{delay.name}: another waits {delay.longest.ms:.0f} ms, bound {delay.bound_ms}", b"")
    if any(status >= 500 and status != 503 for status in delay.statuses):
        findings.add(f"{delay.name}: answered {sorted(delay.statuses)}", b"")
