"""What users of a parent organization may not do in a sub-organization, whatever the parent's policies allow.

Not here: the step that asks this (`decide`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, ActivityStatus, FeatureName
from keystead.api.errors import PermissionDenied
from keystead.api.records import User, Wire
from keystead.organizations.organization import Put
from keystead.pipeline.activity import Event
from keystead.pipeline.authorization import authorization_request
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import Output
from keystead.pipeline.mfa import MfaStatuses
from keystead.pipeline.operation import UserProof
from keystead.policies.added_credentials import policies_without_approval


def check_user_is_proven(basis: DecisionBasis) -> None:
    """Raise PermissionDenied if nothing proves the sub-organization's user whom the activity changes, unless the
    sub-organization allows this to users of its parent."""
    by_parent, organization = basis.operation.by_parent, basis.organization
    proven = by_parent is not None and by_parent.proof is not UserProof.NONE
    if not proven and FeatureName.PARENT_AUTH not in organization.profile.features:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization needs a proof of the user: use "
            "otp_login or oauth_login, which take a code or an ID token; or let the root quorum of organization "
            f"{organization.id} enable {FeatureName.PARENT_AUTH} with set_organization_feature"
        )


def check_waits_for_nobody(event: Event, basis: DecisionBasis) -> None:
    """Raise PermissionDenied unless the activity of a user of the parent is executed at once."""
    if event is not Event.EXECUTED:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            "proofs; write a policy of the parent that allows it with this user's approval alone"
        )


def check_chosen_waits_for_nobody(chosen: ActivityStatus, basis: DecisionBasis) -> None:
    """The same for the status that a developer chose: votes on a waiting activity do not ask about MFA policies of
    the user whom it changes."""
    if chosen not in FINAL_STATUSES:
        raise PermissionDenied(
            f"{basis.version.activity_type} by a user of the parent organization cannot wait for approvals or "
            f"proofs: choose a final status for it, not {chosen}"
        )


async def check_rules_of_users(basis: DecisionBasis, environment: Environment, output: Output[Wire]) -> None:
    """Raise PermissionDenied if an MFA policy of a user whom the execution changes applies to this activity, or if
    a policy of the sub-organization would count a lasting credential that it adds.

    The parent's user cannot give that user's proofs or approvals, so the activity would bypass these rules.
    """
    organization = basis.organization
    changed = [change.record for change in output.changes if isinstance(change, Put)]
    users = [organization.users[record.user_id] for record in changed if isinstance(record, User)]
    policies = await environment.policy_sets.of(organization, users)
    added = [added for added in basis.added if not added.is_session]
    by_users = replace(basis, authority=organization, proofs=(), policies=policies, added=added)
    statuses = MfaStatuses(by_users, [user.user_id for user in users])
    for user in users:
        if statuses.lacks_proofs(user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {basis.version.activity_type}, and only that "
                "user can prove what it asks for: log in with stamp_login"
            )
    request = authorization_request(by_users)
    if policy_ids := policies_without_approval(request, policies.policy_set):
        raise PermissionDenied(
            f"the consensus of policy {policy_ids[0]} of organization {organization.id} would count the credential "
            f"that {basis.version.activity_type} adds: only a user of that organization can add it"
        )
