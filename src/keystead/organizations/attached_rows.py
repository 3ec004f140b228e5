"""Rows beside an organization's value: the parts that all kinds of them share.

Here: the classes that a kind extends. Not here: the kinds (`attachments`, `one_time_codes`, `outgoing_messages`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from keystead.organizations.lookups import Lookup

EXPIRY: Final = "expires_at_ms"
"""The column with the time of expiry, in milliseconds since the epoch. After it, a row is not read any more."""


class AttachedTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of attached rows. Its first column is `organization_id`; then come those of `key`, then `columns`.

    The types of columns are str, int, bool and bytes.

    - `is_replaced`: a row replaces the row of the same key. Otherwise a second row of a key is an error.
    - `has_revision`: see VersionedRow.
    - `outlives_organization`: the rows stay when their organization is deleted.
    - `is_deleted_at_once`: the rows are deleted in the transaction that deletes their organization. The rows of
      other tables are deleted in steps.
    - `expires`: it has the column EXPIRY. Its rows may be deleted after that time.
    """

    name: str
    key: tuple[tuple[str, type], ...]
    columns: tuple[tuple[str, type], ...]
    is_replaced: bool = False
    has_revision: bool = False
    outlives_organization: bool = False
    is_deleted_at_once: bool = False

    @property
    def expires(self) -> bool:
        return any(name == EXPIRY for name, _ in self.columns)


class AttachedRow(msgspec.Struct, frozen=True):
    """A row to write. A kind is a subclass with its table, listed in ATTACHED_TABLES."""

    table: ClassVar[AttachedTable]

    def row(self) -> tuple[Any, ...]:
        """The values of the key, then those of the other columns."""
        raise NotImplementedError

    def lookups(self) -> frozenset[Lookup]:
        """The values by which the row is found from its organization's parent."""
        return frozenset()


class VersionedRow(AttachedRow, frozen=True, kw_only=True):
    """A row with a revision of its own: writing it makes no new version of the organization.

    Revision 1 is a new row. A later one replaces the revision before it, and only that: if that is no longer what
    is stored, the whole commit fails and is decided again. The first column of its table is `revision`.
    """

    revision: int = 1


class RemovedRow(msgspec.Struct, frozen=True):
    """A row to delete, by its key, with the look-ups that led to it."""

    table: AttachedTable
    key: tuple[str, ...]
    lookups: frozenset[Lookup] = frozenset()
