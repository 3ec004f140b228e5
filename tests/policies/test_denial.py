"""How a judgement reads on the wire."""

from __future__ import annotations

from keystead.policies.denial import denied
from keystead.policies.judgement import judge
from tests.support.policy_fixtures import allow, deny, facts

FAILING = "wallet.id == 'W1'"


def test_the_refusal_on_the_wire() -> None:
    judgement = judge(facts("A", "DELETE_USERS", [allow("false"), allow(FAILING)]))
    refusal = denied(judgement, "ACTIVITY_TYPE_DELETE_USERS", "X")
    assert (refusal.http_status, refusal.grpc_code, refusal.machine_code) == (403, 7, "")
    assert refusal.details == [
        {
            "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
            "message": "No policies evaluated to outcome: Allow",
            "activityId": "X",
            "policyEvaluations": [
                {"policyId": "P0", "outcome": "OUTCOME_DENY_IMPLICIT"},
                {"policyId": "P1", "outcome": "OUTCOME_ERROR"},
            ],
        }
    ]
    judgement = judge(facts("A", "DELETE_USERS", [deny(), allow(), deny()]))
    (detail,) = denied(judgement, "ACTIVITY_TYPE_DELETE_USERS", "X").details or []
    assert detail["message"] == "The following policies denied this action: P0, P2"
