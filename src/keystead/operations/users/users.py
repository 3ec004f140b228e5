"""Users: adding them, and reading them.

Not here: the parameters (`user_intents`), the records of a new user (`new_users`), changes (`user_changes`).
"""

from __future__ import annotations

from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, upgraded_api_key
from keystead.api.records import User, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.operations.users import added_credentials as adding
from keystead.operations.users import user_intents
from keystead.operations.users.new_users import EvidenceOf, added_users, tokens_of_users
from keystead.operations.users.sibling_credentials import HeldBySiblings, held_by_siblings
from keystead.organizations.contacts.contact_evidence import of_writing
from keystead.organizations.kinds.users import Users
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output


class CreateUsersResult(Wire, frozen=True):
    user_ids: tuple[str, ...]


_FIELD = "parameters.users"


def _tokens(intent: user_intents.CreateUsersIntentV4) -> dict[str, str]:
    return tokens_of_users([user.oauth_providers for user in intent.users], _FIELD)


async def _held_by_siblings(source: ForeignSource, intent: user_intents.CreateUsersIntentV4) -> HeldBySiblings:
    return await held_by_siblings(
        source,
        api_keys=[key for user in intent.users for key in user.api_keys],
        authenticators=[params for user in intent.users for params in user.authenticators],
    )


@activity(
    "ACTIVITY_TYPE_CREATE_USERS_V4",
    oidc_tokens=_tokens,
    load_context=_held_by_siblings,
    accepts=(
        older("ACTIVITY_TYPE_CREATE_USERS_V3", user_intents.from_v3),
        older("ACTIVITY_TYPE_CREATE_USERS_V2", user_intents.from_v2),
        older("ACTIVITY_TYPE_CREATE_USERS", user_intents.from_v1),
    ),
    also_does=("CREATE_API_ONLY_USERS", "UPDATE_USER_TAG"),
    adds=lambda _, intent: adding.new_users(intent.users),
)
async def create_users(
    execution: ExecutionWith[HeldBySiblings], intent: user_intents.CreateUsersIntentV4
) -> Output[CreateUsersResult]:
    """Add users, each with at least one lasting credential."""
    users, changes = await added_users(
        execution, intent.users, _FIELD, evidence_of=_written(execution), held_by_siblings=execution.context
    )
    return Output(result=CreateUsersResult(user_ids=tuple(user.user_id for user in users)), changes=changes)


def _written(execution: Execution) -> EvidenceOf:
    return lambda _, user: of_writing(execution.submitter_id, execution.organization, user)


class CreateApiOnlyUsersResult(Wire, frozen=True):
    user_ids: tuple[str, ...]


def _as_users(intent: user_intents.CreateApiOnlyUsersIntent) -> list[user_intents.UserParamsV4]:
    return [
        user_intents.UserParamsV4(
            user_name=user.user_name,
            api_keys=tuple(map(upgraded_api_key, user.api_keys)),
            authenticators=(),
            oauth_providers=(),
            user_tags=user.user_tags,
            user_email=user.user_email,
        )
        for user in intent.api_only_users
    ]


async def _api_keys_held_by_siblings(
    source: ForeignSource, intent: user_intents.CreateApiOnlyUsersIntent
) -> HeldBySiblings:
    keys = [upgraded_api_key(key) for user in intent.api_only_users for key in user.api_keys]
    return await held_by_siblings(source, api_keys=keys)


@activity(
    "ACTIVITY_TYPE_CREATE_API_ONLY_USERS",
    load_context=_api_keys_held_by_siblings,
    also_does=("CREATE_USERS", "UPDATE_USER_TAG"),
    adds=lambda _, intent: adding.new_users(_as_users(intent)),
)
async def create_api_only_users(
    execution: ExecutionWith[HeldBySiblings], intent: user_intents.CreateApiOnlyUsersIntent
) -> Output[CreateApiOnlyUsersResult]:
    """Add users who have API keys only. An older form of create_users."""
    users, changes = await added_users(
        execution,
        _as_users(intent),
        "parameters.apiOnlyUsers",
        evidence_of=_written(execution),
        held_by_siblings=execution.context,
    )
    return Output(result=CreateApiOnlyUsersResult(user_ids=tuple(user.user_id for user in users)), changes=changes)


class GetUserRequest(QueryRequest, frozen=True):
    user_id: Uuid


class GetUserResponse(Wire, frozen=True):
    user: User


@query()
def get_user(reading: Reading, request: GetUserRequest) -> GetUserResponse:
    """One user with all credentials."""
    return GetUserResponse(user=reading.organization.record(Users, request.user_id))


class ListUsersRequest(QueryRequest, frozen=True):
    pass


class ListUsersResponse(Wire, frozen=True):
    users: tuple[User, ...]


@query(of_version=True)
def list_users(reading: Reading, _: ListUsersRequest) -> ListUsersResponse:
    """All users of the organization."""
    return ListUsersResponse(users=tuple(reading.organization.users.in_order()))
