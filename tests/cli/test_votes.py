"""`keystead approve` and `reject`: what they send, and what they say the activity waits for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.enums import Effect
from keystead.api.records import Policy, User
from tests.support.terminal import FakeServer, Printed, Terminal, activity, policy, refused, user, vote

ID = "01a1ffce-afbf-7700-92ee-ff68bc6982e1"
FINGERPRINT = "sha256:" + "6b" * 32
ANA, BEN, CY, ROOT, ROOT2 = user("Ana", "OPS"), user("Ben", "OPS"), user("Cy"), user("Root"), user("Root2")
TWO = policy("Two operators", Effect.ALLOW, "", "approvers.filter(u, u.tags.contains('OPS')).count() >= 2")
OTHER = policy("Others", Effect.ALLOW, "", "approvers.any(u, u.id == 'id of Cy')")
UNREADABLE = policy("Unreadable", Effect.ALLOW, "", "approvers.many()")


@pytest.fixture
def voted(fake: FakeServer) -> FakeServer:
    fake.organization([ANA, BEN, CY, ROOT, ROOT2], [TWO, OTHER, UNREADABLE], ROOT.user_id, ROOT2.user_id)
    misses(fake, by_policy(TWO, BEN), by_quorum(1, ROOT, ROOT2))
    asked = activity("CONSENSUS_NEEDED", vote(ANA))
    fake.answers["query/get_activity"] = {"activity": asked}
    fake.answers["query/list_activities"] = lambda body: {
        "activities": [] if "after" in body["paginationOptions"] else [asked]
    }
    return fake


def by_policy(policy: Policy, *users: User) -> dict[str, Any]:
    return {"policyId": policy.policy_id, "userIds": [user.user_id for user in users]}


def by_quorum(count: int, *users: User) -> dict[str, Any]:
    return {"count": count, "userIds": [user.user_id for user in users]}


def misses(fake: FakeServer, *ways: dict[str, Any]) -> None:
    fake.answers["query/describe_activities"] = {"activityDescriptions": [{"missingApprovals": ways}]}


def answers(fake: FakeServer, status: str, *votes: Any, **members: Any) -> None:
    for operation in ("approve", "reject"):
        fake.answers[f"submit/{operation}_activity"] = {"activity": activity(status, *votes, **members)}


@pytest.mark.parametrize(
    "target", [FINGERPRINT, ID, ID[-12:], ID[-8:]], ids=["fingerprint", "id", "short", "shorter"]
)
@pytest.mark.parametrize("command", ["approve", "reject"])
def test_sends_the_fingerprint(command: str, target: str, voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA))
    assert terminal.run(command, target, "--yes").code == 0
    ((path, body),) = ((path, body) for path, body in voted.asked if path.startswith("submit/"))
    assert path == f"submit/{command}_activity"
    assert body["type"] == f"ACTIVITY_TYPE_{command.upper()}_ACTIVITY"
    assert body["parameters"] == {"fingerprint": FINGERPRINT}


def test_approves_nothing_but_what_was_stamped(voted: FakeServer, terminal: Terminal) -> None:
    """Something between the server and this command shows another request under the fingerprint."""
    stamped = {**vote(ANA), "message": '{"type": "ACTIVITY_TYPE_CREATE_WALLET", "parameters": {}}'}
    voted.answers["query/get_activity"] = {"activity": activity("CONSENSUS_NEEDED", stamped)}
    answers(voted, "REJECTED", vote(ANA))
    printed = terminal.run("approve", ID, "--yes")
    assert printed.code == 1
    assert "not approved: what is shown here is not the request that a vote is for" in printed.err
    assert not [path for path, _ in voted.asked if path.startswith("submit/")]
    assert "CAUTION  what is shown here is not the request" in terminal.run("show", ID).out
    assert terminal.run("reject", ID, "--yes").code == 0


@pytest.mark.parametrize("target", ["6b" * 32, "sha256:6b", "sha256:" + "6B" * 32, ID.upper(), ID[-7:], "latest"])
def test_a_target_that_is_neither_an_id_nor_a_fingerprint(
    target: str, fake: FakeServer, terminal: Terminal
) -> None:
    printed = terminal.run("approve", target)
    assert printed.code == 2
    assert "expected an activity's id, the last 8 to 12 digits of one, or sha256: and 64 hex digits" in printed.err
    assert not fake.asked


def after_the_vote(printed: Printed) -> list[str]:
    """The lines of the activity as it is after the vote, from its status on."""
    assert printed.code == 0
    _, _, after = printed.out.partition("\n\nactivity")[2].partition("\n\nactivity")
    lines = after.splitlines()
    return lines[[line.startswith("status") for line in lines].index(True) :]


def test_shows_what_is_asked_before_the_vote(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA), vote(BEN))
    assert terminal.run("approve", FINGERPRINT, "--yes").out.splitlines()[:7] == [
        "Create wallet",
        "",
        f"activity     {ID}  CREATE_WALLET",
        f"fingerprint  {FINGERPRINT}",
        "asked        2026-09-01 00:00:00Z",
        "status       CONSENSUS_NEEDED",
        "votes        Ana asked",
    ]


def test_completed(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA), vote(BEN))
    assert after_the_vote(terminal.run("approve", FINGERPRINT, "--yes")) == [
        "status       COMPLETED",
        "votes        Ana asked",
        "             Ben approved",
    ]


@pytest.mark.parametrize("answer", ["y", "YES"])
def test_asks_on_a_terminal(answer: str, voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "COMPLETED", vote(ANA))
    terminal.types(answer)
    printed = terminal.run("approve", FINGERPRINT)
    assert printed.code == 0
    assert "Approve it? [y/N]" in printed.err
    assert voted.asked[-1][0] == "submit/approve_activity"


@pytest.mark.parametrize("answer", ["n", "", "approve"])
def test_no_other_answer_votes(answer: str, voted: FakeServer, terminal: Terminal) -> None:
    terminal.types(answer)
    printed = terminal.run("reject", FINGERPRINT)
    assert printed.code == 1
    assert "nothing was done: the answer was not yes" in printed.err
    assert not [path for path, _ in voted.asked if path.startswith("submit/")]


def test_without_a_terminal_nothing_is_asked(voted: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("approve", FINGERPRINT)
    assert printed.code == 1
    assert "standard input is not a terminal; keystead approve --yes does not ask" in printed.err
    assert not [path for path, _ in voted.asked if path.startswith("submit/")]


def test_what_is_decided_takes_no_vote(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["query/get_activity"] = {"activity": activity("COMPLETED", vote(ANA))}
    printed = terminal.run("approve", ID, "--yes")
    assert (printed.code, printed.out) == (1, "")
    assert f"activity {ID} has status COMPLETED: it waits for no vote" in printed.err


def test_an_end_that_two_activities_share(voted: FakeServer, terminal: Terminal) -> None:
    other = activity("CONSENSUS_NEEDED", activity_id="01a1ffcf" + ID[8:])
    both = [activity("CONSENSUS_NEEDED"), other]
    voted.answers["query/list_activities"] = lambda body: {
        "activities": [] if "after" in body["paginationOptions"] else both
    }
    printed = terminal.run("approve", ID[-12:], "--yes")
    assert printed.code == 1
    assert f"2 activities end in {ID[-12:]}: give the whole id" in printed.err


def test_an_end_that_no_activity_has(voted: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("show", "0123456789ab")
    assert printed.code == 1
    assert "none of the newest 1000 activities is 0123456789ab" in printed.err


def test_rejected(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "REJECTED", vote(ANA), vote(BEN, "REJECTED"))
    assert after_the_vote(terminal.run("reject", FINGERPRINT, "--yes")) == [
        "status       REJECTED",
        "votes        Ana asked",
        "             Ben rejected",
    ]


def test_failed(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "FAILED", vote(ANA), failure={"code": 3, "message": "name is taken"})
    lines = after_the_vote(terminal.run("approve", FINGERPRINT, "--yes"))
    assert "failure      name is taken" in lines


def waits(fake: FakeServer, terminal: Terminal, status: str, *votes: Any) -> list[str]:
    answers(fake, status, *votes)
    return after_the_vote(terminal.run("approve", FINGERPRINT, "--yes"))[1 + len(votes) :]


def test_says_whose_approvals_count(voted: FakeServer, terminal: Terminal) -> None:
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA)) == [
        "waits for    approvals that the policy 'Two operators' counts: Ben",
        "or           1 of the root quorum: Root, Root2",
    ]


def test_says_how_many_of_the_root_quorum(voted: FakeServer, terminal: Terminal) -> None:
    misses(voted, by_quorum(1, ROOT2))
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ROOT)) == ["waits for    1 of the root quorum: Root2"]


def test_names_ten_at_most(voted: FakeServer, terminal: Terminal) -> None:
    others = [user(f"U{number:02}", "OPS") for number in range(13)]
    voted.organization([ANA, *others], [TWO])
    misses(voted, by_policy(TWO, *others))
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
        "waits for    proofs of Ana, by approving with each: API_KEY; PASSKEY or API_KEY; given so far: API_KEY"
    ]


def test_a_vote_is_told_even_where_the_rest_is_not(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["query/describe_activities"] = refused(404)
    assert waits(voted, terminal, "CONSENSUS_NEEDED", vote(ANA)) == []


def test_json(voted: FakeServer, terminal: Terminal) -> None:
    answers(voted, "CONSENSUS_NEEDED", vote(ANA))
    printed = terminal.run("approve", FINGERPRINT, "--json", "--yes")
    assert json.loads(printed.out)["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED"
    assert "Create wallet" in printed.err
    assert [path for path, _ in voted.asked if path.startswith("submit/")] == ["submit/approve_activity"]


def test_a_refusal_is_one_line(voted: FakeServer, terminal: Terminal) -> None:
    voted.answers["submit/approve_activity"] = refused(403, "may not", activityId=ID)
    printed = terminal.run("approve", FINGERPRINT, "--yes")
    assert (printed.code, printed.err.count("\n")) == (1, 1)
    assert f"policy explain {ID}" in printed.err
