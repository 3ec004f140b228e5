"""The shared part of activities on user tags and on private key tags: giving tags to records and taking them.

Here: the changes that creating, updating and deleting tags make. Not here: the endpoints (`user_tags`,
`wallets.private_key_tags`), the rules of tags (`organizations.tags`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from keystead.api.enums import TagType
from keystead.api.records import Tag, Timestamp
from keystead.organizations.kinds.private_keys import PrivateKeys
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.record_map import RecordMap
from keystead.organizations.tags import check_disjoint, check_rename, new_tag, tag_of_type
from keystead.pipeline.execution import Execution

RecordT = TypeVar("RecordT", bound=msgspec.Struct)


class TaggedKind(msgspec.Struct, Generic[RecordT], frozen=True, kw_only=True):
    """The records that have tags of one type.

    `tags_field` is their field with the ids of their tags.
    """

    tag_type: TagType
    tags_field: str
    map: type[RecordMap[RecordT]]

    def tag_ids(self, record: RecordT) -> tuple[str, ...]:
        tag_ids: tuple[str, ...] = getattr(record, self.tags_field)
        return tag_ids

    def tagged(self, record: RecordT, tag_id: str, now: Timestamp) -> RecordT:
        tag_ids = tuple(dict.fromkeys((*self.tag_ids(record), tag_id)))
        return replace(record, **{self.tags_field: tag_ids}, updated_at=now)

    def untagged(self, record: RecordT, removed: Set[str], now: Timestamp) -> RecordT:
        tag_ids = tuple(tag_id for tag_id in self.tag_ids(record) if tag_id not in removed)
        return replace(record, **{self.tags_field: tag_ids}, updated_at=now)


USERS = TaggedKind(
    tag_type=TagType.USER,
    tags_field="user_tags",
    map=Users,
)
PRIVATE_KEYS = TaggedKind(
    tag_type=TagType.PRIVATE_KEY,
    tags_field="private_key_tags",
    map=PrivateKeys,
)


def created_tag(
    execution: Execution, kind: TaggedKind[RecordT], name: str, field: str, record_ids: Iterable[str]
) -> tuple[Tag, tuple[str, ...], tuple[Change, ...]]:
    """A new tag, the ids of the records that get it, each once, and the changes.

    `field`: the field of the name. Raises LimitReached, InvalidRequest for a name that is taken, NotFound.
    """
    organization, now = execution.organization, Timestamp.from_ms(execution.now_ms)
    tag = new_tag(
        organization,
        kind.tag_type,
        execution.new_id(),
        name,
        limits=execution.limits,
        now_ms=execution.now_ms,
        field=field,
    )
    records = {record_id: organization.record(kind.map, record_id) for record_id in record_ids}
    tagged = (Put(kind.tagged(record, tag.tag_id, now)) for record in records.values())
    return tag, tuple(records), (Put(tag), *tagged)


def updated_tag(
    execution: Execution,
    kind: TaggedKind[RecordT],
    tag_id: str,
    name: tuple[str | None, str],
    adding: tuple[Sequence[str], str],
    removing: tuple[Sequence[str], str],
) -> tuple[Change, ...]:
    """The changes that rename a tag, put it on records and take it off others. A name of None stays as it is.

    Each value comes with the name of its field. Raises NotFound, and InvalidRequest for a name that is taken or a
    record that is in both lists.
    """
    organization, now = execution.organization, Timestamp.from_ms(execution.now_ms)
    tag = tag_of_type(organization, kind.tag_type, tag_id)
    new_name = check_rename(organization, tag, name[0], f"parameters.{name[1]}")
    check_disjoint(adding[0], removing[0], kind.map.called, (adding[1], removing[1]))
    records = {record_id: organization.record(kind.map, record_id) for record_id in (*adding[0], *removing[0])}
    for record_id in adding[0]:
        records[record_id] = kind.tagged(records[record_id], tag_id, now)
    for record_id in removing[0]:
        records[record_id] = kind.untagged(records[record_id], {tag_id}, now)
    return (Put(replace(tag, tag_name=new_name, updated_at=now)), *map(Put, records.values()))


def deleted_tags(
    execution: Execution, kind: TaggedKind[RecordT], tag_ids: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Change, ...]]:
    """The ids of the tags, each once; the ids of the records that lose one; the changes. Raises NotFound."""
    organization, now = execution.organization, Timestamp.from_ms(execution.now_ms)
    removed = tuple(dict.fromkeys(tag_ids))
    for tag_id in removed:
        tag_of_type(organization, kind.tag_type, tag_id)
    records = organization.of(kind.map)
    tagged = [record for record in records.in_order() if not set(removed).isdisjoint(kind.tag_ids(record))]
    return (
        removed,
        tuple(map(records.id_of, tagged)),
        (
            *(Put(kind.untagged(record, set(removed), now)) for record in tagged),
            *(Remove(Tag, tag_id) for tag_id in removed),
        ),
    )


def tags_of_type(organization: Organization, tag_type: TagType) -> tuple[Tag, ...]:
    """The tags of this type, in order of creation."""
    return tuple(tag for tag in organization.tags.in_order() if tag.tag_type is tag_type)
