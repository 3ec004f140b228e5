"""Private key tags: a policy names several private keys by one tag."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import Label
from keystead.api.enums import TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import Tag, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.operations.users.tagging import PRIVATE_KEYS, created_tag, deleted_tags, tags_of_type, updated_tag
from keystead.pipeline.execution import Execution, Output


class CreatePrivateKeyTagIntent(RequestStruct, frozen=True):
    private_key_tag_name: Label
    private_key_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class CreatePrivateKeyTagResult(Wire, frozen=True):
    private_key_tag_id: str
    private_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_PRIVATE_KEY_TAG")
def create_private_key_tag(
    execution: Execution, intent: CreatePrivateKeyTagIntent
) -> Output[CreatePrivateKeyTagResult]:
    """Create a tag and give it to private keys."""
    tag, private_key_ids, changes = created_tag(
        execution, PRIVATE_KEYS, intent.private_key_tag_name, "parameters.privateKeyTagName", intent.private_key_ids
    )
    return Output(
        result=CreatePrivateKeyTagResult(private_key_tag_id=tag.tag_id, private_key_ids=private_key_ids),
        changes=changes,
    )


class UpdatePrivateKeyTagIntent(RequestStruct, frozen=True):
    private_key_tag_id: Uuid
    add_private_key_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    remove_private_key_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]
    new_private_key_tag_name: Label | None = None


class UpdatePrivateKeyTagResult(Wire, frozen=True):
    private_key_tag_id: str


@activity("ACTIVITY_TYPE_UPDATE_PRIVATE_KEY_TAG")
def update_private_key_tag(
    execution: Execution, intent: UpdatePrivateKeyTagIntent
) -> Output[UpdatePrivateKeyTagResult]:
    """Rename a tag, give it to private keys, take it from private keys."""
    changes = updated_tag(
        execution,
        PRIVATE_KEYS,
        intent.private_key_tag_id,
        (intent.new_private_key_tag_name, "newPrivateKeyTagName"),
        (intent.add_private_key_ids, "addPrivateKeyIds"),
        (intent.remove_private_key_ids, "removePrivateKeyIds"),
    )
    return Output(result=UpdatePrivateKeyTagResult(private_key_tag_id=intent.private_key_tag_id), changes=changes)


class DeletePrivateKeyTagsIntent(RequestStruct, frozen=True):
    private_key_tag_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=1000)]


class DeletePrivateKeyTagsResult(Wire, frozen=True):
    """`private_key_ids`: the keys that lost a tag."""

    private_key_tag_ids: tuple[str, ...]
    private_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_PRIVATE_KEY_TAGS", also_does=("UPDATE_PRIVATE_KEY_TAG",))
def delete_private_key_tags(
    execution: Execution, intent: DeletePrivateKeyTagsIntent
) -> Output[DeletePrivateKeyTagsResult]:
    """Delete tags and take them from their keys. A policy that names one no longer matches a key by it."""
    tag_ids, private_key_ids, changes = deleted_tags(execution, PRIVATE_KEYS, intent.private_key_tag_ids)
    return Output(
        result=DeletePrivateKeyTagsResult(private_key_tag_ids=tag_ids, private_key_ids=private_key_ids),
        changes=changes,
    )


class ListPrivateKeyTagsRequest(QueryRequest, frozen=True):
    pass


class ListPrivateKeyTagsResponse(Wire, frozen=True):
    private_key_tags: tuple[Tag, ...]


@query(of_version=True)
def list_private_key_tags(reading: Reading, _: ListPrivateKeyTagsRequest) -> ListPrivateKeyTagsResponse:
    """All private key tags of the organization."""
    return ListPrivateKeyTagsResponse(private_key_tags=tags_of_type(reading.organization, TagType.PRIVATE_KEY))
