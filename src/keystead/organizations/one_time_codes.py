"""One-time codes as they are stored, and how many were started: rows that change without a new version.

Here: the rows, and the rules of attempts and counts. Pure. Not here: the form of a code
(`sessions.one_time_codes`), its digest (`signer`), the effect of a right code (`operations`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

import msgspec
from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.organizations.attached_rows import EXPIRY, AttachedTable, VersionedRow
from keystead.organizations.kinds.data_key import Sealed
from keystead.sessions.one_time_codes import ACTIVE_MAX, ATTEMPTS_MAX, INIT_MAX, INIT_WINDOW_MS, CodeForm


class OneTimeCode(VersionedRow, frozen=True, kw_only=True):
    """A code that was sent to a contact. The code itself is not stored.

    `flow`: the operation that the code is for: verify_otp with an encrypted attempt ("encrypted"), an older
    verify_otp with the code in plaintext ("plain"), or otp_auth ("auth"). `digest`: the keyed digest of the
    canonical code. `target`: the sealed private half of the key that attempts are encrypted to, in the first flow
    only. Times are milliseconds since the epoch.
    """

    table = AttachedTable(
        name="one_time_code",
        key=(("id", str),),
        columns=(("revision", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
    )

    id: str
    flow: Literal["encrypted", "plain", "auth"]
    otp_type: OtpType
    contact: str
    form: CodeForm
    digest: bytes
    created_at_ms: int
    expires_at_ms: int
    target: Sealed | None = None
    attempts: int = 0
    used_at_ms: int | None = None

    def is_open(self, now_ms: int) -> bool:
        """Whether an attempt may still succeed."""
        return self.used_at_ms is None and self.attempts < ATTEMPTS_MAX and now_ms < self.expires_at_ms

    def after_wrong_attempt(self) -> OneTimeCode:
        return replace(self, revision=self.revision + 1, attempts=self.attempts + 1)

    def after_use(self, now_ms: int) -> OneTimeCode:
        return replace(self, revision=self.revision + 1, attempts=self.attempts + 1, used_at_ms=now_ms)


class CodeStart(msgspec.Struct, frozen=True, array_like=True):
    """One code that was started. Times are milliseconds since the epoch."""

    otp_id: str
    started_at_ms: int
    expires_at_ms: int


class CodeCount(VersionedRow, frozen=True, kw_only=True):
    """The codes that were recently started for one subject: a contact, or a user identifier of the caller.

    `subject`: a digest, see `contact_subject` and `user_subject`. Two requests that start codes at the same time
    both write this row, so one of the commits fails; its request is decided again and sees the other code.
    """

    table = AttachedTable(
        name="one_time_code_count",
        key=(("subject", str),),
        columns=(("revision", int), (EXPIRY, int), ("body", bytes)),
        has_revision=True,
    )

    subject: str
    starts: tuple[CodeStart, ...] = ()

    @property
    def expires_at_ms(self) -> int:
        return max((_counted_until_ms(start) for start in self.starts), default=0)

    def with_start(self, start: CodeStart) -> CodeCount:
        """The next revision, without the codes that no rule counts any more."""
        kept = [earlier for earlier in self.starts if _counted_until_ms(earlier) > start.started_at_ms]
        return replace(self, revision=self.revision + 1, starts=(*kept, start))

    def without_start(self, otp_id: str) -> CodeCount:
        """The next revision, without a code that was used."""
        kept = tuple(start for start in self.starts if start.otp_id != otp_id)
        return replace(self, revision=self.revision + 1, starts=kept)

    def active_count(self, now_ms: int) -> int:
        """How many of the codes have not expired."""
        return sum(now_ms < start.expires_at_ms for start in self.starts)

    def recent_count(self, now_ms: int) -> int:
        """How many codes were started within the window of the rate limit."""
        return sum(now_ms < start.started_at_ms + INIT_WINDOW_MS for start in self.starts)


def has_room_for_contact(count: CodeCount, now_ms: int) -> bool:
    """Whether a contact may get another code. A locked code counts until it expires; otherwise the number of
    attempts would have no limit."""
    return count.active_count(now_ms) < ACTIVE_MAX


def has_room_for_user(count: CodeCount, now_ms: int) -> bool:
    """Whether a user identifier may start another code."""
    return count.recent_count(now_ms) < INIT_MAX


def contact_subject(contact: str) -> str:
    """The subject of a contact. `contact`: the result of `normalized_contact`."""
    return f"contact {sha256(contact.encode()).hexdigest()}"


def user_subject(user_identifier: str) -> str:
    """The subject of a user. `user_identifier`: a text of any form that the caller chose."""
    return f"user {sha256(user_identifier.encode()).hexdigest()}"


def count_without_starts(subject: str) -> CodeCount:
    """The count of a subject that has no row. The first revision that is written is 1."""
    return CodeCount(subject=subject, revision=0)


def _counted_until_ms(start: CodeStart) -> int:
    return max(start.expires_at_ms, start.started_at_ms + INIT_WINDOW_MS)
