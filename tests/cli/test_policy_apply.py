"""`keystead policy list`, `diff` and `apply`: what is shown, what is asked for, and that a second time changes
nothing. Against a live server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keystead import generate_api_key
from tests.support.servers import Server, user_with_key
from tests.support.terminal import People, Terminal

ONE = """
policyName = "One"
effect = "EFFECT_ALLOW"
consensus = "approvers.count() >= 2"
condition = "activity.kind == 'CREATE_WALLET'"
"""
TWO = {"policyName": "Two", "effect": "EFFECT_DENY", "condition": "activity.kind == 'DELETE_WALLETS'", "notes": "n"}


@pytest.fixture
def people(sqlite_server: Server, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> People:
    """Root alone is the root quorum."""
    keys = {name: generate_api_key() for name in ("Root", "Ana")}
    users = [user_with_key(key, name) for name, key in keys.items()]
    organization = sqlite_server.installation.add_organization(*users)
    return People(terminal, monkeypatch, sqlite_server.base_url, organization.id, keys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.toml").write_text(ONE)
    (tmp_path / "two.json").write_text(json.dumps(TWO))
    return tmp_path


def names(people: People) -> list[str]:
    return [each["policyName"] for each in json.loads(people.run("Root", "policy", "list", "--json").out)]


def test_applied_once_and_again(people: People, folder: Path) -> None:
    compared = people.run("Root", "policy", "diff", str(folder))
    assert (compared.code, names(people)) == (1, [])
    assert compared.out.splitlines() == [
        "policy 'One', new",
        "  + name: One",
        "  + effect: EFFECT_ALLOW",
        "  + consensus: approvers.count() >= 2",
        "  + condition: activity.kind == 'CREATE_WALLET'",
        "policy 'Two', new",
        "  + name: Two",
        "  + effect: EFFECT_DENY",
        "  + condition: activity.kind == 'DELETE_WALLETS'",
        "  + notes: n",
    ]
    applied = people.run("Root", "policy", "apply", str(folder), "--yes")
    assert (applied.code, applied.out) == (0, compared.out)
    assert names(people) == ["One", "Two"]

    for command in (("diff",), ("apply", "--yes")):
        again = people.run("Root", "policy", *command, str(folder))
        assert (again.code, again.out) == (0, "Nothing to do: the organization has the policies of the files.\n")


def test_changed(people: People, folder: Path) -> None:
    people.run("Root", "policy", "apply", str(folder), "--yes")
    (folder / "one.toml").write_text(
        ONE.replace(">= 2", ">= 3") + "time = \"time.now > Timestamp('2026-01-01T00:00:00Z')\"\n"
    )
    applied = people.run("Root", "policy", "apply", str(folder), "--yes")
    assert applied.code == 0, applied.err
    assert applied.out.splitlines() == [
        "policy 'One', changed",
        "  - consensus: approvers.count() >= 2",
        "  + consensus: approvers.count() >= 3",
        "  + time: time.now > Timestamp('2026-01-01T00:00:00Z')",
    ]
    (folder / "one.toml").write_text('policyName = "One"\neffect = "EFFECT_ALLOW"\ncondition = "wallet.imported"\n')
    assert people.run("Root", "policy", "apply", str(folder), "--yes").code == 0
    assert people.run("Root", "policy", "diff", str(folder)).code == 0


MISTAKEN = """
[[policies]]
policyName = "Mistaken"
effect = "EFFECT_ALLOW"
consensus = "approvers.any(u, u.tags.contains('operators') || u.id == '0199a8f2-0000-7000-8000-000000000001')"
condition = "wallet.id == '{wallet}'"

[[policies]]
policyName = "Closing"
effect = "EFFECT_DENY"
condition = "activity.kind == 'CREATE_POLICY'"
"""
OTHER = "applies to CREATE_POLICY and not to CREATE_POLICIES"


@pytest.mark.parametrize("command", ["diff", "apply"])
def test_mistakes_are_warned_of_before_anything_is_asked(command: str, people: People, tmp_path: Path) -> None:
    people.run("Root", "request", "create_wallet", '{"walletName": "W", "accounts": []}')
    (wallet,) = json.loads(people.run("Root", "request", "list_wallets").out)["wallets"]
    (tmp_path / "policies.toml").write_text(MISTAKEN.format(wallet=wallet["walletId"]))
    people.terminal.types("n")
    printed = people.run("Root", "policy", command, str(tmp_path))
    start = "keystead: WARNING  ALLOW policy 'Mistaken' may never apply: approvers[]."
    tag, unknown, other = printed.err.splitlines()[:3]
    assert tag == (
        f"{start}tags[] is compared with 'operators', but no user tag has this id: ids are UUIDs in lower "
        "case [IMPOSSIBLE_LITERAL]"
    )
    assert unknown.startswith(f"{start}id is compared with '0199a8f2-")
    assert unknown.endswith("but no user has this id [IMPOSSIBLE_LITERAL]")
    assert OTHER in other
    assert names(people) == []


def test_warnings_know_the_policies_that_stay(people: People, tmp_path: Path) -> None:
    closing = {"policyName": "C", "effect": "EFFECT_DENY", "condition": "activity.kind == 'CREATE_POLICIES'"}
    people.run("Root", "request", "create_policy", json.dumps(closing))
    one = {"policyName": "O", "effect": "EFFECT_DENY", "condition": "activity.kind == 'CREATE_POLICY'"}
    (tmp_path / "one.json").write_text(json.dumps(one))
    assert OTHER not in people.run("Root", "policy", "diff", str(tmp_path)).err
    assert OTHER in people.run("Root", "policy", "diff", str(tmp_path), "--prune").err


def test_deletes_only_when_told_to(people: People, folder: Path) -> None:
    people.run("Root", "policy", "apply", str(folder), "--yes")
    (folder / "two.json").unlink()
    kept = people.run("Root", "policy", "apply", str(folder), "--yes")
    assert (kept.code, names(people)) == (0, ["One", "Two"])
    assert "in no file, and not deleted without --prune: 'Two'" in kept.out
    pruned = people.run("Root", "policy", "apply", str(folder), "--yes", "--prune")
    assert (pruned.code, names(people)) == (0, ["One"])
    assert "policy 'Two', deleted" in pruned.out


def test_policies_of_proxies_are_not_pruned(people: People, folder: Path) -> None:
    assert people.run("Root", "auth-proxy", "create").code == 0
    pruned = people.run("Root", "policy", "apply", str(folder), "--yes", "--prune")
    assert (pruned.code, len(names(people))) == (0, 3)


def test_waits_for_approvals(people: People, folder: Path) -> None:
    rules = {"policyName": "R", "effect": "EFFECT_ALLOW", "consensus": "approvers.count() >= 2"}
    people.run("Root", "request", "submit/create_policy", json.dumps(rules))
    waiting = people.run("Ana", "policy", "apply", str(folder), "--yes")
    assert waiting.code == 1
    assert "has status CONSENSUS_NEEDED; keystead show" in waiting.err
    assert names(people) == ["R"]


def test_asks(people: People, folder: Path) -> None:
    people.terminal.types("n")
    assert people.run("Root", "policy", "apply", str(folder)).code == 1
    assert names(people) == []
    people.terminal.types("y")
    asked = people.run("Root", "policy", "apply", str(folder))
    assert (asked.code, names(people)) == (0, ["One", "Two"])
    assert "Make 2 changes? [y/N]" in asked.err


@pytest.mark.parametrize("command", ["diff", "apply", "lint"])
def test_malformed(command: str, people: People, folder: Path) -> None:
    (folder / "one.toml").write_text(ONE.replace("EFFECT_ALLOW", "ALLOW"))
    refused = people.run("Root", "policy", command, str(folder))
    assert refused.code == 2
    assert "one.toml.effect: 'ALLOW' is unknown: expected EFFECT_ALLOW or EFFECT_DENY" in refused.err


def test_listed(people: People, folder: Path) -> None:
    people.run("Root", "policy", "apply", str(folder), "--yes")
    header, one, two = people.run("Root", "policy", "list").out.splitlines()
    assert header.split() == ["policy", "name", "effect", "consensus", "condition", "time"]
    assert one.split()[1:3] == ["One", "ALLOW"]
    assert two.split()[1:3] == ["Two", "DENY"]
