"""MFA policies: which further proofs a user's activities need."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.activities.activity import Execution, Outcome
from keystead.api.decoding import NO_CONTROLS_BUT_LINES, Label, Notes
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Asked, RequiredAuthenticationMethodParams
from keystead.api.records import (
    AuthenticationMethod,
    MfaPolicy,
    RequiredAuthenticationMethod,
    Timestamp,
    Wire,
)
from keystead.operations.declare import activity
from keystead.organizations.limits import check_room
from keystead.organizations.organization import Put
from keystead.organizations.users import user_named


class CreateMfaPolicyIntent(Asked, frozen=True):
    """`order`: the policy of the lowest order whose condition holds is the one enforced."""

    user_id: Uuid
    mfa_policy_name: Label
    condition: Annotated[str, Meta(max_length=10_000, pattern=NO_CONTROLS_BUT_LINES)]
    required_authentication_methods: Annotated[
        tuple[RequiredAuthenticationMethodParams, ...], Meta(min_length=1, max_length=20)
    ]
    order: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    notes: Notes | None = None


class CreateMfaPolicyResult(Wire, frozen=True):
    mfa_policy_id: str


@activity("ACTIVITY_TYPE_CREATE_MFA_POLICY", resource="MFA_POLICY", action="CREATE")
def create_mfa_policy(execution: Execution, intent: CreateMfaPolicyIntent) -> Outcome[CreateMfaPolicyResult]:
    """Record which further proofs a user's activities shall need."""
    user = user_named(execution.organization, intent.user_id)
    check_room(len(user.mfa_policies), 1, execution.limits.mfa_policies_per_user, "MFA policies of one user")
    for other in user.mfa_policies:
        if other.order == intent.order:
            raise InvalidRequest(
                f"invalid request: field `parameters.order`: {intent.order} is the order of the MFA policy "
                f"{other.mfa_policy_name!r} ({other.mfa_policy_id}) of this user"
            )
    now = Timestamp.from_ms(execution.now_ms)
    policy = MfaPolicy(
        mfa_policy_id=execution.new_id(),
        mfa_policy_name=intent.mfa_policy_name,
        condition=intent.condition,
        required_authentication_methods=tuple(
            RequiredAuthenticationMethod(
                any=tuple(AuthenticationMethod(type=method.type, id=method.id) for method in step.any)
            )
            for step in intent.required_authentication_methods
        ),
        order=intent.order,
        notes=intent.notes,
        created_at=now,
        updated_at=now,
    )
    return Outcome(
        result=CreateMfaPolicyResult(mfa_policy_id=policy.mfa_policy_id),
        changes=(Put(replace(user, mfa_policies=(*user.mfa_policies, policy), updated_at=now)),),
    )
