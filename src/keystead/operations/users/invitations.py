"""Invitations to join the organization: a link with which a new user makes a first passkey.

The link holds a recovery key of the user: it opens recover_user and whoami, nothing else, and is used once. Here:
making, listing and deleting invitations. Not here: the acceptance, which is recover_user
(`logins.email_recovery`), the page behind the link (`console`), the text of the e-mail (`delivery.templates`).
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import AccessType, CredentialType, OtpType, TagType
from keystead.api.errors import InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import ApiKeyParamsV2, QueryRequest, RequestStruct, ShortText
from keystead.api.records import Timestamp, User, Wire
from keystead.delivery.templates import invitation_email
from keystead.operations.bounds import INVITATION_LASTS_MAX_S
from keystead.operations.declare import Reading, activity, query
from keystead.operations.logins.message_context import MessageContext, counted_message, message_context
from keystead.operations.logins.message_origins import MessageChoices, message_origin
from keystead.operations.logins.outgoing_messages import email_to
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.account_contacts import contact_changes
from keystead.organizations.contacts.contact_evidence import of_writing
from keystead.organizations.contacts.contacts import check_email
from keystead.organizations.credentials.api_keys import check_public_keys_free, new_api_key
from keystead.organizations.credentials.credentials import check_not_held_by_siblings
from keystead.organizations.invited_users import without_invited_user
from keystead.organizations.kinds.invitations import Invitation, Invitations
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Change, Put, Remove
from keystead.organizations.tags import check_tags
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output
from keystead.pipeline.operation import AddedCredential, NewUser
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.signing import ApiKeyPair, generate_api_key

LASTS_DEFAULT_S: Final = 7 * 24 * 3_600
KEY_NAME: Final = "Invitation"

_INVITATIONS: Final = "parameters.invitations"


class InvitationParams(RequestStruct, frozen=True):
    """`public_key`: the key of a link that the sender hands over, P-256, compressed, in hex. Without it, the server
    makes a link and sends it by e-mail. `expiration_seconds`: how long the link is valid."""

    receiver_user_name: Label
    receiver_user_email: ShortText
    receiver_user_tags: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    access_type: AccessType
    sender_user_id: Uuid
    public_key: ShortText | None = None
    expiration_seconds: ShortText | None = None


class CreateInvitationsIntent(RequestStruct, frozen=True):
    invitations: Annotated[tuple[InvitationParams, ...], Meta(min_length=1, max_length=100)]


class CreateInvitationsResult(Wire, frozen=True):
    invitation_ids: tuple[str, ...]


class InvitationContext(msgspec.Struct, frozen=True):
    """`messages`: the context of the e-mail to each address."""

    messages: Mapping[str, MessageContext]
    held_by_siblings: HeldBySiblings


async def _context(source: ContextSource, intent: CreateInvitationsIntent) -> InvitationContext:
    addresses = {one.receiver_user_email for one in intent.invitations if one.public_key is None}
    keys = [_key_params(one.public_key) for one in intent.invitations if one.public_key is not None]
    return InvitationContext(
        {address: await message_context(source, OtpType.EMAIL, address) for address in sorted(addresses)},
        await held_by_siblings(source, api_keys=keys),
    )


class _Invited(msgspec.Struct, frozen=True):
    """One invitation, with what is stored for it."""

    invitation: Invitation
    user: User | None = None
    rows: tuple[VersionedRow, ...] = ()


def _added(_: object, intent: CreateInvitationsIntent) -> list[AddedCredential]:
    """The contacts of the new users. The keys of their links approve nothing."""
    return [
        credential
        for one in intent.invitations
        for credential in adding.contacts(
            NewUser(one.receiver_user_name, one.receiver_user_email, one.receiver_user_tags),
            one.receiver_user_email,
            None,
        )
    ]


@activity(
    "ACTIVITY_TYPE_CREATE_INVITATIONS",
    load_context=_context,
    also_does=("CREATE_USERS", "UPDATE_USER_TAG"),
    adds=_added,
)
async def create_invitations(
    execution: ExecutionWith[InvitationContext], intent: CreateInvitationsIntent
) -> Output[CreateInvitationsResult]:
    """Invite people by a link, which the server sends by e-mail, or which the sender hands over."""
    organization = execution.organization
    organization.invitations.check_limit(len(intent.invitations), execution.limits)
    _check_addresses_differ(intent.invitations)
    invited = [
        await _invite(execution, params, f"{_INVITATIONS}[{index}]")
        for index, params in enumerate(intent.invitations)
    ]
    users = [one.user for one in invited if one.user is not None]
    organization.users.check_limit(len(users), execution.limits)
    keys = [key for user in users for key in user.api_keys]
    check_public_keys_free(organization, keys)
    check_not_held_by_siblings(execution.context.held_by_siblings, [key.credential.public_key for key in keys])
    return Output(
        result=CreateInvitationsResult(invitation_ids=tuple(one.invitation.id for one in invited)),
        changes=(
            *(Put(one.invitation) for one in invited),
            *map(Put, users),
            *(change for user in users for change in _contacts(execution, user)),
        ),
        begun_by=execution.origin,
        attachments=tuple(row for one in invited for row in one.rows),
    )


def _check_addresses_differ(requested: Sequence[InvitationParams]) -> None:
    """Raise InvalidRequest if two e-mails of one request would go to the same address."""
    addresses = [one.receiver_user_email.lower() for one in requested if one.public_key is None]
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            raise InvalidRequest(
                f"invalid invitation: field `{_INVITATIONS}`: two invitations to {address[:100]!r}; expected one"
            )


async def _invite(execution: ExecutionWith[InvitationContext], params: InvitationParams, field: str) -> _Invited:
    execution.organization.record(Users, params.sender_user_id)
    check_tags(execution.organization, TagType.USER, params.receiver_user_tags, f"{field}.receiverUserTags")
    invitation = Invitation(
        id=execution.new_id(),
        receiver_user_name=params.receiver_user_name,
        receiver_user_email=check_email(params.receiver_user_email, f"{field}.receiverUserEmail"),
        receiver_user_tags=params.receiver_user_tags,
        access_type=params.access_type,
        sender_id=params.sender_user_id,
        created_at=Timestamp.from_ms(execution.now_ms),
    )
    seconds = _lasts_s(params.expiration_seconds, f"{field}.expirationSeconds")
    if params.public_key is not None:
        return _with_user(execution, invitation, params.public_key, seconds, field)
    if not _sends_links(execution):
        return _Invited(invitation)
    pair = generate_api_key()
    invited = _with_user(execution, invitation, pair.public_key, seconds, field)
    return replace(invited, rows=await _email(execution, invitation, pair, seconds))


def _sends_links(execution: Execution) -> bool:
    """Whether this server sends e-mails and knows the address of its console."""
    return "email" in execution.messages.channels and bool(execution.messages.console_url)


def _with_user(execution: Execution, invitation: Invitation, public_key: str, seconds: int, field: str) -> _Invited:
    """The invitation with the user whom its link lets in."""
    now, new_id = invitation.created_at, execution.new_id
    key = new_api_key(_key_params(public_key, seconds), new_id(), now, field)
    recovery = replace(key.credential, type=CredentialType.RECOVER_USER_KEY_P256)
    user = User(
        user_id=new_id(),
        user_name=invitation.receiver_user_name,
        authenticators=(),
        api_keys=(replace(key, credential=recovery),),
        user_tags=tuple(dict.fromkeys(invitation.receiver_user_tags)),
        oauth_providers=(),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
        user_email=invitation.receiver_user_email,
    )
    return _Invited(
        replace(invitation, user_id=user.user_id, expires_at_ms=execution.now_ms + 1000 * seconds),
        user,
    )


def _key_params(public_key: str, seconds: int = LASTS_DEFAULT_S) -> ApiKeyParamsV2:
    return ApiKeyParamsV2(api_key_name=KEY_NAME, public_key=public_key, expiration_seconds=str(seconds))


def _contacts(execution: Execution, user: User) -> Iterable[Change]:
    evidence = of_writing(execution.submitter_id, execution.organization, user)
    return contact_changes(execution.organization, user, evidence)


async def _email(
    execution: ExecutionWith[InvitationContext], invitation: Invitation, pair: ApiKeyPair, seconds: int
) -> tuple[VersionedRow, ...]:
    """The rows of the e-mail with the link. Raises LimitReached if the address has no room for another message."""
    address = invitation.receiver_user_email
    context = execution.context.messages[address]
    origin = message_origin(_NO_CHOICES, context)
    counted = counted_message(context, execution.now_ms)
    link = invitation_link(execution.messages.console_url, execution.organization.id, pair)
    sender = execution.organization.record(Users, invitation.sender_id)
    # A sub-organization, which anybody may make, writes no text of its own into a message.
    name = "" if context.room == "tenants" else sender.user_name
    content = invitation_email(origin.branding, link, seconds, sender=name)
    return await email_to(execution, address, content, link, origin, counted, 1000 * seconds)


_NO_CHOICES: Final = MessageChoices(
    app_name="",
    email=None,
    send_from_email_address=None,
    send_from_email_sender_name=None,
    reply_to_email_address=None,
)


def invitation_link(console_url: str, organization_id: str, pair: ApiKeyPair) -> str:
    """The link that lets the holder of this key in. The secret is in the fragment, which browsers send to nobody:
    base64url of the organization's id (16 bytes), the public key (33) and the private key (32)."""
    secret = unhexlify(organization_id.replace("-", "") + pair.public_key + pair.private_key)
    return f"{console_url}#invitation={encode_base64url(secret)}"


def _lasts_s(text: str | None, field: str) -> int:
    if text is None:
        return LASTS_DEFAULT_S
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 0 < int(text) <= INVITATION_LASTS_MAX_S):
        raise InvalidRequest(
            f"invalid invitation: field `{field}`: {text[:20]!r}: expected a positive number of seconds as decimal "
            f"text, at most {INVITATION_LASTS_MAX_S}"
        )
    return int(text)


class DeleteInvitationIntent(RequestStruct, frozen=True):
    invitation_id: Uuid


class DeleteInvitationResult(Wire, frozen=True):
    invitation_id: str


@activity("ACTIVITY_TYPE_DELETE_INVITATION", also_does=("DELETE_USERS",))
def delete_invitation(execution: Execution, intent: DeleteInvitationIntent) -> Output[DeleteInvitationResult]:
    """Delete an invitation, with the user whom its link would have let in."""
    invitation = execution.organization.record(Invitations, intent.invitation_id)
    return Output(
        result=DeleteInvitationResult(invitation_id=invitation.id),
        changes=(Remove(Invitation, invitation.id), *without_invited_user(execution.organization, invitation)),
    )


class InvitationRecord(Wire, frozen=True):
    """An open invitation. `user_id`: the user who accepts it by a link that is valid until `expires_at`; both are
    absent if it has no link. `status` is always CREATED: an accepted invitation is deleted."""

    invitation_id: str
    receiver_user_name: str
    receiver_email: str
    receiver_user_tags: tuple[str, ...]
    access_type: AccessType
    status: str
    created_at: Timestamp
    updated_at: Timestamp
    sender_user_id: str
    user_id: str | None = None
    expires_at: Timestamp | None = None


def shown_invitation(invitation: Invitation) -> InvitationRecord:
    return InvitationRecord(
        invitation_id=invitation.id,
        receiver_user_name=invitation.receiver_user_name,
        receiver_email=invitation.receiver_user_email,
        receiver_user_tags=invitation.receiver_user_tags,
        access_type=invitation.access_type,
        status="INVITATION_STATUS_CREATED",
        created_at=invitation.created_at,
        updated_at=invitation.created_at,
        sender_user_id=invitation.sender_id,
        user_id=invitation.user_id or None,
        expires_at=Timestamp.from_ms(invitation.expires_at_ms) if invitation.user_id else None,
    )


class ListInvitationsRequest(QueryRequest, frozen=True):
    pass


class ListInvitationsResponse(Wire, frozen=True):
    invitations: tuple[InvitationRecord, ...]


@query(own=True, of_version=True)
def list_invitations(reading: Reading, _: ListInvitationsRequest) -> ListInvitationsResponse:
    """People who were asked to join and have not accepted yet."""
    return ListInvitationsResponse(
        invitations=tuple(map(shown_invitation, reading.organization.invitations.in_order()))
    )
