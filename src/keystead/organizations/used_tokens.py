"""Verification tokens that were used and are good for one use: rows that change without a new version.

Here: the row. Not here: which tokens are good for one use (`operations.verified_contacts`).
"""

from __future__ import annotations

from typing import Any

from keystead.organizations.attached_rows import AttachedTable, VersionedRow


class UsedToken(VersionedRow, frozen=True, kw_only=True):
    """A token's id is there once over all organizations: a parent's token is good in each sub-organization.

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
