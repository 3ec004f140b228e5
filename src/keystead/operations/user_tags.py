"""User tags: names under which policies speak of several users."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Tag, Timestamp, User, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.organization import Put, Remove
from keystead.organizations.tags import check_apart, check_rename, new_tag, tag_named
from keystead.organizations.users import user_named
from keystead.pipeline.activity import Execution, Outcome


class CreateUserTagIntent(RequestStruct, frozen=True):
    user_tag_name: Label
    user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class CreateUserTagResult(Wire, frozen=True):
    user_tag_id: str
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_USER_TAG")
def create_user_tag(execution: Execution, intent: CreateUserTagIntent) -> Outcome[CreateUserTagResult]:
    """Make a tag and put it on users."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    tag = new_tag(
        organization,
        TagType.USER,
        execution.new_id(),
        intent.user_tag_name,
        limits=execution.limits,
        now_ms=execution.now_ms,
        field="parameters.userTagName",
    )
    users = [user_named(organization, user_id) for user_id in dict.fromkeys(intent.user_ids)]
    tagged = [replace(user, user_tags=(*user.user_tags, tag.tag_id), updated_at=now) for user in users]
    return Outcome(
        result=CreateUserTagResult(user_tag_id=tag.tag_id, user_ids=tuple(user.user_id for user in users)),
        changes=(Put(tag), *(Put(user) for user in tagged)),
    )


class UpdateUserTagIntent(RequestStruct, frozen=True):
    user_tag_id: Uuid
    add_user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    remove_user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    new_user_tag_name: Label | None = None


class UpdateUserTagResult(Wire, frozen=True):
    user_tag_id: str


@activity("ACTIVITY_TYPE_UPDATE_USER_TAG")
def update_user_tag(execution: Execution, intent: UpdateUserTagIntent) -> Outcome[UpdateUserTagResult]:
    """Rename a tag, put it on users, take it off users."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    tag = tag_named(organization, TagType.USER, intent.user_tag_id)
    name = check_rename(organization, tag, intent.new_user_tag_name, "parameters.newUserTagName")
    check_apart(intent.add_user_ids, intent.remove_user_ids, "user", ("addUserIds", "removeUserIds"))
    users = {
        user_id: user_named(organization, user_id)
        for user_id in dict.fromkeys((*intent.add_user_ids, *intent.remove_user_ids))
    }
    for user_id in dict.fromkeys(intent.add_user_ids):
        tags = dict.fromkeys((*users[user_id].user_tags, tag.tag_id))
        users[user_id] = replace(users[user_id], user_tags=tuple(tags), updated_at=now)
    for user_id in dict.fromkeys(intent.remove_user_ids):
        users[user_id] = _untagged(users[user_id], {tag.tag_id}, now)
    return Outcome(
        result=UpdateUserTagResult(user_tag_id=tag.tag_id),
        changes=(Put(replace(tag, tag_name=name, updated_at=now)), *(Put(user) for user in users.values())),
    )


class DeleteUserTagsIntent(RequestStruct, frozen=True):
    user_tag_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=1000)]


class DeleteUserTagsResult(Wire, frozen=True):
    """`user_ids`: the users who lost a tag."""

    user_tag_ids: tuple[str, ...]
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_USER_TAGS")
def delete_user_tags(execution: Execution, intent: DeleteUserTagsIntent) -> Outcome[DeleteUserTagsResult]:
    """Delete tags and take them off everyone. A policy that names one matches nobody by it from then on."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    gone = tuple(dict.fromkeys(intent.user_tag_ids))
    for tag_id in gone:
        tag_named(organization, TagType.USER, tag_id)
    tagged = [user for user in organization.users.in_order() if not set(gone).isdisjoint(user.user_tags)]
    return Outcome(
        result=DeleteUserTagsResult(user_tag_ids=gone, user_ids=tuple(user.user_id for user in tagged)),
        changes=(
            *(Put(_untagged(user, set(gone), now)) for user in tagged),
            *(Remove(Tag, tag_id) for tag_id in gone),
        ),
    )


def _untagged(user: User, gone: set[str], now: Timestamp) -> User:
    kept = tuple(tag_id for tag_id in user.user_tags if tag_id not in gone)
    return replace(user, user_tags=kept, updated_at=now)


class ListUserTagsRequest(QueryRequest, frozen=True):
    pass


class ListUserTagsResponse(Wire, frozen=True):
    user_tags: tuple[Tag, ...]


@query(of_version=True)
def list_user_tags(reading: Reading, _: ListUserTagsRequest) -> ListUserTagsResponse:
    """All user tags of the organization."""
    tags = reading.organization.tags.in_order()
    return ListUserTagsResponse(user_tags=tuple(tag for tag in tags if tag.tag_type is TagType.USER))
