"""From a submission to its end at a terminal, on a real server: denied, explained, followed, approved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from keystead import generate_api_key
from keystead.client.credentials import ENVIRONMENT
from keystead.stamps.signing import ApiKeyPair
from tests.support.servers import Server, user_with_key
from tests.support.terminal import Printed, Terminal

WALLET = '{"walletName":"Reserve","accounts":[]}'
CASES = """
[[cases]]
name = "Ana and Ben make one"
who = "Ana"
type = "ACTIVITY_TYPE_CREATE_WALLET"
approvals = ["Ben"]
expect = "allow"
by = "Two make wallets"
"""


@dataclass
class People:
    """Types commands as the one who is named. Root is the root quorum."""

    terminal: Terminal
    monkeypatch: pytest.MonkeyPatch
    base_url: str
    organization_id: str
    keys: dict[str, ApiKeyPair]

    def run(self, name: str, *arguments: str) -> Printed:
        values = {
            "base_url": self.base_url,
            "organization_id": self.organization_id,
            "api_public_key": self.keys[name].public_key,
            "api_private_key": self.keys[name].private_key,
        }
        for field, variable in ENVIRONMENT.items():
            self.monkeypatch.setenv(variable, values[field])
        return self.terminal.run(*arguments)


@pytest.fixture
def people(sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> People:
    keys = {name: generate_api_key() for name in ("Root", "Ana", "Ben", "Cy")}
    users = {name: user_with_key(key, name) for name, key in keys.items()}
    organization = sqlite_server.installation.add_organization(*users.values())
    people = People(terminal, monkeypatch, sqlite_server.base_url, organization.id, keys)
    either = " || ".join(f"u.id == '{users[name].user_id}'" for name in ("Ana", "Ben"))
    policy = {
        "policyName": "Two make wallets",
        "effect": "EFFECT_ALLOW",
        "notes": "",
        "condition": "activity.kind == 'CREATE_WALLET'",
        "consensus": f"approvers.filter(u, {either}).count() >= 2",
    }
    assert people.run("Root", "request", "submit/create_policy", json.dumps(policy)).code == 0
    return people


def test_approved(people: People, tmp_path: Path) -> None:
    submitted = json.loads(people.run("Ana", "request", "submit/create_wallet", WALLET).out)["activity"]
    assert submitted["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"

    explained = people.run("Cy", "policy", "explain", submitted["id"]).out
    assert "submitted by Ana" in explained
    assert "> Two make wallets  ALLOW  REQUIRES_CONSENSUS  its consensus needs more approvals" in explained

    again = people.run("Ana", "approve", submitted["fingerprint"])
    assert again.out.splitlines()[1:] == [
        "status    CONSENSUS_NEEDED",
        "votes     Ana approved",
        "waits for approvals that the policy 'Two make wallets' counts: Ben",
        "or        1 of the root quorum: Root",
    ]
    uncounted = people.run("Cy", "approve", submitted["id"])
    assert uncounted.code == 1
    assert "You don't have sufficient permissions" in uncounted.err

    assert "status    COMPLETED" in people.run("Ben", "approve", submitted["id"]).out
    assert "approved by Ben" in people.run("Cy", "policy", "explain", submitted["id"]).out
    late = people.run("Root", "reject", submitted["id"])
    assert late.code == 1
    assert "already in status" in late.err

    (tmp_path / "cases.toml").write_text(CASES)
    assert people.run("Cy", "policy", "test", str(tmp_path / "cases.toml"), "--live").code == 0


def test_rejected(people: People) -> None:
    submitted = json.loads(people.run("Ben", "request", "submit/create_wallet", WALLET).out)["activity"]
    rejected = people.run("Root", "reject", submitted["fingerprint"])
    assert rejected.out.splitlines()[1:] == [
        "status    REJECTED",
        "votes     Ben approved",
        "          Root rejected",
    ]
    assert "rejected by Root" in people.run("Ben", "policy", "explain", submitted["id"]).out


def test_denied(people: People) -> None:
    denied = people.run("Cy", "request", "submit/create_wallet", WALLET)
    assert denied.code == 1
    activity_id = denied.err.split("`")[1].removeprefix("keystead policy explain ")
    explained = people.run("Cy", "policy", "explain", activity_id).out.splitlines()
    assert explained[0] == f"submission {activity_id}, denied: it left no activity"
    assert explained[3:] == [
        "  deny: nothing allows it",
        "    Two make wallets  ALLOW  DENY_IMPLICIT  does not apply: its consensus is false",
    ]


def test_followed(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    people.run("Ana", "request", "submit/create_wallet", WALLET)
    monkeypatch.setattr("keystead.cli.following.time", SimpleNamespace(sleep=interrupt))
    printed = people.run("Cy", "activities", "--follow")
    assert printed.code == 0
    assert printed.out.splitlines()[-1].split()[3:] == ["CONSENSUS_NEEDED", "1", "vote", "CREATE_WALLET", "Ana"]
