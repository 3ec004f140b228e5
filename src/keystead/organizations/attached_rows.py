"""Rows beside an organization's value: the parts that all kinds of them share.

Here: the classes that a kind extends. Not here: the kinds (`attachments`, `contacts.one_time_codes`,
`contacts.sending_windows`, `contacts.outgoing_messages`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import msgspec

from keystead.organizations.lookups import Lookup

EXPIRY: Final = "expires_at_ms"
"""The column with the time of expiry, in milliseconds since the epoch. After it, a row is not read any more."""


BODY: Final = "body"
"""The column with a row as JSON: with all its fields, those of other columns among them."""

_encode = msgspec.json.Encoder().encode


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
    def names(self) -> tuple[str, ...]:
        """The columns of a row, in order, without `organization_id`."""
        return tuple(name for name, _ in (*self.key, *self.columns))

    @property
    def expires(self) -> bool:
        return any(name == EXPIRY for name, _ in self.columns)


class AttachedRow(msgspec.Struct, frozen=True):
    """A row beside the value of an organization, such as a wallet account, written or read.

    A kind is a subclass with its table, listed in ATTACHED_TABLES.

    Columns have the names of fields. The column BODY has all fields, unless it is a field itself. A kind with other
    columns has its own `row` and `from_row`.
    """

    table: ClassVar[AttachedTable]

    def row(self) -> tuple[Any, ...]:
        """The values of the key, then those of the other columns."""
        has_json = self._has_json()
        return tuple(
            _encode(self) if has_json and name == BODY else getattr(self, name) for name in self.table.names
        )

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Self:
        """The inverse of `row`. If the row is stored as JSON, its last column is enough."""
        if cls._has_json():
            return msgspec.json.decode(row[-1], type=cls)
        return cls(**dict(zip(cls.table.names, row, strict=True)))

    @classmethod
    def _has_json(cls) -> bool:
        return BODY in cls.table.names and BODY not in cls.__struct_fields__

    @property
    def owner_id(self) -> str:
        """The organization that the row belongs to; "" for the organization of the commit that writes it."""
        return ""

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
