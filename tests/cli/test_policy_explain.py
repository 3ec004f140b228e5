"""`keystead policy explain`: the lines it prints, its warnings, its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keystead.api.enums import Effect
from keystead.api.records import Policy, PolicyOutcome
from keystead.policies.authorize import Rule, Verdict
from tests.describe.test_signing import TO, ethereum
from tests.support.terminal import FakeServer, Terminal, activity, evaluation, policy, refused, user, vote

ID = "01a1ffce-afbf-7700-92ee-ff68bc6982e1"
ANA, BEN, CY = user("Ana", "OPS"), user("Ben", "OPS"), user("Cy")
TWO = policy("Two operators", Effect.ALLOW, "activity.kind == 'CREATE_WALLET'", "approvers.count() >= 2")
BIG = policy("No big transfers", Effect.DENY, "eth.tx.value > 5")
CHANGED = policy("Changed", Effect.DENY, "activity.kind == 'SIGN_TRANSACTION' && eth.tx.value > 5", updated_s=60)
WAITS = ("needs consensus", "a policy allows once more users approve")
DENIES = ("deny: a policy denies it", "a policy denies")
NOTHING = ("deny: nothing allows it", "nothing allows it")
ABSENT = "eth.tx is absent (line 1, column 5)"
UNKNOWN = "eth.tx.value is unknown: the call does not decode (line 1, column 8)"


def said(of: Policy, outcome: str, clause: str | None = None, reason: str | None = None) -> PolicyOutcome:
    return PolicyOutcome(policy_id=of.policy_id, outcome=f"OUTCOME_{outcome}", clause=clause, reason=reason)


@pytest.fixture
def asked(fake: FakeServer) -> FakeServer:
    fake.organization([ANA, BEN, CY], [TWO, BIG, CHANGED], CY.user_id)
    fake.answers["query/get_activity"] = {"activity": activity("COMPLETED", vote(ANA), vote(BEN))}
    return fake


def explained(fake: FakeServer, terminal: Terminal, *evaluations: Any) -> list[str]:
    fake.answers["query/get_policy_evaluations"] = {"policyEvaluations": list(evaluations)}
    printed = terminal.run("policy", "explain", ID)
    assert (printed.code, printed.err) == (0, "")
    return printed.out.splitlines()


def test_vote_by_vote(asked: FakeServer, terminal: Terminal) -> None:
    first = evaluation("Ana", *WAITS, said(TWO, "REQUIRES_CONSENSUS", "consensus"), decided=(TWO.policy_id,))
    second = evaluation("Ben", "allow", "a policy allows", said(TWO, "ALLOW"), decided=(TWO.policy_id,))
    assert explained(asked, terminal, first, second) == [
        f"activity {ID}, CREATE_WALLET, COMPLETED",
        "",
        "submitted by Ana, 2026-09-01 00:00:10Z",
        "  needs consensus: a policy allows once more users approve ('Two operators')",
        "  > Two operators  ALLOW  REQUIRES_CONSENSUS  its consensus needs more approvals",
        "",
        "approved by Ben, 2026-09-01 00:00:10Z",
        "  allow: a policy allows ('Two operators')",
        "  > Two operators  ALLOW  ALLOW  applies: every clause is true",
    ]


def test_a_session_profile_that_does_not_cover_it(asked: FakeServer, terminal: Terminal) -> None:
    denied = evaluation("Ana", Verdict.DENY_EXPLICIT.value, Rule.SESSION_SCOPE.value)
    assert explained(asked, terminal, denied)[2:] == [
        "submitted by Ana, 2026-09-01 00:00:10Z",
        "  deny: the session's profile does not cover it",
        "  no policy was evaluated",
    ]


SAYS: list[tuple[PolicyOutcome, str]] = [
    (said(TWO, "DENY_IMPLICIT", "condition"), "does not apply: its condition is false"),
    (said(TWO, "DENY_IMPLICIT", "consensus"), "does not apply: its consensus is false"),
    (said(TWO, "TIME_INACTIVE", "time"), "would apply at another time: its time is false"),
    (said(TWO, "ERROR", "condition", ABSENT), f"does not apply: in its condition, {ABSENT}"),
    (said(BIG, "DENY_EXPLICIT", "condition", UNKNOWN), f"may apply: in its condition, {UNKNOWN}"),
    (said(TWO, "ERROR", None, "not evaluated: too many steps"), "not evaluated: too many steps"),
    (said(TWO, "REQUIRES_AUTHENTICATORS"), "applies, and waits for proofs that an MFA policy asks for"),
    (said(TWO, "REJECTED"), "could have allowed it without the rejection"),
    (said(BIG, "DENY_EXPLICIT"), "applies: every clause is true"),
    (said(CHANGED, "DENY_IMPLICIT", "time"), "does not apply: its time is false [changed since]"),
    (PolicyOutcome(policy_id="gone", outcome="OUTCOME_ALLOW"), "ALLOW  ALLOW  applies: every clause is true [del"),
    (PolicyOutcome(policy_id="gone", outcome="OUTCOME_DENY_EXPLICIT"), "gone  DENY  DENY_EXPLICIT"),
    (PolicyOutcome(policy_id="gone", outcome="OUTCOME_ERROR", clause="time"), "gone  ?  ERROR"),
    (PolicyOutcome(policy_id="gone", outcome="OUTCOME_NEWER", reason="as yet unknown"), "as yet unknown"),
]


@pytest.mark.parametrize(("outcome", "line"), SAYS, ids=[line for _, line in SAYS])
def test_what_a_policy_said(outcome: PolicyOutcome, line: str, asked: FakeServer, terminal: Terminal) -> None:
    (printed,) = explained(asked, terminal, evaluation("Ana", *NOTHING, outcome))[4:]
    assert line in printed


def test_a_denied_submission(asked: FakeServer, terminal: Terminal) -> None:
    asked.answers["query/get_activity"] = refused(404)
    lines = explained(asked, terminal, evaluation("Cy", *NOTHING, said(BIG, "ERROR", "condition", ABSENT)))
    assert lines[0] == f"submission {ID}, denied: it left no activity"
    assert lines[2:4] == ["submitted, 2026-09-01 00:00:10Z", "  deny: nothing allows it"]


def test_no_policy_was_evaluated(asked: FakeServer, terminal: Terminal) -> None:
    lines = explained(asked, terminal, evaluation("Cy", "allow", "enough members of the root quorum approve"))
    assert lines[-2:] == ["  allow: enough members of the root quorum approve", "  no policy was evaluated"]


def test_a_rejection_without_an_evaluation_of_its_own(asked: FakeServer, terminal: Terminal) -> None:
    rejected = activity("REJECTED", vote(ANA), vote(CY, "REJECTED", at_s=70))
    asked.answers["query/get_activity"] = {"activity": rejected}
    assert explained(asked, terminal, evaluation("Ana", *WAITS))[-1] == "rejected by Cy, 2026-09-01 00:01:10Z"


def test_a_rejection_with_an_evaluation(asked: FakeServer, terminal: Terminal) -> None:
    rejected = activity("REJECTED", vote(ANA), vote(CY, "REJECTED", at_s=70))
    asked.answers["query/get_activity"] = {"activity": rejected}
    lines = explained(asked, terminal, evaluation("Ana", *WAITS), evaluation("Cy", *WAITS, said(TWO, "REJECTED")))
    assert [line for line in lines if " by " in line] == [
        "submitted by Ana, 2026-09-01 00:00:10Z",
        "rejected by Cy, 2026-09-01 00:00:10Z",
    ]


def test_names_cannot_steer_the_terminal(asked: FakeServer, terminal: Terminal) -> None:
    evil = policy("\x1b[2Jevil", Effect.ALLOW)
    asked.organization([ANA], [evil])
    assert "\x1b" not in "".join(explained(asked, terminal, evaluation("Ana", *NOTHING, said(evil, "ALLOW"))))


def test_json(asked: FakeServer, terminal: Terminal) -> None:
    asked.answers["query/get_policy_evaluations"] = {
        "policyEvaluations": [evaluation("Ana", *DENIES, said(BIG, "DENY_EXPLICIT"), decided=(BIG.policy_id,))]
    }
    told = json.loads(terminal.run("policy", "explain", ID, "--json").out)
    assert told["activityId"] == told["activity"]["id"] == ID
    (only,) = told["evaluations"]
    assert (only["verdict"], only["rule"]) == DENIES
    assert only["policyEvaluations"] == [
        {
            "policyId": BIG.policy_id,
            "policyName": "No big transfers",
            "effect": "EFFECT_DENY",
            "outcome": "OUTCOME_DENY_EXPLICIT",
            "decides": True,
        }
    ]


def test_json_has_the_warnings_about_the_policies_that_decided(asked: FakeServer, terminal: Terminal) -> None:
    warnings = [
        {
            "policyId": each.policy_id,
            "policyName": each.policy_name,
            "code": "DENIES_NOTHING",
            "message": "It denies",
        }
        for each in (BIG, CHANGED)
    ]
    asked.answers["query/list_policy_warnings"] = {"policyWarnings": warnings}
    asked.answers["query/get_policy_evaluations"] = {
        "policyEvaluations": [evaluation("Ana", *DENIES, said(BIG, "DENY_EXPLICIT"), decided=(BIG.policy_id,))]
    }
    (warning,) = json.loads(terminal.run("policy", "explain", ID, "--json").out)["warnings"]
    assert (warning["policy_id"], warning["code"]) == (BIG.policy_id, "DENIES_NOTHING")


FAILURES: list[tuple[str, Any, str]] = [
    ("nothing is known of it", refused(404, "unable to find policy evaluations"), "unable to find policy evaluat"),
    ("another form of answers", {"policyEvaluations": [{"id": 1}]}, "get_policy_evaluations cannot be read"),
]


@pytest.mark.parametrize(("answer", "message"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_failures(answer: Any, message: str, asked: FakeServer, terminal: Terminal) -> None:
    asked.answers["query/get_policy_evaluations"] = answer
    printed = terminal.run("policy", "explain", ID)
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith("keystead: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_the_end_of_an_id_is_not_enough(asked: FakeServer, terminal: Terminal) -> None:
    printed = terminal.run("policy", "explain", ID[-8:])
    assert printed.code == 2
    assert "expected a whole id, as `keystead show` prints it" in " ".join(printed.err.split())


def test_records_that_cannot_be_read(asked: FakeServer, terminal: Terminal) -> None:
    asked.answers["query/get_policy_evaluations"] = {"policyEvaluations": []}
    asked.answers["query/list_policies"] = {"policies": [{"policyId": "text"}]}
    printed = terminal.run("policy", "explain", ID)
    assert printed.code == 1
    assert "query/list_policies cannot be read" in printed.err


def test_a_refusal_says_how_to_learn_more(fake: FakeServer, terminal: Terminal) -> None:
    fake.answers["submit/create_wallet"] = refused(403, "not allowed", activityId=ID)
    printed = terminal.run("request", "submit/create_wallet", "{}")
    assert printed.code == 1
    assert f"`keystead policy explain {ID}`" in printed.err


def test_compared_values_are_shown(fake: FakeServer, terminal: Terminal) -> None:
    condition = f"eth.tx.to == '{TO}' && eth.tx.value < 5 && wallet.id == 'x' && eth.tx.function_name == 'f'"
    value = policy("Small", Effect.ALLOW, condition)
    fake.organization([ANA], [value, TWO], ANA.user_id)
    intent = {"signWith": TO, "unsignedTransaction": ethereum(to=TO), "type": "TRANSACTION_TYPE_ETHEREUM"}
    fake.answers["query/get_activity"] = {
        "activity": activity(
            "COMPLETED", vote(ANA), kind="SIGN_TRANSACTION_V2", intent={"signTransactionIntentV2": intent}
        )
    }
    evaluated = evaluation("Ana", *NOTHING, said(value, "DENY_IMPLICIT", "condition"))
    lines = explained(fake, terminal, evaluated)
    assert lines[1:6] == [
        "",
        "values that the conditions compare",
        f"  eth.tx.to             {TO.lower()}",
        "  eth.tx.value          0",
        "  eth.tx.function_name  unknown: the transaction calls no function",
    ]
    told = json.loads(terminal.run("policy", "explain", ID, "--json").out)
    assert told["values"] == {
        "eth.tx.to": [TO.lower()],
        "eth.tx.value": [0],
        "eth.tx.function_name": [{"unknown": "the transaction calls no function"}],
    }
