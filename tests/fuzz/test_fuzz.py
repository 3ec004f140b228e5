"""A short run of each part of the fuzzer, always with the same choices: nothing is found. Nothing is timed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fuzz import costly_votes, large_organizations, policies
from fuzz.__main__ import server_to_attack
from fuzz.decoders import fuzz_decoders
from fuzz.delays import CONNECTIONS, measuring, of_crowd, of_one
from fuzz.findings import Findings
from fuzz.mutating import mutated_bytes, mutated_json
from fuzz.policies import fuzz_policies
from fuzz.requests import fuzz_requests
from fuzz.worst_requests import CASES, Case, every_case
from keystead.primitives.unreadable import Unreadable
from tests.support.authorization_scenario import new_sub_organization
from tests.support.organization_fixtures import create_records
from tests.support.removed_parts import Removal, random_removal
from tests.support.servers import Server

NEVER = float("inf")


@pytest.mark.parametrize("seed", [1, 2])
def test_requests(seed: int, tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    with server_to_attack("sqlite") as server:
        fuzz_requests(server, findings, random.Random(seed), until=NEVER, limit=250)
    assert findings.tried >= 250
    assert findings.found == []


def test_decoders(tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    fuzz_decoders(findings, random.Random(3), until=NEVER, limit=4_000)
    assert findings.found == []


def test_policies(tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    counts = fuzz_policies(findings, random.Random(5), until=NEVER, limit=4_000)
    assert findings.found == []
    assert min(counts[f"{seen} of {truth}"] for seen in ("unknown",) for truth in ("true", "false")) > 100


def test_a_text_in_the_place_of_what_is_unknown_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer finds placeholders, which it looks for."""

    def with_placeholders(chance: random.Random) -> Removal:
        removal = random_removal(chance)
        return Removal(placeholders(removal.seen), removal.truth)

    monkeypatch.setattr(policies, "random_removal", with_placeholders)
    findings = Findings(tmp_path)
    policies.fuzz_policies(findings, random.Random(5), until=NEVER, limit=1_000)
    assert any("DENY is silent" in found for found in findings.found)
    assert any("it is True" in found for found in findings.found)


def placeholders(facts: Any) -> Any:
    match facts:
        case Unreadable():
            return ""
        case dict():
            return {name: placeholders(value) for name, value in facts.items()}
        case list():
            return [placeholders(value) for value in facts]
        case _:
            return facts


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_worst_requests_are_answered(case: Case, sqlite_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tenant that has sent nothing before. What a case prepares is smaller here."""
    monkeypatch.setattr(costly_votes, "APPROVALS_MAX", costly_votes.USERS_AT_ONCE)
    monkeypatch.setattr(large_organizations, "USERS", 20)
    monkeypatch.setattr(large_organizations, "TAGS", 10)
    tenant = new_sub_organization(sqlite_server.caller)
    response = case.send(tenant, create_records(tenant))
    assert response.status_code == case.status, response.text[:300]


def test_delays_are_measured(sqlite_server: Server) -> None:
    with measuring(sqlite_server) as measure:
        for make, case in zip(every_case()[:2], CASES[:2], strict=True):
            delay = measure(make.name, of_one(sqlite_server, make), 0)
            assert delay.statuses == {case.status}
            assert delay.sent >= CONNECTIONS
            assert delay.longest.whole_ms > 0
        crowd = measure("crowd", of_crowd(sqlite_server, CASES[:3]), 0)
    assert crowd.statuses == {case.status for case in CASES[:3]}


def test_a_case_that_deletes_its_organization_leaves_the_others_theirs(sqlite_server: Server) -> None:
    every = {make.name: make for make in every_case()}
    deletes = every["ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION: long texts and large numbers"]
    with measuring(sqlite_server) as measure:
        first, second = (measure(make.name, of_one(sqlite_server, make), 0) for make in (deletes, every_case()[0]))
    assert 200 in first.statuses
    assert second.statuses == {200}


def test_mutations_differ_from_what_they_began_with() -> None:
    chance, value, data = random.Random(4), {"a": [1, {"b": "text"}]}, bytes(range(64))
    assert sum(mutated_json(value, chance) != value for _ in range(200)) > 180
    assert sum(mutated_bytes(data, chance) != data for _ in range(200)) > 180
    assert value == {"a": [1, {"b": "text"}]}
