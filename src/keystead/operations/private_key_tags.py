"""Private key tags: names under which policies speak of several private keys."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import TagType
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct
from keystead.api.records import PrivateKey, Tag, Timestamp, Wire
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.organization import Put, Remove
from keystead.organizations.tags import check_apart, check_rename, new_tag, tag_named
from keystead.organizations.wallets import private_key_named
from keystead.pipeline.activity import Execution, Outcome


class CreatePrivateKeyTagIntent(RequestStruct, frozen=True):
    private_key_tag_name: Label
    private_key_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class CreatePrivateKeyTagResult(Wire, frozen=True):
    private_key_tag_id: str
    private_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_CREATE_PRIVATE_KEY_TAG")
def create_private_key_tag(
    execution: Execution, intent: CreatePrivateKeyTagIntent
) -> Outcome[CreatePrivateKeyTagResult]:
    """Make a tag and put it on private keys."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    tag = new_tag(
        organization,
        TagType.PRIVATE_KEY,
        execution.new_id(),
        intent.private_key_tag_name,
        limits=execution.limits,
        now_ms=execution.now_ms,
        field="parameters.privateKeyTagName",
    )
    keys = [
        private_key_named(organization, private_key_id) for private_key_id in dict.fromkeys(intent.private_key_ids)
    ]
    tagged = [replace(key, private_key_tags=(*key.private_key_tags, tag.tag_id), updated_at=now) for key in keys]
    return Outcome(
        result=CreatePrivateKeyTagResult(
            private_key_tag_id=tag.tag_id, private_key_ids=tuple(key.private_key_id for key in keys)
        ),
        changes=(Put(tag), *(Put(key) for key in tagged)),
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
) -> Outcome[UpdatePrivateKeyTagResult]:
    """Rename a tag, put it on private keys, take it off private keys."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    tag = tag_named(organization, TagType.PRIVATE_KEY, intent.private_key_tag_id)
    name = check_rename(organization, tag, intent.new_private_key_tag_name, "parameters.newPrivateKeyTagName")
    check_apart(
        intent.add_private_key_ids,
        intent.remove_private_key_ids,
        "private key",
        ("addPrivateKeyIds", "removePrivateKeyIds"),
    )
    keys = {
        private_key_id: private_key_named(organization, private_key_id)
        for private_key_id in dict.fromkeys((*intent.add_private_key_ids, *intent.remove_private_key_ids))
    }
    for private_key_id in dict.fromkeys(intent.add_private_key_ids):
        tags = dict.fromkeys((*keys[private_key_id].private_key_tags, tag.tag_id))
        keys[private_key_id] = replace(keys[private_key_id], private_key_tags=tuple(tags), updated_at=now)
    for private_key_id in dict.fromkeys(intent.remove_private_key_ids):
        keys[private_key_id] = _untagged(keys[private_key_id], {tag.tag_id}, now)
    return Outcome(
        result=UpdatePrivateKeyTagResult(private_key_tag_id=tag.tag_id),
        changes=(Put(replace(tag, tag_name=name, updated_at=now)), *(Put(key) for key in keys.values())),
    )


class DeletePrivateKeyTagsIntent(RequestStruct, frozen=True):
    private_key_tag_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=1000)]


class DeletePrivateKeyTagsResult(Wire, frozen=True):
    """`private_key_ids`: the keys that lost a tag."""

    private_key_tag_ids: tuple[str, ...]
    private_key_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_PRIVATE_KEY_TAGS")
def delete_private_key_tags(
    execution: Execution, intent: DeletePrivateKeyTagsIntent
) -> Outcome[DeletePrivateKeyTagsResult]:
    """Delete tags and take them off every key. A policy that names one matches no key by it from then on."""
    organization = execution.organization
    now = Timestamp.from_ms(execution.now_ms)
    gone = tuple(dict.fromkeys(intent.private_key_tag_ids))
    for tag_id in gone:
        tag_named(organization, TagType.PRIVATE_KEY, tag_id)
    tagged = [key for key in organization.private_keys.in_order() if not set(gone).isdisjoint(key.private_key_tags)]
    return Outcome(
        result=DeletePrivateKeyTagsResult(
            private_key_tag_ids=gone, private_key_ids=tuple(key.private_key_id for key in tagged)
        ),
        changes=(
            *(Put(_untagged(key, set(gone), now)) for key in tagged),
            *(Remove(Tag, tag_id) for tag_id in gone),
        ),
    )


def _untagged(key: PrivateKey, gone: set[str], now: Timestamp) -> PrivateKey:
    kept = tuple(tag_id for tag_id in key.private_key_tags if tag_id not in gone)
    return replace(key, private_key_tags=kept, updated_at=now)


class ListPrivateKeyTagsRequest(QueryRequest, frozen=True):
    pass


class ListPrivateKeyTagsResponse(Wire, frozen=True):
    private_key_tags: tuple[Tag, ...]


@query(of_version=True)
def list_private_key_tags(reading: Reading, _: ListPrivateKeyTagsRequest) -> ListPrivateKeyTagsResponse:
    """All private key tags of the organization."""
    tags = reading.organization.tags.in_order()
    return ListPrivateKeyTagsResponse(
        private_key_tags=tuple(tag for tag in tags if tag.tag_type is TagType.PRIVATE_KEY)
    )
