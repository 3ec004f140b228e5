"""Policies. Not here: what they mean (`keystead.policies`)."""

from __future__ import annotations

from keystead.api.records import Policy
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

POLICIES = Limit(name="policies", default=1_000, description="Most policies of an organization.", called="policies")


class Policies(RecordMap[Policy], frozen=True):
    word = "policy"
    record = Policy
    id_field = "policy_id"
    limits = (POLICIES,)
    label_field = "policy_name"
    label_called = "policy label"
