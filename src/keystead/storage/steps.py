"""What one commit writes: its rows, and the steps it stands on, each of which holds or does not.

Here: the values. Not here: what each row holds (`rows`), which commits share a transaction (`groups`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from keystead.organizations.organization import Version
from keystead.pipeline.store import CommitOutcome

Row = tuple[Any, ...]

ACTIVITY_CHANGES = (
    "status",
    "result",
    "app_proofs",
    "failure",
    "proofs",
    "approvals_since_ms",
    "revision",
    "updated_at_ms",
)
"""The columns that a later revision of an activity writes: from the status to the end of a row."""

IF_SKIPPED = {
    "instance": CommitOutcome.CONFLICT,
    "organization": CommitOutcome.CONFLICT,
    "activity": CommitOutcome.DUPLICATE,
}
"""What a commit comes to if a row of this table was there already. A look-up that was there is no matter."""


class Move(msgspec.Struct, frozen=True):
    """An organization's step from one version to another; it holds only if the first is still the newest."""

    organization_id: str
    before: Version
    after: Version

    def parameters(self) -> dict[str, str | int]:
        return {
            "organization_id": self.organization_id,
            "before_number": self.before.number,
            "before_changed_by": self.before.changed_by,
            "after_number": self.after.number,
            "after_changed_by": self.after.changed_by,
        }

    def key(self) -> Row:
        return (self.organization_id,)

    def expected(self) -> Row:
        """What the database must have for this to hold."""
        return (self.organization_id, self.before.number, self.before.changed_by)


class Revision(msgspec.Struct, frozen=True):
    """An activity's step to its next revision; it holds only if the revision before that is the newest."""

    organization_id: str
    activity_id: str
    before: int
    values: Row

    def parameters(self) -> dict[str, Any]:
        after = {f"after_{name}": value for name, value in zip(ACTIVITY_CHANGES, self.values, strict=True)}
        return {
            "organization_id": self.organization_id,
            "activity_id": self.activity_id,
            "before_revision": self.before,
            **after,
        }

    def key(self) -> Row:
        return (self.organization_id, self.activity_id)

    def expected(self) -> Row:
        return (self.organization_id, self.activity_id, self.before)


class WalletContents(msgspec.Struct, frozen=True):
    """A wallet whose accounts all go."""

    organization_id: str
    wallet_id: str

    def parameters(self) -> dict[str, str]:
        return {"organization_id": self.organization_id, "wallet_id": self.wallet_id}


class Revaluation(msgspec.Struct, frozen=True):
    """A fact of the instance takes the place of another; it holds only if that is still the fact."""

    name: str
    before: bytes
    after: bytes

    def parameters(self) -> dict[str, Any]:
        return {"instance_name": self.name, "before_value": self.before, "after_value": self.after}

    def key(self) -> Row:
        return (self.name,)

    def expected(self) -> Row:
        return (self.name, self.before)


class Rows(msgspec.Struct, frozen=True):
    """What one commit writes: (table, row in the order of the table's columns), and the steps it stands on.

    `version_check`: without a move, the organization and the version that must be its newest.
    `gone` are (table, key) of rows to delete; a row of the same key is written after that. The accounts of the
    `emptied` wallets go; of the `dissolved` organizations all rows beside their records.
    """

    rows: list[tuple[str, Row]]
    gone: list[tuple[str, Row]]
    move: Move | None = None
    version_check: tuple[str, Version] | None = None
    revision: Revision | None = None
    dissolved: tuple[str, ...] = ()
    emptied: tuple[WalletContents, ...] = ()
    revaluation: Revaluation | None = None
