"""A tenant that waits while others send: its requests one after the other, and the longest wait.

Two things keep other programs on the machine out of the result. A wait counts as long as the server or its database
had a processor meanwhile (Linux tells it), and no longer. And a case above its bound is measured again (`delays`):
what the server does itself takes as long each time.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import httpx

from fuzz.processor_time import Processes
from keystead.stamps.signing import ApiKeyPair
from tests.support.callers import Caller, unique


@dataclass(frozen=True)
class Wait:
    """One request of the tenant that waits, in milliseconds. `used_ms`: processor time that the server and its
    database used meanwhile."""

    whole_ms: float
    used_ms: float

    @property
    def ms(self) -> float:
        """The time that counts: at most the whole wait, because several threads may have used more."""
        return min(self.whole_ms, self.used_ms)


def longest_wait(
    processes: Processes, base_url: str, organization_id: str, user_id: str, key: ApiKeyPair, each_s: float
) -> Wait:
    """The longest wait of the victim. It runs in its own process, because in the attacker's process it would also
    wait for the attacker's threads."""
    longest, deadline = Wait(0.0, 0.0), time.monotonic() + each_s
    with httpx.Client(base_url=base_url, timeout=60) as http:
        victim = Caller(http, organization_id, user_id, key)
        while longest.whole_ms == 0.0 or time.monotonic() < deadline:
            for send in (_query, _submission):
                begun_s, used_s = time.perf_counter(), processes.used_s()
                assert send(victim).status_code == 200
                whole_s, used_s = time.perf_counter() - begun_s, processes.used_s() - used_s
                wait = Wait(whole_s * 1_000, used_s * 1_000)
                longest = max(longest, wait, key=lambda one: one.ms)
            time.sleep(0.002)
    return longest


def another_process() -> ProcessPoolExecutor:
    """A process for the victim. It is spawned, because a process with threads must not fork. It has loaded this
    module already, so that no attack lasts until it has."""
    process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    process.submit(_load).result()
    return process


def _load() -> None:
    """The process that runs this has loaded this module."""


def _query(victim: Caller) -> httpx.Response:
    return victim.ask("list_wallets")


def _submission(victim: Caller) -> httpx.Response:
    return victim.submit("update_user_name", {"userId": victim.user_id, "userName": unique("name")})
