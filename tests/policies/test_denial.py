"""A denial as the API sends it."""

from __future__ import annotations

from keystead.policies.authorize import authorize
from keystead.policies.denial import denied
from tests.support.policy_fixtures import allow, deny, request

FAILING = "wallet.id == 'W1'"


def test_the_refusal_on_the_wire() -> None:
    decision = authorize(*request("A", "DELETE_USERS", [allow("false"), allow(FAILING)]))
    refusal = denied(decision, "ACTIVITY_TYPE_DELETE_USERS", "X")
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
    decision = authorize(*request("A", "DELETE_USERS", [deny(), allow(), deny()]))
    (detail,) = denied(decision, "ACTIVITY_TYPE_DELETE_USERS", "X").details or []
    assert detail["message"] == "The following policies denied this action: P0, P2"
