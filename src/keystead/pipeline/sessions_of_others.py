"""Does somebody begin a session of another user whose MFA policy applies to it?

The MFA policies of those who approve an activity are asked before it is executed (`authorization`). Only the
execution of a login finds out whose session it begins. Not here: users of the parent, who can never give the proofs
of that user (`parent_users`).
"""

from __future__ import annotations

from msgspec.structs import replace

from keystead.api.errors import PermissionDenied
from keystead.api.records import User, Wire
from keystead.organizations.organization import Put
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.environment import Environment
from keystead.pipeline.execution import Output
from keystead.pipeline.mfa import MfaStatuses


async def check_proofs_of_session_users(
    basis: DecisionBasis, environment: Environment, output: Output[Wire]
) -> None:
    """Raise PermissionDenied if the output begins a session of another user, whose MFA policy applies to this
    activity, and who has not approved it with all proofs that the policy asks for."""
    if basis.authorized_by is not None or not any(added.is_session for added in basis.added):
        return
    changed = [change.record for change in output.changes if isinstance(change, Put)]
    ids = {record.user_id for record in changed if isinstance(record, User)} - {basis.submitter_id}
    users = [basis.organization.users[id_] for id_ in ids]
    if not any(user.mfa_policies for user in users):
        return
    voters = {basis.submitter_id, *[proof.user_id for proof in basis.proofs]} - ids
    known = basis.organization.users
    asked = [*users, *[known[id_] for id_ in sorted(voters) if id_ in known]]
    policies = await environment.policy_sets.of(basis.organization, asked)
    statuses = MfaStatuses(replace(basis, policies=policies), sorted(ids))
    for user in users:
        if statuses.lacks_proofs(user.user_id):
            raise PermissionDenied(
                f"an MFA policy of user {user.user_id} applies to {basis.version.activity_type}, and only that "
                "user can prove what it asks for: log in with stamp_login"
            )
