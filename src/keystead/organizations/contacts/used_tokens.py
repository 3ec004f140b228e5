"""Verification tokens without a key, and messages that clients signed: each can be used once, and this records its
use.

Here: the row, which changes without a new version of the organization. Not here: what is valid for one use only
(`operations.logins.verification_tokens`).
"""

from __future__ import annotations

from keystead.organizations.attached_rows import EXPIRY, AttachedTable, VersionedRow


class UsedToken(VersionedRow, frozen=True, kw_only=True):
    """The use of a token or message. `id`: the id of the token, or the SHA-256 of the signed message in hex.

    The id is unique over all organizations, because a token of a parent is valid in each sub-organization. If two
    requests use a token at the same time, the commit of the second fails, and it is decided again.
    """

    table = AttachedTable(
        name="used_token",
        key=(("id", str),),
        columns=(("revision", int), (EXPIRY, int)),
        has_revision=True,
    )

    id: str
    expires_at_ms: int
