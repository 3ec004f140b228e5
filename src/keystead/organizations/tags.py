"""The rules of tags, of users and of private keys.

Pure. Not here: what a tag means to a policy (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.enums import TagType
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.records import Tag, Timestamp
from keystead.organizations.kinds.tags import Tags
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization

_CALLED = {TagType.USER: "user tag", TagType.PRIVATE_KEY: "private key tag"}


def new_tag(
    organization: Organization,
    tag_type: TagType,
    tag_id: str,
    name: str,
    *,
    limits: Limits,
    now_ms: int,
    field: str,
) -> Tag:
    """The record of a new tag. Raises LimitReached, and InvalidRequest for a name that another tag of this type
    has."""
    organization.tags.check_limit(1, limits)
    Tags.check_label(name, organization.tags.labels(tag_type), field)
    now = Timestamp.from_ms(now_ms)
    return Tag(tag_id=tag_id, tag_name=name, tag_type=tag_type, created_at=now, updated_at=now)


def tag_of_type(organization: Organization, tag_type: TagType, tag_id: str) -> Tag:
    """The tag of this id and type. Raises NotFound, also for a tag of the other type."""
    tag = organization.tags.get(tag_id)
    if tag is None or tag.tag_type is not tag_type:
        raise NotFound(f"unable to find {_CALLED[tag_type]} {tag_id} in organization {organization.id}")
    return tag


def check_rename(organization: Organization, tag: Tag, name: str | None, field: str) -> str:
    """The name of the tag after the change. Raises InvalidRequest if another tag of its type has it."""
    if name is None or name == tag.tag_name:
        return tag.tag_name
    Tags.check_label(name, organization.tags.labels(tag.tag_type), field)
    return name


def check_disjoint(adding: Iterable[str], removing: Iterable[str], what: str, fields: tuple[str, str]) -> None:
    """Raise InvalidRequest if the same record is to get a tag and to lose it."""
    if both := sorted(set(adding) & set(removing)):
        raise InvalidRequest(f"invalid request: {what} {both[0]} is in both `{fields[0]}` and `{fields[1]}`")


def check_tags(organization: Organization, tag_type: TagType, tag_ids: Iterable[str], field: str) -> None:
    """Raise NotFound for the first id that is not a tag of this type."""
    for tag_id in tag_ids:
        tag = organization.tags.get(tag_id)
        if tag is None or tag.tag_type is not tag_type:
            raise NotFound(f"field `{field}`: unable to find tag {tag_id} in organization {organization.id}")
