"""Users: changing their names, contacts and tags, and deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import OtpType, TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import Timestamp, User, Wire
from keystead.operations.declare import activity
from keystead.operations.logins.verification_tokens import check_own_contact, is_used_up, used_token_rows
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.organizations.attachments import Attachment
from keystead.organizations.contacts import account_contacts
from keystead.organizations.contacts.contact_evidence import ContactEvidence, of_token, of_writing
from keystead.organizations.contacts.contacts import check_email, check_phone_number
from keystead.organizations.invited_users import without_invitations
from keystead.organizations.kinds.users import Passkey, Users
from keystead.organizations.organization import Change, Put, Remove
from keystead.organizations.tags import check_tags
from keystead.organizations.users import check_can_authenticate, check_not_in_quorum
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output

AT_ONCE = 1_000
"""Most users that one request may delete."""


class UpdateUserIntent(RequestStruct, frozen=True):
    """Absent fields do not change. An empty list of tags changes no tags, because a published client always sends a
    list."""

    user_id: Uuid
    user_name: Label | None = None
    user_email: ShortText | None = None
    user_tag_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)] | None = None
    user_phone_number: ShortText | None = None


class UpdateUserResult(Wire, frozen=True):
    user_id: str


@activity(
    "ACTIVITY_TYPE_UPDATE_USER",
    owner=named_user,
    also_does=("UPDATE_USER_NAME", "UPDATE_USER_EMAIL", "UPDATE_USER_PHONE_NUMBER", "UPDATE_USER_TAG"),
    adds=lambda _, intent: adding.contacts(intent.user_id, intent.user_email, intent.user_phone_number),
)
def update_user(execution: Execution, intent: UpdateUserIntent) -> Output[UpdateUserResult]:
    """Change a user's name, contacts or tags."""
    user = execution.organization.record(Users, intent.user_id)
    if intent.user_name is not None:
        user = replace(user, user_name=intent.user_name)
    written = []
    if intent.user_email is not None:
        user, written = _with_email(user, intent.user_email), [OtpType.EMAIL]
    if intent.user_phone_number is not None:
        user, written = _with_phone_number(user, intent.user_phone_number), [*written, OtpType.SMS]
    if intent.user_tag_ids:
        check_tags(execution.organization, TagType.USER, intent.user_tag_ids, "parameters.userTagIds")
        user = replace(user, user_tags=tuple(dict.fromkeys(intent.user_tag_ids)))
    evidence = of_writing(execution.submitter_id, execution.organization, user, written)
    return Output(result=UpdateUserResult(user_id=user.user_id), changes=_user_changes(execution, user, evidence))


class UpdateUserNameIntent(RequestStruct, frozen=True):
    user_id: Uuid
    user_name: Label


class UpdateUserNameResult(Wire, frozen=True):
    user_id: str


@activity("ACTIVITY_TYPE_UPDATE_USER_NAME", also_does=("UPDATE_USER",))
def update_user_name(execution: Execution, intent: UpdateUserNameIntent) -> Output[UpdateUserNameResult]:
    """Change a user's name."""
    user = replace(execution.organization.record(Users, intent.user_id), user_name=intent.user_name)
    return Output(result=UpdateUserNameResult(user_id=user.user_id), changes=_user_changes(execution, user))


class UpdateUserEmailIntent(RequestStruct, frozen=True):
    """An empty address removes the address."""

    user_id: Uuid
    user_email: ShortText
    verification_token: TokenText | None = None


class UpdateUserEmailResult(Wire, frozen=True):
    user_id: str


async def _email_token_used_up(source: ForeignSource, intent: UpdateUserEmailIntent) -> bool:
    return await is_used_up(source, intent.verification_token)


@activity(
    "ACTIVITY_TYPE_UPDATE_USER_EMAIL",
    owner=named_user,
    load_context=_email_token_used_up,
    also_does=("UPDATE_USER",),
    adds=lambda _, intent: adding.contacts(intent.user_id, intent.user_email, None),
)
async def update_user_email(
    execution: ExecutionWith[bool], intent: UpdateUserEmailIntent
) -> Output[UpdateUserEmailResult]:
    """Change or remove a user's e-mail address. A verification token proves the new address."""
    user = _with_email(execution.organization.record(Users, intent.user_id), intent.user_email)
    changes, rows = await _proven_contact_changes(execution, user, OtpType.EMAIL, intent.verification_token)
    return Output(result=UpdateUserEmailResult(user_id=user.user_id), changes=changes, attachments=rows)


class UpdateUserPhoneNumberIntent(RequestStruct, frozen=True):
    """An empty number removes the number."""

    user_id: Uuid
    user_phone_number: ShortText
    verification_token: TokenText | None = None


class UpdateUserPhoneNumberResult(Wire, frozen=True):
    user_id: str


async def _phone_token_used_up(source: ForeignSource, intent: UpdateUserPhoneNumberIntent) -> bool:
    return await is_used_up(source, intent.verification_token)


@activity(
    "ACTIVITY_TYPE_UPDATE_USER_PHONE_NUMBER",
    owner=named_user,
    load_context=_phone_token_used_up,
    also_does=("UPDATE_USER",),
    adds=lambda _, intent: adding.contacts(intent.user_id, None, intent.user_phone_number),
)
async def update_user_phone_number(
    execution: ExecutionWith[bool], intent: UpdateUserPhoneNumberIntent
) -> Output[UpdateUserPhoneNumberResult]:
    """Change or remove a user's phone number. A verification token proves the new number."""
    user = _with_phone_number(execution.organization.record(Users, intent.user_id), intent.user_phone_number)
    changes, rows = await _proven_contact_changes(execution, user, OtpType.SMS, intent.verification_token)
    return Output(result=UpdateUserPhoneNumberResult(user_id=user.user_id), changes=changes, attachments=rows)


def _with_email(user: User, address: str) -> User:
    return replace(user, user_email=check_email(address, "parameters.userEmail") if address else None)


def _with_phone_number(user: User, number: str) -> User:
    checked = check_phone_number(number, "parameters.userPhoneNumber") if number else None
    return replace(user, user_phone_number=checked)


async def _proven_contact_changes(
    execution: ExecutionWith[bool], user: User, otp_type: OtpType, verification_token: str | None
) -> tuple[tuple[Change, ...], tuple[Attachment, ...]]:
    """The changes and rows for a user with a new contact of this type, which the token proves if there is a token.
    The execution's context says whether the token is used up."""
    evidence = of_writing(execution.submitter_id, execution.organization, user, [otp_type])
    if not verification_token:
        return _user_changes(execution, user, evidence), ()
    token = await check_own_contact(execution, verification_token, user, otp_type, is_used_up=execution.context)
    return _user_changes(execution, user, [*evidence, of_token(token)]), used_token_rows(token)


def _user_changes(execution: Execution, user: User, evidence: Sequence[ContactEvidence] = ()) -> tuple[Change, ...]:
    """The changes that store the user. `evidence`: for the contacts that the request writes or proves."""
    organization = execution.organization
    contacts = account_contacts.account_contacts_of(organization, user, evidence)
    check_can_authenticate(user, contacts, organization.profile.features, "parameters")
    changed = replace(user, updated_at=Timestamp.from_ms(execution.now_ms))
    return (Put(changed), *account_contacts.contact_changes(organization, changed, evidence))


class DeleteUsersIntent(RequestStruct, frozen=True):
    user_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeleteUsersResult(Wire, frozen=True):
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_USERS")
def delete_users(execution: Execution, intent: DeleteUsersIntent) -> Output[DeleteUsersResult]:
    """Delete users. Members of the root quorum cannot be deleted."""
    user_ids = tuple(dict.fromkeys(intent.user_ids))
    users = [execution.organization.record(Users, user_id) for user_id in user_ids]
    check_not_in_quorum(execution.organization, user_ids)
    passkeys = [passkey.authenticator_id for user in users for passkey in user.authenticators]
    return Output(
        result=DeleteUsersResult(user_ids=user_ids),
        changes=(
            *(Remove(Passkey, authenticator_id) for authenticator_id in passkeys),
            *(
                change
                for user_id in user_ids
                for change in account_contacts.changes_for_removed_user(execution.organization, user_id)
            ),
            *without_invitations(execution.organization, user_ids),
            *(Remove(User, user_id) for user_id in user_ids),
        ),
    )
