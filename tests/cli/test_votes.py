"""`keystead approve` and `reject`: what they send, and what they say the activity waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.enums import Effect
from tests.support.terminal import FakeServer, Terminal, activity, policy, refused, user, vote

ID = "01a1ffce-afbf-7700-92ee-ff68bc6982e1"
FINGERPRINT = "sha256:" + "6b" * 32
ANA, BEN, CY, ROOT, ROOT2 = user("Ana", "OPS"), user("Ben", "OPS"), user("Cy"), user("Root"), user("Root2")
TWO = policy("Two operators", Effect.ALLOW, "", "approvers.filter(u, u.tags.contains('OPS')).count() >= 2")
OTHER = policy("Others", Effect.ALLOW, "", "approvers.any(u, u.id == 'id of Cy')")
UNREADABLE = policy("Unreadable", Effect.ALLOW, "", "approvers.many()")


@pytest.fixture
def voted(fake: FakeServer) -> FakeServer:
    fake.organization([ANA, BEN, CY, ROOT, ROOT2], [TWO, OTHER, UNREADABLE], ROOT.user_id, ROOT2.user_id)
    fake.answers["query/get_policy_evaluations"] = {"policyEvaluations": [{"policyIds": [TWO.policy_id]}]}
    fake.answers["query/get_activity"] = {"activity": activity("CONSENSUS_NEEDED", vote(ANA))}
    return fake


def answers(fake: FakeServer, status: str, *votes: Any, **members: Any) -> None:
    for operation in ("approve", "reject"):
        fake.answers[f"submit/{operation}_activity"] = {"activity": activity(status, *votes, **members)}


@pytest.mark.parametrize("target", [FINGERPRINT, ID], ids=["fingerprint", "id"])
@pytest.mark.parametrize("command", ["approve", "reject"])
def test_sends_the_fingerprint(command: str, target: str, voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA))
    assert terminal.run(command, target).code == 0
    ((path, body),) = ((path, body) for path, body in voted.asked if path.startswith("submit/"))
    assert path == f"submit/{command}_activity"
    assert body["type"] == f"ACTIVITY_TYPE_{command.upper()}_ACTIVITY"
    assert body["parameters"] == {"fingerprint": FINGERPRINT}


@pytest.mark.parametrize("target", ["6b" * 32, "sha256:6b", "sha256:" + "6B" * 32, ID.upper(), "latest"])
def test_refuses_what_is_neither(target: str, fake: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("approve", target)
    assert printed.code == 2
    assert "expected sha256: and 64 hex digits, or an activity's id" in printed.err
    assert not fake.asked


def test_completed(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA), vote(BEN))
    assert terminal.run("approve", FINGERPRINT).out.splitlines() == [
        f"activity  {ID}  CREATE_WALLET",
        "status    COMPLETED",
        "votes     Ana approved",
        "          Ben approved",
    ]


def test_rejected(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "REJECTED", vote(ANA), vote(BEN, "REJECTED"))
    assert terminal.run("reject", FINGERPRINT).out.splitlines()[1:] == [
        "status    REJECTED",
        "votes     Ana approved",
        "          Ben rejected",
    ]


def test_failed(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "FAILED", vote(ANA), failure={"code": 3, "message": "name is taken"})
    printed = terminal.run("approve", FINGERPRINT)
    assert printed.code == 0
    assert "failure   name is taken" in printed.out


def waits(fake: FakeServer, terminal: Terminal, status: str, *votes: Any) -> list[str]:
    answers(fake, status, *votes)
    lines = terminal.run("approve", FINGERPRINT).out.splitlines()
    return lines[2 + len(votes) :]


def test_says_whose_approvals_count(voted: FakeServer, terminal: Terminal) -> None:
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA)) == [
        "waits for approvals that the policy 'Two operators' counts: Ben",
        "or        1 of the root quorum: Root, Root2",
    ]


def test_says_how_many_of_the_root_quorum(voted: FakeServer, terminal: Terminal) -> None:
    voted.organization([ANA, ROOT, ROOT2], [], ROOT.user_id, ROOT2.user_id, threshold=2)
    voted.answers["query/get_policy_evaluations"] = {"policyEvaluations": []}
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ROOT)) == ["waits for 1 of the root quorum: Root2"]


def test_a_policy_that_cannot_be_read_counts_nobody(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["query/get_policy_evaluations"] = {"policyEvaluations": [{"policyIds": [UNREADABLE.policy_id]}]}
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA)) == ["waits for 1 of the root quorum: Root, Root2"]


def test_names_ten_at_most(voted: FakeServer, terminal: Terminal) -> None:
    crowd = [user(f"U{number:02}", "OPS") for number in range(13)]
    voted.organization([ANA, *crowd], [TWO])
    (line,) = waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA))
    assert line.endswith("U08, U09 and 3 more")


def test_says_which_proofs_are_missing(voted: FakeServer, terminal: Terminal) -> None:
    method = {"type": "AUTHENTICATION_TYPE_API_KEY"}
    passkey = {"type": "AUTHENTICATION_TYPE_PASSKEY"}
    voted.answers["query/get_mfa_status"] = {
        "mfaStatuses": [
            {"userId": BEN.user_id, "satisfied": True, "requiredMethods": [], "satisfiedMethods": []},
            {
                "userId": ANA.user_id,
                "satisfied": False,
                "requiredMethods": [{"any": [method]}, {"any": [passkey, method]}],
                "satisfiedMethods": [method],
            },
        ]
    }
    assert waits(voted, terminal, "AUTHENTICATORS_NEEDED", vote(ANA)) == [
        "waits for proofs of Ana, by approving with each: API_KEY; PASSKEY or API_KEY; given so far: API_KEY"
    ]


def test_a_vote_is_told_even_where_the_rest_is_not(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["query/get_policy_evaluations"] = refused(404)
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA)) == []


def test_json(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "CONSENSUS_NEEDED", vote(ANA))
    printed = terminal.run("approve", FINGERPRINT, "--json")
    assert json.loads(printed.out)["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    assert [path for path, _ in voted.asked] == ["submit/approve_activity"]


def test_a_refusal_is_one_line(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["submit/approve_activity"] = refused(403, "may not", activityId=ID)
    printed = terminal.run("approve", FINGERPRINT)
    assert (printed.code, printed.out, printed.err.count("\n")) == (1, "", 1)
    assert f"policy explain {ID}" in printed.err
