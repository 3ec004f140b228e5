"""Invitations to join the organization. The public API has no operation that lists or accepts them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import AccessType, TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity
from keystead.organizations.contacts.contacts import check_email
from keystead.organizations.kinds.invitations import Invitation, Invitations
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Put, Remove
from keystead.organizations.tags import check_tags
from keystead.pipeline.execution import Execution, Output


class InvitationParams(RequestStruct, frozen=True):
    receiver_user_name: Label
    receiver_user_email: ShortText
    receiver_user_tags: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    access_type: AccessType
    sender_user_id: Uuid


class CreateInvitationsIntent(RequestStruct, frozen=True):
    invitations: Annotated[tuple[InvitationParams, ...], Meta(min_length=1, max_length=100)]


class CreateInvitationsResult(Wire, frozen=True):
    invitation_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_INVITATIONS")
def create_invitations(execution: Execution, intent: CreateInvitationsIntent) -> Output[CreateInvitationsResult]:
    """Record invitations. Nothing is sent."""
    organization = execution.organization
    organization.invitations.check_limit(len(intent.invitations), execution.limits)
    invitations = [
        _new_invitation(execution, params, f"parameters.invitations[{index}]")
        for index, params in enumerate(intent.invitations)
    ]
    return Output(
        result=CreateInvitationsResult(invitation_ids=tuple(invitation.id for invitation in invitations)),
        changes=tuple(Put(invitation) for invitation in invitations),
    )


def _new_invitation(execution: Execution, params: InvitationParams, field: str) -> Invitation:
    execution.organization.record(Users, params.sender_user_id)
    check_tags(execution.organization, TagType.USER, params.receiver_user_tags, f"{field}.receiverUserTags")
    return Invitation(
        id=execution.new_id(),
        receiver_user_name=params.receiver_user_name,
        receiver_user_email=check_email(params.receiver_user_email, f"{field}.receiverUserEmail"),
        receiver_user_tags=params.receiver_user_tags,
        access_type=params.access_type,
        sender_id=params.sender_user_id,
        created_at=Timestamp.from_ms(execution.now_ms),
    )


class DeleteInvitationIntent(RequestStruct, frozen=True):
    invitation_id: Uuid


class DeleteInvitationResult(Wire, frozen=True):
    invitation_id: str


@activity("ACTIVITY_TYPE_DELETE_INVITATION")
def delete_invitation(execution: Execution, intent: DeleteInvitationIntent) -> Output[DeleteInvitationResult]:
    """Delete an invitation."""
    invitation = execution.organization.record(Invitations, intent.invitation_id)
    return Output(
        result=DeleteInvitationResult(invitation_id=invitation.id),
        changes=(Remove(Invitation, invitation.id),),
    )
