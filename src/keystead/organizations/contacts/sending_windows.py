"""How many messages a contact gets and how many codes are tried for it, in a window of time and in all. Pure.

The counts are those of a whole tree: a parent with its sub-organizations. Each request that sends a message or
tries a code writes the row of its window in the same transaction. So two requests at the same time cannot both take
the last place: one commit fails, and its request is decided again. Not here: codes (`one_time_codes`), how long
they are after wrong guesses (`sessions.one_time_codes`), messages (`outgoing_messages`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from keystead.organizations.attached_rows import EXPIRY, AttachedTable, VersionedRow


class WindowLimits(msgspec.Struct, frozen=True):
    """At most `messages_max` messages and `attempts_max` attempts at codes in a window of `lasts_ms`."""

    lasts_ms: int
    messages_max: int
    attempts_max: int


OF_CONTACT: Final = WindowLimits(lasts_ms=600_000, messages_max=3, attempts_max=9)
OF_USER_IDENTIFIER: Final = WindowLimits(lasts_ms=180_000, messages_max=3, attempts_max=0)
"""A user identifier is a text of any form, by which a caller names one of its users."""

Room = Literal["parent", "tenants"]
"""Who began what is counted: users of the parent and its authentication proxies, or users of sub-organizations.
Each has room of its own, so that sub-organizations cannot use up what the parent needs to log people in."""


NEVER_MS: Final = 2**63 - 1
"""The time of expiry of a row that is kept: the largest integer of both stores."""


class SendingWindow(VersionedRow, frozen=True, kw_only=True):
    """The newest window of one subject, and what was counted in it.

    `root_id`: the organization without a parent, to which the row belongs. `subject`: a digest. `ends_at_ms`:
    milliseconds since the epoch. No request changes it before that time. `guesses`: the wrong attempts at all codes
    that nobody used. They outlast the window; a row that has some is kept.
    """

    table = AttachedTable(
        name="one_time_code_count",
        key=(("subject", str),),
        columns=(("revision", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
    )

    root_id: str
    subject: str
    ends_at_ms: int = 0
    messages: int = 0
    attempts: int = 0
    guesses: int = 0

    @property
    def expires_at_ms(self) -> int:
        return NEVER_MS if self.guesses else self.ends_at_ms

    @property
    def owner_id(self) -> str:
        return self.root_id


def with_message(window: SendingWindow, limits: WindowLimits, now_ms: int) -> SendingWindow | None:
    """The next revision, with one message more; None if there is no room for it."""
    current = _at(window, limits, now_ms)
    return replace(current, messages=current.messages + 1) if current.messages < limits.messages_max else None


def with_attempt(window: SendingWindow, limits: WindowLimits, now_ms: int) -> SendingWindow | None:
    """The next revision, with one attempt more, which counts as a guess; None if there is no room for it."""
    current = _at(window, limits, now_ms)
    if current.attempts >= limits.attempts_max:
        return None
    return replace(current, attempts=current.attempts + 1, guesses=current.guesses + 1)


def with_code_used(window: SendingWindow, attempts: int) -> SendingWindow:
    """The same revision, after the attempt that used a code. `attempts`: all those at this code; they were no
    guesses, because only who started a code knows its id, and only who got it types it."""
    return replace(window, guesses=max(0, window.guesses - attempts))


def _at(window: SendingWindow, limits: WindowLimits, now_ms: int) -> SendingWindow:
    """The next revision: the same window while it lasts, otherwise a new one that begins now."""
    if now_ms < window.ends_at_ms:
        return replace(window, revision=window.revision + 1)
    return SendingWindow(
        revision=window.revision + 1,
        root_id=window.root_id,
        subject=window.subject,
        ends_at_ms=now_ms + limits.lasts_ms,
        guesses=window.guesses,
    )


def unused_window(root_id: str, subject: str) -> SendingWindow:
    """The window of a subject that has no row. The first revision that is written is 1."""
    return SendingWindow(revision=0, root_id=root_id, subject=subject)


def contact_subject(room: Room, contact: str) -> str:
    """The subject of a contact. `contact`: the result of `normalized_contact`."""
    return f"{room} {sha256(contact.encode()).hexdigest()}"


def user_subject(organization_id: str, user_identifier: str) -> str:
    """The subject of a user identifier. Each organization has its own identifiers."""
    return f"identifier {sha256(f'{organization_id} {user_identifier}'.encode()).hexdigest()}"
