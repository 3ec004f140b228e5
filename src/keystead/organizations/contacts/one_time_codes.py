"""One-time codes as they are stored: rows that change without a new version.

Here: the row, and the rule of its attempts. Pure. Not here: the form of a code (`sessions.one_time_codes`), its
digest (`signer`), how many codes a contact gets (`sending_windows`), the effect of a right code (`operations`).
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.organizations.attached_rows import EXPIRY, AttachedTable, VersionedRow
from keystead.organizations.contacts.sending_windows import Room
from keystead.organizations.kinds.data_key import Sealed
from keystead.sessions.bounds import CODE_ATTEMPTS_MAX
from keystead.sessions.one_time_codes import CodeForm


class OneTimeCode(VersionedRow, frozen=True, kw_only=True):
    """A code that was sent to a contact. The code itself is not stored.

    `flow`: the operation that the code is for: verify_otp with an encrypted attempt ("encrypted"), an older
    verify_otp with the code in plaintext ("plain"), or otp_auth ("auth"). `digest`: the keyed digest of the
    canonical code. `target`: the sealed private half of the key that attempts are encrypted to, in the first flow
    only. `room`: in which attempts are counted; None for a code that everybody knows. Times are milliseconds since
    the epoch.
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
    room: Room | None = "parent"

    def is_open(self, now_ms: int) -> bool:
        """Whether an attempt may still succeed."""
        return self.used_at_ms is None and self.attempts < CODE_ATTEMPTS_MAX and now_ms < self.expires_at_ms

    def after_wrong_attempt(self) -> OneTimeCode:
        return replace(self, revision=self.revision + 1, attempts=self.attempts + 1)

    def after_use(self, now_ms: int) -> OneTimeCode:
        return replace(self, revision=self.revision + 1, attempts=self.attempts + 1, used_at_ms=now_ms)
