"""What an operation looks up before it sends a message: the room that the contact has, and the parent.

Here: the look-up, and the count of the message. Not here: who chooses what a message says (`message_origins`), the
rules of counts (`organizations.contacts.sending_windows`).
"""

from __future__ import annotations

import msgspec

from keystead.api.enums import OtpType
from keystead.api.errors import LimitReached
from keystead.organizations.contacts import sending_windows
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.organization import Organization
from keystead.pipeline.context import ContextSource

TOO_MANY = "Max number of OTPs have been initiated"
"""Published clients look for these words."""


class MessageContext(msgspec.Struct, frozen=True):
    """`root_name`: the name of the organization, or of its parent. `window`: of the contact. `identifier_window`:
    of the request's user identifier, if it has one."""

    room: sending_windows.Room
    root_name: str
    window: sending_windows.SendingWindow
    identifier_window: sending_windows.SendingWindow | None = None


async def message_context(
    source: ContextSource, otp_type: OtpType, contact: str, user_identifier: str | None = None
) -> MessageContext:
    """Look up the context of a message to this contact. The contact may be malformed."""
    organization = source.organization
    parent_id = organization.profile.parent_id
    root = organization if parent_id is None else await source.store.organization(parent_id)
    assert root is not None, "a sub-organization has a parent"
    room = room_of(organization, source.submitter_id)
    subject = sending_windows.contact_subject(room, normalized_contact(otp_type, contact))
    identifier_window = None
    if user_identifier:
        identifier_window = await stored_window(
            source, sending_windows.user_subject(organization.id, user_identifier)
        )
    return MessageContext(room, root.profile.name, await stored_window(source, subject), identifier_window)


async def stored_window(source: ContextSource, subject: str) -> sending_windows.SendingWindow:
    """The newest window of a subject in the tree of the organization."""
    root_id = source.organization.profile.parent_id or source.organization.id
    return await source.store.attached.get(
        sending_windows.SendingWindow, root_id, subject
    ) or sending_windows.unused_window(root_id, subject)


def room_of(organization: Organization, submitter_id: str) -> sending_windows.Room:
    """The room that a request to this organization takes."""
    is_tenant = organization.profile.parent_id is not None and submitter_id in organization.users
    return "tenants" if is_tenant else "parent"


class CountedMessage(msgspec.Struct, frozen=True):
    """A message that its contact has room for. Only `counted_message` makes it, and each message needs one.

    `windows`: the rows that count it, to commit with it. `ends_at_ms`: when the window of the contact ends.
    `guesses`: the wrong attempts at codes of the contact, by which a new code becomes longer.
    """

    windows: tuple[sending_windows.SendingWindow, ...]
    ends_at_ms: int
    guesses: int


def counted_message(context: MessageContext, now_ms: int) -> CountedMessage:
    """Count a message to the contact. Raises LimitReached if the contact or the user identifier has no room."""
    window = sending_windows.with_message(context.window, sending_windows.OF_CONTACT, now_ms)
    if window is None:
        raise LimitReached(
            f"{TOO_MANY}: this contact got {sending_windows.OF_CONTACT.messages_max} messages "
            f"in {sending_windows.OF_CONTACT.lasts_ms // 60_000} "
            f"minutes; wait {_seconds_left(context.window, now_ms)} seconds"
        )
    if context.identifier_window is None:
        return CountedMessage((window,), window.ends_at_ms, window.guesses)
    identifier = sending_windows.with_message(context.identifier_window, sending_windows.OF_USER_IDENTIFIER, now_ms)
    if identifier is None:
        raise LimitReached(
            f"{TOO_MANY}: field `parameters.userIdentifier`: this user started "
            f"{sending_windows.OF_USER_IDENTIFIER.messages_max} "
            f"codes in {sending_windows.OF_USER_IDENTIFIER.lasts_ms // 60_000} minutes; wait "
            f"{_seconds_left(context.identifier_window, now_ms)} seconds"
        )
    return CountedMessage((window, identifier), window.ends_at_ms, window.guesses)


def _seconds_left(window: sending_windows.SendingWindow, now_ms: int) -> int:
    return max(1, -(-(window.ends_at_ms - now_ms) // 1000))
