"""The step that plans the commit of a submission or a vote on one version of its organization.

Here: the versions that it is decided on, whether the caller still has the key, the webhook events. Not here: the
queue and the write (`lifecycle`), the plan of a submission (`submit`) and of a vote (`vote`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.errors import NotFound
from keystead.organizations.ip_allowlists import check_source
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, principal_in, unknown_key_error
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.basis import Basis, ComputedOutput
from keystead.pipeline.commit import PlannedCommit
from keystead.pipeline.environment import Environment
from keystead.pipeline.received import ReceivedRequest
from keystead.pipeline.submit import plan_submission
from keystead.pipeline.vote import plan_vote
from keystead.pipeline.webhook_events import with_events


async def plan(
    request: ReceivedRequest,
    organization: Organization | None,
    voted_on: RecordedActivity | None,
    computed: ComputedOutput | None,
    environment: Environment,
) -> PlannedCommit:
    """What to commit for a submission, or for a vote on the activity `voted_on`.

    `organization`: the version to decide on; None if it does not exist. `computed`: the output of an earlier
    attempt. Raises ServiceError if the request is refused with nothing to commit.
    """
    authority, now_ms = organization, environment.clock.now_ms()
    is_by_parent = request.caller.organization_id != request.organization_id
    if is_by_parent:
        authority = await environment.store.organization(request.caller.organization_id)
    authority = _existing(authority, request)
    caller = _caller_in(authority, request, now_ms)
    basis = Basis(
        organization=_existing(organization, request),
        authority=authority,
        authorized_by=(authority.id, authority.version) if is_by_parent else None,
        now_ms=now_ms,
        computed=computed,
    )
    parent = await _parent(basis.organization, environment)
    if voted_on is None:
        planned = await plan_submission(request.submission, caller, basis, environment)
    else:
        # The clocks of two servers differ. No vote may be older than the activity's last change.
        basis = replace(basis, now_ms=max(now_ms, voted_on.updated_at_ms))
        planned = await plan_vote(voted_on, request.submission, caller, basis, environment)
    return with_events(planned, voted_on, basis.organization, parent, environment, basis.now_ms)


def _existing(organization: Organization | None, request: ReceivedRequest) -> Organization:
    if organization is None or organization.profile.deleted:
        raise NotFound(
            f"no organization found with the given ID: {request.organization_id}",
            machine_code="ORGANIZATION_NOT_FOUND",
        )
    return organization


def _caller_in(organization: Organization, request: ReceivedRequest, now_ms: int) -> Principal:
    """The caller in this version of the organization, which may have changed since the stamp was verified. Its IP
    allow-list must have the address of the request."""
    proven = request.caller.proven
    caller = principal_in(organization, proven, now_ms)
    if caller is None or caller.user.user_id != request.caller.user.user_id:
        raise unknown_key_error(request.organization_id, proven)
    check_source(organization, proven.public_key, request.source)
    return caller


async def _parent(organization: Organization, environment: Environment) -> Organization | None:
    """The parent, whose webhook endpoints get this organization's events, too."""
    parent_id = organization.profile.parent_id
    return None if parent_id is None else await environment.store.organization(parent_id)
