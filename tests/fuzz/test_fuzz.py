"""A short run of each part of the fuzzer, always with the same choices: nothing is found. Nothing is timed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.__main__ import server_to_attack
from fuzz.decoders import fuzz_decoders
from fuzz.delays import measured
from fuzz.findings import Findings
from fuzz.mutating import mutated_bytes, mutated_json
from fuzz.requests import fuzz_requests
from fuzz.worst_requests import CASES
from tests.support.servers import Server

NEVER = float("inf")


@pytest.mark.parametrize("seed", [1, 2])
def test_requests(seed: int, tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    with server_to_attack() as server:
        fuzz_requests(server, findings, random.Random(seed), until=NEVER, limit=250)
    assert findings.tried >= 250
    assert findings.found == []


def test_decoders(tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    fuzz_decoders(findings, random.Random(3), until=NEVER, limit=4_000)
    assert findings.found == []


def test_worst_requests_are_answered(sqlite_server: Server) -> None:
    delays = measured(sqlite_server, CASES, each_s=0)
    assert [delay.case.name for delay in delays if any(status >= 500 for status in delay.statuses)] == []


def test_mutations_differ_from_what_they_began_with() -> None:
    chance, value, data = random.Random(4), {"a": [1, {"b": "text"}]}, bytes(range(64))
    assert sum(mutated_json(value, chance) != value for _ in range(200)) > 180
    assert sum(mutated_bytes(data, chance) != data for _ in range(200)) > 180
    assert value == {"a": [1, {"b": "text"}]}
