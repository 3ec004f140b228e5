"""What an operation looks up before it sends a message: the room that the contact has, and the parent.

Here: the look-up, and the count of the message. Not here: who chooses what a message says (`message_origins`), the
rules of counts (`organizations.contacts.sending_windows`).
"""

from __future__ import annotations

import msgspec

from keystead.api.enums import OtpType
from keystead.api.errors import LimitReached
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.contacts.sending_windows import (
    OF_CONTACT,
    OF_USER_IDENTIFIER,
    Room,
    SendingWindow,
    contact_subject,
    unused_window,
    user_subject,
    with_message,
)
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource

TOO_MANY = "Max number of OTPs have been initiated"
"""Published clients look for these words."""


class MessageContext(msgspec.Struct, frozen=True):
    """`root_name`: the name of the organization, or of its parent. `window`: of the contact. `identifier_window`:
    of the request's user identifier, if it has one."""

    room: Room
    root_name: str
    window: SendingWindow
    identifier_window: SendingWindow | None = None


async def message_context(
    source: ContextSource, otp_type: OtpType, contact: str, user_identifier: str | None = None
) -> MessageContext:
    """Look up the context of a message to this contact. The contact may be malformed."""
    organization = source.organization
    parent_id = organization.profile.parent_id
    root = organization if parent_id is None else await source.store.organization(parent_id)
    assert root is not None, "a sub-organization has a parent"
    room = room_of(organization, source.submitter_id)
    subject = contact_subject(room, normalized_contact(otp_type, contact))
    identifier_window = None
    if user_identifier:
        identifier_window = await stored_window(source, user_subject(organization.id, user_identifier))
    return MessageContext(room, root.profile.name, await stored_window(source, subject), identifier_window)


async def stored_window(source: ContextSource, subject: str) -> SendingWindow:
    """The newest window of a subject in the tree of the organization."""
    root_id = source.organization.profile.parent_id or source.organization.id
    return await source.store.attached.get(SendingWindow, root_id, subject) or unused_window(root_id, subject)


def room_of(organization: Organization, submitter_id: str) -> Room:
    """The room that a request to this organization takes."""
    is_tenant = organization.profile.parent_id is not None and submitter_id in organization.users
    return "tenants" if is_tenant else "parent"


class CountedMessage(msgspec.Struct, frozen=True):
    """A message that its contact has room for. Only `counted_message` makes it, and each message needs one.

    `windows`: the rows that count it, to commit with it. `ends_at_ms`: when the window of the contact ends.
    `guesses`: the wrong attempts at codes of the contact, by which a new code becomes longer.
    """

    windows: tuple[SendingWindow, ...]
    ends_at_ms: int
    guesses: int


def counted_message(context: MessageContext, now_ms: int) -> CountedMessage:
    """Count a message to the contact. Raises LimitReached if the contact or the user identifier has no room."""
    window = with_message(context.window, OF_CONTACT, now_ms)
    if window is None:
        raise LimitReached(
            f"{TOO_MANY}: this contact got {OF_CONTACT.messages_max} messages in {OF_CONTACT.lasts_ms // 60_000} "
            f"minutes; wait {_seconds_left(context.window, now_ms)} seconds"
        )
    if context.identifier_window is None:
        return CountedMessage((window,), window.ends_at_ms, window.guesses)
    identifier = with_message(context.identifier_window, OF_USER_IDENTIFIER, now_ms)
    if identifier is None:
        raise LimitReached(
            f"{TOO_MANY}: field `parameters.userIdentifier`: this user started {OF_USER_IDENTIFIER.messages_max} "
            f"codes in {OF_USER_IDENTIFIER.lasts_ms // 60_000} minutes; wait "
            f"{_seconds_left(context.identifier_window, now_ms)} seconds"
        )
    return CountedMessage((window, identifier), window.ends_at_ms, window.guesses)


def _seconds_left(window: SendingWindow, now_ms: int) -> int:
    return max(1, -(-(window.ends_at_ms - now_ms) // 1000))
