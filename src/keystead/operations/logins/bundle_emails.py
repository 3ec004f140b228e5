"""Credential bundles by e-mail: what email_auth and init_user_email_recovery have in common.

Here: finding the user, making the key, the message. Not here: the two operations (`email_auth`, `email_recovery`),
the key and its bundle (`session_keys`).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from keystead.api.enums import CredentialType, FeatureName, OtpType
from keystead.api.errors import InvalidRequest, NotFound
from keystead.delivery.templates import bundle_email
from keystead.operations.logins import message_origins
from keystead.operations.logins.message_context import MessageContext, counted_message, message_context
from keystead.operations.logins.outgoing_messages import check_channel, email_to
from keystead.operations.logins.session_keys import begin_bundle_session
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.contacts.account_contacts import NOT_AN_ACCOUNT
from keystead.organizations.credentials.sessions import user_with_email
from keystead.organizations.organization import Put
from keystead.organizations.principals import contact_id
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith


class BundleKind(msgspec.Struct, frozen=True, kw_only=True):
    """`feature`: the feature that the organization must have. `key_name`: the start of the key's name. `purpose`:
    what the key is for, in the words of the e-mail."""

    feature: FeatureName
    credential_type: CredentialType
    key_name: str
    purpose: str


class BundleRequest(Protocol):
    """The parameters that both operations have."""

    @property
    def email(self) -> str: ...
    @property
    def target_public_key(self) -> str: ...
    @property
    def email_customization(self) -> message_origins.EmailAuthCustomizationParams: ...
    @property
    def expiration_seconds(self) -> str | None: ...
    @property
    def send_from_email_address(self) -> str | None: ...
    @property
    def send_from_email_sender_name(self) -> str | None: ...
    @property
    def reply_to_email_address(self) -> str | None: ...


class EmailedBundle(msgspec.Struct, frozen=True):
    """The result of `emailed_bundle`. `change`: the user with the new key. `api_key_id`: the id of that key.
    `rows`: the message, and those that count it. `begun_by`: the id of the user's e-mail address as a
    credential."""

    user_id: str
    api_key_id: str
    change: Put
    begun_by: str
    rows: tuple[VersionedRow, ...]


async def bundle_context(source: ContextSource, request: BundleRequest) -> MessageContext:
    """What `emailed_bundle` needs to look up."""
    return await message_context(source, OtpType.EMAIL, request.email)


async def emailed_bundle(
    execution: ExecutionWith[MessageContext],
    request: BundleRequest,
    kind: BundleKind,
    *,
    api_key_name: str | None,
    invalidate_existing: bool | None,
) -> EmailedBundle:
    """A new key of the user who has this address, sealed to the target key and sent to the address.

    Raises InvalidRequest if the feature is off, if this server sends no e-mail, or for malformed parameters;
    NotFound if the address finds no user; LimitReached if it has no room for another message.
    """
    organization = execution.organization
    if kind.feature not in organization.profile.features:
        raise InvalidRequest(
            f"feature {kind.feature} is not enabled in organization {organization.id}; "
            "enable it with set_organization_feature"
        )
    check_channel(execution, "email")
    user = user_with_email(organization, request.email)
    if user is None or user.user_email is None:
        raise NotFound(
            f"unable to find a user by this e-mail address in organization {organization.id} (field "
            f"`parameters.email`): {NOT_AN_ACCOUNT}"
        )
    origin = message_origins.message_origin(_choices(request), execution.context)
    counted = counted_message(execution.context, execution.now_ms)
    session = await begin_bundle_session(
        execution,
        user,
        kind.credential_type,
        default_name=kind.key_name,
        target_public_key=request.target_public_key,
        api_key_name=api_key_name,
        expiration_seconds=request.expiration_seconds,
        invalidate_existing=invalidate_existing,
    )
    lasts_ms = (session.api_key.expires_at_ms or 0) - execution.now_ms
    content = bundle_email(origin.branding, session.bundle, lasts_ms // 1000, purpose=kind.purpose)
    rows = await email_to(execution, user.user_email, content, session.bundle, origin, counted, lasts_ms)
    begun_by = contact_id(user.user_id, OtpType.EMAIL)
    return EmailedBundle(user.user_id, session.api_key.api_key_id, session.change, begun_by, rows)


def _choices(request: BundleRequest) -> message_origins.MessageChoices:
    return message_origins.MessageChoices(
        app_name=request.email_customization.app_name,
        email=request.email_customization,
        send_from_email_address=request.send_from_email_address,
        send_from_email_sender_name=request.send_from_email_sender_name,
        reply_to_email_address=request.reply_to_email_address,
    )
