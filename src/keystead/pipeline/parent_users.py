"""What users of a parent organization may not do in a sub-organization, whatever the parent's policies allow.

Not here: the steps that ask this (`submit`, `chosen_status`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, ActivityStatus, FeatureName
from keystead.api.errors import PermissionDenied
from keystead.api.records import User
from keystead.organizations.organization import Organization, Put
from keystead.pipeline.authorization import AuthorizationResult
from keystead.pipeline.basis import Basis
from keystead.pipeline.case import Case
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import ExecutionResult
from keystead.pipeline.mfa_statuses import MfaStatuses
from keystead.pipeline.operation import UserProof
from keystead.pipeline.states import Event


def check_user_is_proven(case: Case, organization: Organization) -> None:
    """Raise PermissionDenied if nothing proves the sub-organization's user whom the activity changes, unless the
    sub-organization allows this to users of its parent."""
    by_parent = case.operation.by_parent
    proven = by_parent is not None and by_parent.proof is not UserProof.NONE
    if not proven and FeatureName.PARENT_AUTH not in organization.profile.features:
        raise PermissionDenied(
            f"{case.version.activity_type} by a user of the parent organization needs a proof of the user: use "
            "otp_login or oauth_login, which take a code or an ID token; or let the root quorum of organization "
            f"{organization.id} enable {FeatureName.PARENT_AUTH} with set_organization_feature"
        )


def check_waits_for_nobody(authorized: AuthorizationResult, case: Case) -> None:
    """Raise PermissionDenied unless the activity of a user of the parent is executed at once."""
    if authorized.event is not Event.EXECUTED:
        raise PermissionDenied(
            f"{case.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            "proofs; write a policy of the parent that allows it with this user's approval alone"
        )


def check_chosen_waits_for_nobody(chosen: ActivityStatus, case: Case) -> None:
    """The same for the status that a developer chose: votes on a waiting activity do not ask about MFA policies of
    the user whom it changes."""
    if chosen not in FINAL_STATUSES:
        raise PermissionDenied(
            f"{case.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            f"proofs: choose a final status for it, not {chosen}"
        )


async def check_no_mfa_is_avoided(
    executed: ExecutionResult, case: Case, basis: Basis, environment: Environment
) -> None:
    """Raise PermissionDenied if the execution changes a user with an MFA policy that applies to this activity.

    The parent's user cannot give that user's proofs, so a session from this activity would bypass the MFA policy.
    """
    if executed.output is None:
        return
    organization = basis.organization
    changed = [change.record for change in executed.output.changes if isinstance(change, Put)]
    users = [organization.users[record.user_id] for record in changed if isinstance(record, User)]
    case = replace(case, proofs=(), policies=await environment.policy_sets.of(organization, users))
    statuses = MfaStatuses(case, organization, [user.user_id for user in users])
    for user in users:
        if statuses.lacks_proofs(user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {case.version.activity_type}, and only that user "
                "can prove what it asks for: log in with stamp_login"
            )
