"""Warnings in the log about what a completed activity changed: policies that may not do what their authors
intended, and an IP allow-list that refuses the activity's own caller from now on.

Both are accepted, as the documented API accepts them. Not here: the warnings about policies (`policies.linting`),
allow-lists (`organizations.ip_allowlists`).

The server writes these lines, not a step of the pipeline: the pipeline does no I/O, a line has the id of the HTTP
request, and the warnings are about the version of the organization that the commit has made.
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.failures.defects import log_failure
from keystead.operations.policies.policy_warnings import warnings_of
from keystead.organizations.ip_allowlists import SourceAddress, refusal_of
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.environment import Environment
from keystead.server.logs import logger

_POLICY_KINDS: Final = frozenset(
    {"CREATE_POLICY", "CREATE_POLICIES", "UPDATE_POLICY", "CREATE_MFA_POLICY", "UPDATE_MFA_POLICY"}
)
_ALLOWLIST_KINDS: Final = frozenset({"SET_IP_ALLOWLIST", "REMOVE_IP_ALLOWLIST"})


class _ChangedPolicies(msgspec.Struct, rename="camel"):
    """The ids of policies in the results of these activities."""

    policy_id: str | None = None
    mfa_policy_id: str | None = None
    policy_ids: tuple[str, ...] = ()


async def log_activity_warnings(
    activity: RecordedActivity, caller: Principal, source: SourceAddress, request_id: str, environment: Environment
) -> None:
    """Log the warnings about what an activity changed, after its commit. A failure is logged, and is not the
    request's: the activity is committed."""
    kind = activity_kind(activity.type)
    if activity.status is not ActivityStatus.COMPLETED or kind not in _POLICY_KINDS | _ALLOWLIST_KINDS:
        return
    extra = {"request_id": request_id, "organization_id": activity.organization_id}
    try:
        organization = await environment.store.organization(activity.organization_id)
        if organization is None:
            return
        if kind in _POLICY_KINDS:
            for warning in await warnings_of(organization, environment, _policy_ids(activity)):
                logger.warning(warning.message, extra={**extra, "code": warning.code})
        elif (refusal := refusal_of(organization, caller.proven.public_key, source)) is not None:
            logger.warning(
                "an activity changed an IP allow-list so that its own caller is refused from now on: %s. If nobody "
                "can change the list, keystead recover ip-allowlist lifts it",
                refusal,
                extra=extra,
            )
    except Exception as error:  # noqa: BLE001 - the activity is committed: its request has succeeded
        log_failure(logger, error, "no warnings about activity %s", activity.id, extra=extra)


def _policy_ids(activity: RecordedActivity) -> list[str]:
    results = [msgspec.json.decode(result, type=_ChangedPolicies) for result in activity.result.values()]
    return [
        policy_id
        for result in results
        for policy_id in (result.policy_id, result.mfa_policy_id, *result.policy_ids)
        if policy_id
    ]
