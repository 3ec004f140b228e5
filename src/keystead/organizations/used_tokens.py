"""What logins used and is good for one use: verification tokens without a key, messages that clients signed.

Here: the row, which changes without a new version of the organization. Not here: what is good for one use
(`operations.verified_contacts`).
"""

from __future__ import annotations

from typing import Any

from keystead.organizations.attached_rows import AttachedTable, VersionedRow


class UsedToken(VersionedRow, frozen=True, kw_only=True):
    """`id`: of a token, or the SHA-256 of a signed message in hex. It is there once over all organizations,
    because a parent's token is good in each sub-organization.

    Of two uses at the same instant, the second finds the row of the first, and is decided again.
    """

    table = AttachedTable(
        name="used_token",
        key=(("id", str),),
        columns=(("revision", int), ("expires_at_ms", int)),
        has_revision=True,
    )

    id: str
    expires_at_ms: int

    def row(self) -> tuple[Any, ...]:
        return (self.id, self.revision, self.expires_at_ms)
