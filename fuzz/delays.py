"""How long another tenant waits while one sends the worst requests that are known.

Each case is one kind of request, sent by one caller over several connections. Meanwhile a user of another
organization asks `list_wallets` and submits `update_user_name`, in turns. The longest wait is held against the
bound. Here: the measuring. Not here: the requests (`worst_requests`), and the limits of what one request may cost
(docs/limits.md).
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from fuzz.findings import Findings
from fuzz.worst_requests import CASES, Case, largest_cases
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import Caller, unique
from tests.support.organization_fixtures import RecordIds, create_records
from tests.support.servers import Server

CONNECTIONS = 4


@dataclass(frozen=True)
class Delay:
    case: Case
    sent: int
    statuses: frozenset[int]
    longest_ms: float


def measured(server: Server, cases: tuple[Case, ...], *, each_s: float) -> list[Delay]:
    """Each case for `each_s` seconds; at least one request is sent and one wait measured."""
    attacker, victim = new_sub_organization(server.caller), new_sub_organization(server.caller)
    records = create_records(attacker)
    return [_measured(attacker, records, victim, case, each_s) for case in cases]


def _measured(attacker: Caller, records: RecordIds, victim: Caller, case: Case, each_s: float) -> Delay:
    over = threading.Event()

    def attack() -> list[int]:
        statuses: list[int] = []
        with httpx.Client(base_url=attacker.http.base_url, timeout=60) as http:
            own = Caller(http, attacker.organization_id, attacker.user_id, attacker.key)
            while not statuses or not over.is_set():
                statuses.append(case.send(own, records).status_code)
        return statuses

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        attacks = [threads.submit(attack) for _ in range(CONNECTIONS)]
        longest, deadline = 0.0, time.monotonic() + each_s
        while longest == 0.0 or time.monotonic() < deadline:
            for send in (_query, _submission):
                begun = time.perf_counter()
                assert send(victim).status_code == 200
                longest = max(longest, time.perf_counter() - begun)
            time.sleep(0.002)
        over.set()
        statuses = [status for one in attacks for status in one.result()]
    return Delay(case, len(statuses), frozenset(statuses), longest * 1_000)


def _query(victim: Caller) -> httpx.Response:
    return victim.ask("list_wallets")


def _submission(victim: Caller) -> httpx.Response:
    return victim.submit("update_user_name", {"userId": victim.user_id, "userName": unique("name")})


def fuzz_delays(server: Server, findings: Findings, chance: random.Random, *, seconds: float) -> list[Delay]:
    """Every case, in a random order. A wait beyond its bound is a finding, and so is an answer of the 500s."""
    attacker, victim = new_sub_organization(server.caller), new_sub_organization(server.caller)
    records = create_records(attacker)
    every = (*CASES, *largest_cases(records))
    cases = chance.sample(every, len(every))
    delays = [_measured(attacker, records, victim, case, seconds / len(cases)) for case in cases]
    for delay in delays:
        findings.tried += delay.sent
        if delay.longest_ms > delay.case.bound_ms:
            said = f"another waits {delay.longest_ms:.0f} ms, bound {delay.case.bound_ms}"
            findings.add(f"{delay.case.name}: {said}", b"")
        if any(status >= 500 and status != 503 for status in delay.statuses):
            findings.add(f"{delay.case.name}: answered {sorted(delay.statuses)}", b"")
    return delays
