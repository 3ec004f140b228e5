"""What the log says when a policy is made that may not do what its author meant.

Here: which policies an activity made, and the lines. Not here: what is unsafe about them (`policies.warnings`).
"""

from __future__ import annotations

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import Activity
from keystead.policies.warnings import unsafe_denials
from keystead.server.logs import logger

_KINDS = frozenset({"CREATE_POLICY", "CREATE_POLICIES", "UPDATE_POLICY"})


class _Made(msgspec.Struct, rename="camel"):
    """What the results of these activities have in common."""

    policy_id: str | None = None
    policy_ids: tuple[str, ...] = ()


def makes_policies(activity: Activity) -> bool:
    return activity.status is ActivityStatus.COMPLETED and activity_kind(activity.type) in _KINDS


def warn_of_unsafe_policies(
    activity: Activity, organization: Organization, request_id: str, *, fail_closed: bool
) -> None:
    """Log a warning for each DENY policy of the activity that can fail where it was meant to deny."""
    made = [msgspec.json.decode(result, type=_Made) for result in activity.result.values()]
    policy_ids = [policy_id for one in made for policy_id in (one.policy_id, *one.policy_ids)]
    found = [organization.policies.get(policy_id) for policy_id in policy_ids if policy_id is not None]
    policies = [policy for policy in found if policy is not None]
    for warning in unsafe_denials(policies, fail_closed=fail_closed):
        logger.warning(warning, extra={"request_id": request_id, "organization_id": organization.id})
