"""Policies. Not here: what they mean (`keystead.policies`)."""

from __future__ import annotations

from keystead.api.records import Policy
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

POLICIES = Limit(name="policies", default=1_000, description="Most policies of an organization.", called="policies")

POLICY_CHARACTERS = Limit(
    name="policy_characters",
    default=200_000,
    description="Most characters of all expressions of an organization's policies.",
    called="characters of policies",
)
CHARACTERS_PER_POLICY = Limit(
    name="characters_per_policy",
    default=10_000,
    description="Most characters of the expressions of one policy.",
    called="characters of one policy",
)


class Policies(RecordMap[Policy], frozen=True):
    stored_name = "policy"
    record = Policy
    id_field = "policy_id"
    limits = (POLICIES, POLICY_CHARACTERS, CHARACTERS_PER_POLICY)
    label_field = "policy_name"
    label_called = "policy label"
