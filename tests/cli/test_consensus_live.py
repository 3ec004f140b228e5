"""From a submission to its end at a terminal, on a real server: denied, explained, followed, approved."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from keystead import generate_api_key
from tests.support.servers import Server, user_with_key
from tests.support.terminal import People, Terminal

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

    again = people.run("Ana", "approve", submitted["fingerprint"], "--yes")
    assert again.out.splitlines()[0] == "Create wallet 'Reserve'"
    assert again.out.splitlines()[-4:] == [
        "status       CONSENSUS_NEEDED",
        "votes        Ana asked, with API key 'key'",
        "waits for    approvals that the policy 'Two make wallets' counts: Ben",
        "or           1 of the root quorum: Root",
    ]
    uncounted = people.run("Cy", "approve", submitted["id"], "--yes")
    assert uncounted.code == 1
    assert "You don't have sufficient permissions" in uncounted.err

    assert "status       COMPLETED" in people.run("Ben", "approve", submitted["id"], "--yes").out
    assert "approved by Ben" in people.run("Cy", "policy", "explain", submitted["id"]).out
    late = people.run("Root", "reject", submitted["id"], "--yes")
    assert late.code == 1
    assert "it waits for no vote" in late.err

    (tmp_path / "cases.toml").write_text(CASES)
    assert people.run("Cy", "policy", "test", str(tmp_path / "cases.toml"), "--live").code == 0


def test_rejected(people: People) -> None:
    submitted = json.loads(people.run("Ben", "request", "submit/create_wallet", WALLET).out)["activity"]
    rejected = people.run("Root", "reject", submitted["fingerprint"], "--yes")
    assert rejected.out.splitlines()[-3:] == [
        "status       REJECTED",
        "votes        Ben asked, with API key 'key'",
        "             Root rejected, with API key 'key'",
    ]
    assert "rejected by Root" in people.run("Ben", "policy", "explain", submitted["id"]).out


def test_denied(people: People) -> None:
    denied = people.run("Cy", "request", "create_wallet", WALLET)
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
    last = printed.out.splitlines()[-1]
    assert last.split()[3:6] == ["CONSENSUS_NEEDED", "1", "vote"]
    assert last.endswith("  create wallet 'Reserve'  by Ana")
