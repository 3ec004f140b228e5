"""How long another tenant waits while one tenant sends the worst known requests.

Each case is one kind of request, which one caller sends over several connections. At the same time a user of
another organization queries `list_wallets` and submits `update_user_name`, in turns. The longest wait is compared
with the bound. Here: the measurement. Not here: the requests (`worst_requests`), the limits of one request
(docs/limits.md).
"""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from fuzz.findings import Findings
from fuzz.worst_requests import CASES, Case, largest_cases
from keystead.stamps.signing import ApiKeyPair
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
    with _another_process() as waiting:
        return [_measured(attacker, records, victim, case, each_s, waiting) for case in cases]


def _measured(
    attacker: Caller, records: RecordIds, victim: Caller, case: Case, each_s: float, waiting: Executor
) -> Delay:
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
        base_url = str(victim.http.base_url)
        longest_s = waiting.submit(
            _longest_wait_s, base_url, victim.organization_id, victim.user_id, victim.key, each_s
        )
        try:
            longest_ms = longest_s.result() * 1_000
        finally:
            over.set()
        statuses = [status for one in attacks for status in one.result()]
    return Delay(case, len(statuses), frozenset(statuses), longest_ms)


def _longest_wait_s(base_url: str, organization_id: str, user_id: str, key: ApiKeyPair, each_s: float) -> float:
    """The longest wait of the victim, in seconds. It runs in its own process, because in the attacker's process it
    would also wait for the attacker's threads."""
    longest_s, deadline = 0.0, time.monotonic() + each_s
    with httpx.Client(base_url=base_url, timeout=60) as http:
        victim = Caller(http, organization_id, user_id, key)
        while longest_s == 0.0 or time.monotonic() < deadline:
            for send in (_query, _submission):
                begun = time.perf_counter()
                assert send(victim).status_code == 200
                longest_s = max(longest_s, time.perf_counter() - begun)
            time.sleep(0.002)
    return longest_s


def _another_process() -> ProcessPoolExecutor:
    """A process for the victim. It is spawned, because a process with threads must not fork."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def _query(victim: Caller) -> httpx.Response:
    return victim.ask("list_wallets")


def _submission(victim: Caller) -> httpx.Response:
    return victim.submit("update_user_name", {"userId": victim.user_id, "userName": unique("name")})


def fuzz_delays(server: Server, findings: Findings, chance: random.Random, *, seconds: float) -> list[Delay]:
    """Measure every case, in a random order. A wait above its bound is a finding, and so is a 5xx answer other
    than 503."""
    attacker, victim = new_sub_organization(server.caller), new_sub_organization(server.caller)
    records = create_records(attacker)
    every = (*CASES, *largest_cases(records))
    cases = chance.sample(every, len(every))
    each_s = seconds / len(cases)
    with _another_process() as waiting:
        delays = [_measured(attacker, records, victim, case, each_s, waiting) for case in cases]
    for delay in delays:
        findings.tried += delay.sent
        if delay.longest_ms > delay.case.bound_ms:
            said = f"another waits {delay.longest_ms:.0f} ms, bound {delay.case.bound_ms}"
            findings.add(f"{delay.case.name}: {said}", b"")
        if any(status >= 500 and status != 503 for status in delay.statuses):
            findings.add(f"{delay.case.name}: answered {sorted(delay.statuses)}", b"")
    return delays
