"""All records of one kind of one organization, as an immutable map; a subclass declares the kind.

Here: the parts that all kinds share: declaration, look-ups by id, limit, unique labels. Not here: the kinds
(`kinds`, listed in `record_kinds`), and the organization (`organization`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from keystead.organizations.labels import check_unique
from keystead.organizations.limits import Limit, Limits, check_limit
from keystead.organizations.lookups import Lookup
from keystead.organizations.memory_size import measured_bytes
from keystead.organizations.persistent_map import PersistentMap

RecordT = TypeVar("RecordT", bound=msgspec.Struct)
MapT = TypeVar("MapT", bound="RecordMap[Any]")

_ENTRY_BYTES = 120
"""Bytes of an entry of a persistent map, without its key and its value."""


class RecordMap(msgspec.Struct, Generic[RecordT], frozen=True):
    """The records of one kind by id. Subclass it to declare a kind, and list the subclass in `record_kinds`.

    - `stored_name`: the name of the kind in the database. It never changes.
    - `called`: the name of a record of the kind in errors; by default, the stored name with spaces.
    - `record`: the type of the records.
    - `id_field`: the field with a record's id; None if an organization has one record of the kind.
    - `limits`: the limits of the kind. The first bounds the number of records.
    - `label_field`: the field whose value is unique in an organization; if there is a `label_scope`, unique among
      the records with an equal value of that field. `label_called`: its name in errors.
    - `has_index`: whether `_index` and `_unindex` maintain further look-ups.
    - `bytes`: the measured size of the records in memory.
    """

    stored_name: ClassVar[str]
    called: ClassVar[str]
    record: ClassVar[type[msgspec.Struct]]
    id_field: ClassVar[str | None]
    limits: ClassVar[tuple[Limit, ...]] = ()
    label_field: ClassVar[str | None] = None
    label_scope: ClassVar[str | None] = None
    label_called: ClassVar[str] = "label"
    has_index: ClassVar[bool] = False

    by_id: PersistentMap[str, RecordT] = PersistentMap()
    bytes: int = 0

    def __init_subclass__(cls) -> None:
        """Raises TypeError for an incomplete declaration."""
        fields = getattr(getattr(cls, "record", None), "__struct_fields__", ())
        named = [name for name in ("id_field", "label_field", "label_scope") if getattr(cls, name, None)]
        if not isinstance(getattr(cls, "stored_name", None), str) or not fields or not hasattr(cls, "id_field"):
            raise TypeError(f"{cls.__name__} must declare stored_name, record and id_field")
        for name in named:
            if getattr(cls, name) not in fields:
                raise TypeError(f"{cls.__name__}.{name}: {cls.record.__name__} has no field {getattr(cls, name)}")
        if not hasattr(cls, "called"):
            cls.called = cls.stored_name.replace("_", " ")

    @classmethod
    def id_of(cls, record: msgspec.Struct) -> str:
        """The record's id; "" for a kind with one record for each organization."""
        return str(getattr(record, cls.id_field)) if cls.id_field else ""

    # Look-ups.

    def __getitem__(self, id_: str) -> RecordT:
        """Raises KeyError."""
        return self.by_id[id_]

    def get(self, id_: str) -> RecordT | None:
        return self.by_id.get(id_)

    def __contains__(self, id_: object) -> bool:
        return id_ in self.by_id

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[str]:
        """The ids, in no particular order."""
        return iter(self.by_id)

    def keys(self) -> Iterable[str]:
        """The ids, in no particular order."""
        return self.by_id.keys()

    def values(self) -> Iterable[RecordT]:
        """The records, in no particular order."""
        return self.by_id.values()

    def items(self) -> Iterable[tuple[str, RecordT]]:
        """Ids and records, in no particular order."""
        return self.by_id.items()

    def in_order(self) -> list[RecordT]:
        """The records in order of creation, because ids sort by time of creation."""
        return self.by_id.in_order()

    # Changes.

    def put(self: MapT, record: Any) -> MapT:
        """This map with the record, which replaces the record of the same id."""
        id_ = self.id_of(record)
        before = self.by_id.get(id_)
        bare = self if before is None else self._unindex(before)
        size = self.bytes + self._bytes(record) - (0 if before is None else self._bytes(before))
        return replace(bare, by_id=self.by_id.set(id_, record), bytes=size)._index(record)

    def remove(self: MapT, id_: str) -> MapT:
        """This map without the record. Raises KeyError for an id without a record."""
        before = self.by_id[id_]
        size = self.bytes - self._bytes(before)
        return replace(self._unindex(before), by_id=self.by_id.delete(id_), bytes=size)

    @classmethod
    def _bytes(cls, record: Any) -> int:
        return _ENTRY_BYTES + measured_bytes(record)

    @classmethod
    def lookups(cls, record: Any) -> frozenset[Lookup]:  # noqa: ARG003 - a kind with look-ups overrides it
        """The values by which the organization is found from its parent because of this record."""
        return frozenset()

    def _index(self: MapT, record: Any) -> MapT:  # noqa: ARG002 - a subclass with an index overrides it
        """This map, which holds the record, with the record in its indexes."""
        return self

    def _unindex(self: MapT, record: Any) -> MapT:  # noqa: ARG002 - a subclass with an index overrides it
        """This map, which still holds the record, without the record in its indexes."""
        return self

    # Rules.

    def check_limit(self, adding: int, limits: Limits) -> None:
        """Raise LimitReached if this number of new records would exceed the kind's limit."""
        check_limit(len(self), adding, self.limits[0], limits)

    def labels(self, scope: object = None) -> dict[str, str]:
        """The labels that are taken, and the id of the record that has each. `scope`: a value of `label_scope`."""
        assert self.label_field is not None, f"{type(self).__name__} has no unique labels"
        return {
            getattr(record, self.label_field): id_
            for id_, record in self.by_id.items()
            if self.label_scope is None or getattr(record, self.label_scope) == scope
        }

    @classmethod
    def check_label(cls, label: str, taken: Mapping[str, str], field: str) -> None:
        """Raise InvalidRequest if a record has the label. `taken`: as `labels` returns them. `field`: the field of
        the request with the label."""
        if label in taken:
            check_unique(label, [(label, taken[label])], field, cls.label_called)
