"""What the record of a decision says of each policy, for each thing that can happen to the activity."""

from __future__ import annotations

import pytest

from keystead.pipeline.activity import Event
from keystead.pipeline.authorization import evaluation_of
from keystead.policies.authorize import authorize
from keystead.policies.policy_evaluation import EvaluationOutcome
from tests.support.commit_samples import an_activity, an_organization
from tests.support.policy_fixtures import allow, deny, request

ALLOWS, WAITS, REJECTED = EvaluationOutcome.ALLOW, EvaluationOutcome.REQUIRES_CONSENSUS, EvaluationOutcome.REJECTED
PROOFS, NONE = EvaluationOutcome.REQUIRES_AUTHENTICATORS, EvaluationOutcome.DENY_IMPLICIT


@pytest.mark.parametrize(
    ("event", "outcomes"),
    [
        (Event.EXECUTED, [ALLOWS, WAITS, NONE]),
        (Event.LACKS_CONSENSUS, [ALLOWS, WAITS, NONE]),
        (Event.REJECTED, [REJECTED, REJECTED, NONE]),
        (Event.LACKS_AUTHENTICATORS, [PROOFS, WAITS, NONE]),
    ],
)
def test_outcomes_on_record(event: Event, outcomes: list[EvaluationOutcome]) -> None:
    decision = authorize(
        *request("A", "DELETE_USERS", [allow(), allow("true", "approvers.count() >= 2"), deny("false")])
    )
    activity = an_activity(an_organization())
    recorded = evaluation_of(decision, event, "1", activity, activity.votes[0], 1)
    assert [each.outcome for each in recorded.policy_evaluations] == outcomes
    assert recorded.verdict == decision.verdict.value
