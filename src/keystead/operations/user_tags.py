"""User tags: names under which policies speak of several users."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.activities.activity import Execution, Outcome
from keystead.api.decoding import Label
from keystead.api.enums import TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Asked
from keystead.api.records import Tag, Timestamp, Wire
from keystead.operations.declare import activity
from keystead.organizations.labels import check_unique
from keystead.organizations.limits import check_room
from keystead.organizations.organization import Put
from keystead.organizations.users import user_named


class CreateUserTagIntent(Asked, frozen=True):
    user_tag_name: Label
    user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class CreateUserTagResult(Wire, frozen=True):
    user_tag_id: str
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_USER_TAG", resource="USER", action="CREATE")
def create_user_tag(execution: Execution, intent: CreateUserTagIntent) -> Outcome[CreateUserTagResult]:
    """Make a tag and put it on users."""
    organization = execution.organization
    tags = organization.tags.values()
    check_room(len(organization.tags), 1, execution.limits.tags, "tags")
    check_unique(
        intent.user_tag_name,
        ((tag.tag_name, tag.tag_id) for tag in tags if tag.tag_type is TagType.USER),
        "parameters.userTagName",
    )
    now = Timestamp.from_ms(execution.now_ms)
    tag = Tag(
        tag_id=execution.new_id(),
        tag_name=intent.user_tag_name,
        tag_type=TagType.USER,
        created_at=now,
        updated_at=now,
    )
    users = [user_named(organization, user_id) for user_id in dict.fromkeys(intent.user_ids)]
    tagged = [replace(user, user_tags=(*user.user_tags, tag.tag_id), updated_at=now) for user in users]
    return Outcome(
        result=CreateUserTagResult(user_tag_id=tag.tag_id, user_ids=tuple(user.user_id for user in users)),
        changes=(Put(tag), *(Put(user) for user in tagged)),
    )
