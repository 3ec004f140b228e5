"""A warning in the log if an activity changed an IP allow-list so that its caller is refused from now on.

Such a list is accepted, because the documented API accepts it.
Not here: allow-lists (`organizations.ip_allowlists`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.catalogue import activity_kind
from keystead.api.enums import ActivityStatus
from keystead.api.errors import PermissionDenied
from keystead.operations import Reading
from keystead.organizations.ip_allowlists import SourceAddress, check_source
from keystead.pipeline.activity import RecordedActivity
from keystead.server.logs import logger

_KINDS: Final = frozenset({"SET_IP_ALLOWLIST", "REMOVE_IP_ALLOWLIST"})


def changes_ip_allowlist(activity: RecordedActivity) -> bool:
    return activity.status is ActivityStatus.COMPLETED and activity_kind(activity.type) in _KINDS


async def log_lockout(reading: Reading, source: SourceAddress, request_id: str) -> None:
    """Log that the organization now refuses this caller, if it does. `reading`: of the request that completed the
    activity."""
    organization = await reading.store.organization(reading.organization.id)
    if organization is None:
        return
    try:
        check_source(organization, reading.caller.proven.public_key, source)
    except PermissionDenied as refused:
        logger.warning(
            "an activity changed an IP allow-list so that its own caller is refused from now on (%s); "
            "KEYSTEAD_IP_ALLOWLISTS=false lets the organization in again",
            refused.message,
            extra={"request_id": request_id, "organization_id": organization.id},
        )
