"""Examples of the operations on policies and features. Not here: the other operations (`operation_examples`)."""

from __future__ import annotations

from typing import Any

from tests.support.callers import unique
from tests.support.organization_fixtures import FEATURE, RecordIds, policy_params


def example_policy() -> dict[str, Any]:
    return policy_params(
        consensus="approvers.count() >= 2", time="time.now > Timestamp('2000-01-01T00:00:00Z')", notes="for tests"
    )


def removed_feature(record_ids: RecordIds) -> dict[str, Any]:
    record_ids.fresh("feature")
    return {"name": FEATURE}


def changed_policy(record_ids: RecordIds) -> dict[str, Any]:
    return {
        "policyId": record_ids.policy_id,
        "policyName": unique("policy"),
        "policyEffect": "EFFECT_DENY",
        "policyCondition": "false",
        "policyConsensus": "approvers.count() >= 3",
        "policyNotes": "never",
    }
