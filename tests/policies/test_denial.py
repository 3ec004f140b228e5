"""How a judgement reads: on the wire, and to an operator."""

from __future__ import annotations

from keystead.policies.denial import denied, explained
from keystead.policies.judgement import judge
from tests.policies.cast import allow, deny, facts

FAILING = "wallet.id == 'W1'"
TWO = "approvers.count() >= 2"
SHUT = "CronSpan('0 0 1 1 *', '1m', 'UTC')"


def test_the_refusal_on_the_wire() -> None:
    judgement = judge(facts("A", "DELETE_USERS", [allow("false"), allow(FAILING)]))
    refusal = denied(judgement, "ACTIVITY_TYPE_DELETE_USERS")
    assert (refusal.http_status, refusal.grpc_code, refusal.machine_code) == (403, 7, "")
    assert refusal.details == [
        {
            "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
            "message": "No policies evaluated to outcome: Allow",
            "policyEvaluations": [
                {"policyId": "P0", "outcome": "OUTCOME_DENY_IMPLICIT"},
                {"policyId": "P1", "outcome": "OUTCOME_ERROR"},
            ],
        }
    ]
    judgement = judge(facts("A", "DELETE_USERS", [deny(), allow(), deny()]))
    (detail,) = denied(judgement, "ACTIVITY_TYPE_DELETE_USERS").details or []
    assert detail["message"] == "The following policies denied this action: P0, P2"


def test_the_explanation_names_the_clause_and_the_reason() -> None:
    policies = [allow("false"), deny(FAILING), allow("true", TWO), allow(time=SHUT), allow(FAILING)]
    assert list(explained(judge(facts("A", "DELETE_USERS", policies)))) == [
        "needs consensus: a policy allows once more users approve (P2)",
        "policy P0 (EFFECT_ALLOW): OUTCOME_DENY_IMPLICIT: it does not apply: its condition is false",
        "policy P1 (EFFECT_DENY): OUTCOME_ERROR: its condition failed, so it denies nothing, even where it was "
        "meant to: wallet is absent (line 1, column 1)",
        "policy P2 (EFFECT_ALLOW): OUTCOME_REQUIRES_CONSENSUS: its condition is true; its consensus needs more "
        "approvals",
        "policy P3 (EFFECT_ALLOW): OUTCOME_TIME_INACTIVE: it would apply at another time",
        "policy P4 (EFFECT_ALLOW): OUTCOME_ERROR: its condition failed, so it allows nothing: wallet is absent "
        "(line 1, column 1)",
    ]
    closed = list(explained(judge(facts("A", "DELETE_USERS", policies, fail_closed=True))))
    assert closed[0] == "deny: a policy denies it: a policy denies (P1)"
    assert "it denies because failing is set to deny" in closed[2]
    assert list(explained(judge(facts("R", "DELETE_USERS", policies)))) == [
        "allow: enough members of the root quorum approve",
        "no policy was looked at",
    ]
    assert list(explained(judge(facts("A", "DELETE_USERS", [allow()]))))[1].endswith("all of it is true")
