"""User tags: a policy names several users by one tag."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Tag, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.operations.users.tagging import USERS, created_tag, deleted_tags, tags_of_type, updated_tag
from keystead.pipeline.execution import Execution, Output


class CreateUserTagIntent(RequestStruct, frozen=True):
    user_tag_name: Label
    user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class CreateUserTagResult(Wire, frozen=True):
    user_tag_id: str
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_USER_TAG")
def create_user_tag(execution: Execution, intent: CreateUserTagIntent) -> Output[CreateUserTagResult]:
    """Create a tag and give it to users."""
    tag, user_ids, changes = created_tag(
        execution, USERS, intent.user_tag_name, "parameters.userTagName", intent.user_ids
    )
    return Output(
        result=CreateUserTagResult(user_tag_id=tag.tag_id, user_ids=user_ids),
        changes=changes,
    )


class UpdateUserTagIntent(RequestStruct, frozen=True):
    user_tag_id: Uuid
    add_user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    remove_user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    new_user_tag_name: Label | None = None


class UpdateUserTagResult(Wire, frozen=True):
    user_tag_id: str


@activity("ACTIVITY_TYPE_UPDATE_USER_TAG", also_does=("UPDATE_USER",))
def update_user_tag(execution: Execution, intent: UpdateUserTagIntent) -> Output[UpdateUserTagResult]:
    """Rename a tag, give it to users, take it from users."""
    changes = updated_tag(
        execution,
        USERS,
        intent.user_tag_id,
        (intent.new_user_tag_name, "newUserTagName"),
        (intent.add_user_ids, "addUserIds"),
        (intent.remove_user_ids, "removeUserIds"),
    )
    return Output(result=UpdateUserTagResult(user_tag_id=intent.user_tag_id), changes=changes)


class DeleteUserTagsIntent(RequestStruct, frozen=True):
    user_tag_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=1000)]


class DeleteUserTagsResult(Wire, frozen=True):
    """`user_ids`: the users who lost a tag."""

    user_tag_ids: tuple[str, ...]
    user_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_USER_TAGS", also_does=("UPDATE_USER_TAG",))
def delete_user_tags(execution: Execution, intent: DeleteUserTagsIntent) -> Output[DeleteUserTagsResult]:
    """Delete tags and take them from their users. A policy that names one no longer matches a user by it."""
    tag_ids, user_ids, changes = deleted_tags(execution, USERS, intent.user_tag_ids)
    return Output(result=DeleteUserTagsResult(user_tag_ids=tag_ids, user_ids=user_ids), changes=changes)


class ListUserTagsRequest(QueryRequest, frozen=True):
    pass


class ListUserTagsResponse(Wire, frozen=True):
    user_tags: tuple[Tag, ...]


@query(of_version=True)
def list_user_tags(reading: Reading, _: ListUserTagsRequest) -> ListUserTagsResponse:
    """All user tags of the organization."""
    return ListUserTagsResponse(user_tags=tags_of_type(reading.organization, TagType.USER))
