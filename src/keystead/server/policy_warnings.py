"""Log lines about policies that may not do what their authors intended, after an activity created or changed them.

Here: which policies an activity changed, and the lines. Not here: the warnings (`policies.linting`).

The server writes these lines, not a step of the pipeline: the pipeline does no I/O, a line has the id of the HTTP
request, and the warnings are about the version of the organization that the commit has made.
"""

from __future__ import annotations

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.operations.policy_warnings import warnings_of
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.environment import Environment
from keystead.server.logs import logger

_KINDS = frozenset({"CREATE_POLICY", "CREATE_POLICIES", "UPDATE_POLICY", "CREATE_MFA_POLICY", "UPDATE_MFA_POLICY"})


class _ChangedPolicies(msgspec.Struct, rename="camel"):
    """The ids of policies in the results of these activities."""

    policy_id: str | None = None
    mfa_policy_id: str | None = None
    policy_ids: tuple[str, ...] = ()


def makes_policies(activity: RecordedActivity) -> bool:
    return activity.status is ActivityStatus.COMPLETED and activity_kind(activity.type) in _KINDS


async def log_policy_warnings(
    activity: RecordedActivity, organization: Organization, request_id: str, environment: Environment
) -> None:
    """Log the warnings about the policies that the activity created or changed."""
    results = [msgspec.json.decode(result, type=_ChangedPolicies) for result in activity.result.values()]
    policy_ids = [
        policy_id
        for result in results
        for policy_id in (result.policy_id, result.mfa_policy_id, *result.policy_ids)
        if policy_id
    ]
    for warning in await warnings_of(organization, environment, policy_ids):
        extra = {"request_id": request_id, "organization_id": organization.id, "code": warning.code}
        logger.warning(warning.message, extra=extra)
