"""OAuth identities: attaching them to a user, removing and reading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api import parameters
from keystead.api.errors import PermissionDenied
from keystead.api.identifiers import Uuid
from keystead.api.records import OauthProvider, Timestamp, User, Wire
from keystead.operations.declare import Reading, activity, older, query
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import named_user
from keystead.organizations.contacts.account_contacts import contact_changes
from keystead.organizations.contacts.contact_evidence import ContactEvidence, of_google
from keystead.organizations.credentials.credentials import OAUTH_PROVIDERS
from keystead.organizations.credentials.google_accounts import client_ids_of, proves_email_of
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.credentials.oauth_providers import (
    check_identities_free,
    new_oauth_providers,
    tokens_of,
    with_oauth_providers,
)
from keystead.organizations.credentials.removal import without_credentials
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Organization, Put
from keystead.organizations.users import requested_users
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output
from keystead.pipeline.operation import AddedCredential, ByParent, KnownBefore, UserProof

AT_ONCE = 10
"""Most identities that one request may attach or detach."""

_FIELD = "parameters.oauthProviders"


class CreateOauthProvidersIntentV2(parameters.RequestStruct, frozen=True):
    user_id: Uuid
    oauth_providers: Annotated[tuple[parameters.OauthProviderParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateOauthProvidersIntent(parameters.RequestStruct, frozen=True):
    user_id: Uuid
    oauth_providers: Annotated[tuple[parameters.OauthProviderParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateOauthProvidersResultV2(Wire, frozen=True):
    provider_ids: tuple[str, ...]


def _from_v1(intent: CreateOauthProvidersIntent) -> CreateOauthProvidersIntentV2:
    return CreateOauthProvidersIntentV2(
        user_id=intent.user_id,
        oauth_providers=tuple(map(parameters.upgraded_oauth_provider, intent.oauth_providers)),
    )


def _tokens(intent: CreateOauthProvidersIntentV2) -> dict[str, str]:
    return tokens_of(intent.oauth_providers, _FIELD)


async def _client_ids(source: ForeignSource, _: CreateOauthProvidersIntentV2) -> frozenset[str]:
    """The client ids in the authentication proxies of the organization, or of its parent if it has one."""
    parent_id = source.organization.profile.parent_id
    parent = source.organization if parent_id is None else await source.store.organization(parent_id)
    return frozenset() if parent is None else client_ids_of(parent)


def _evidence(
    organization: Organization,
    submitter_id: str,
    identities: Mapping[str, ProvenIdentity],
    client_ids: frozenset[str],
) -> list[ContactEvidence]:
    """What the ID tokens prove about contacts. A user of the parent is responsible for the client ids."""
    accepted = client_ids if submitter_id in organization.users else None
    return [one for identity in identities.values() for one in of_google(identity, accepted)]


def _added(known: KnownBefore, intent: CreateOauthProvidersIntentV2) -> list[AddedCredential]:
    """The identities, and the user's address if a token proves it."""
    added = [adding.identity(intent.user_id) for _ in intent.oauth_providers]
    user = known.organization.users.get(intent.user_id)
    if user is None or known.context is None:
        return added
    evidence = _evidence(known.organization, known.submitter_id, known.identities, known.context)
    return added + adding.proven_contacts(known.organization, user, evidence)


@activity(
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2",
    owner=named_user,
    oidc_tokens=_tokens,
    load_context=_client_ids,
    by_parent=ByParent(UserProof.ID_TOKEN),
    accepts=(older("ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS", _from_v1, result_key="createOauthProvidersResult"),),
    adds=_added,
)
def create_oauth_providers(
    execution: ExecutionWith[frozenset[str]], intent: CreateOauthProvidersIntentV2
) -> Output[CreateOauthProvidersResultV2]:
    """Attach identities of OpenID Connect issuers to a user.

    An identity of Google verifies the user's e-mail address. A user of the parent may attach only identities of
    Google.
    """
    user = execution.organization.record(Users, intent.user_id)
    is_by_parent = execution.submitter_id not in execution.organization.users
    if is_by_parent:
        _check_by_parent(execution, intent, user)
    now = Timestamp.from_ms(execution.now_ms)
    providers = new_oauth_providers(intent.oauth_providers, execution.identities, execution.new_id, now, _FIELD)
    check_identities_free(execution.organization, providers)
    evidence = _evidence(execution.organization, execution.submitter_id, execution.identities, execution.context)
    all_providers = with_oauth_providers(user.oauth_providers, providers, execution.limits)
    return Output(
        result=CreateOauthProvidersResultV2(provider_ids=tuple(provider.provider_id for provider in providers)),
        changes=(
            Put(replace(user, oauth_providers=all_providers, updated_at=now)),
            *contact_changes(execution.organization, user, evidence),
        ),
    )


def _check_by_parent(execution: Execution, intent: CreateOauthProvidersIntentV2, user: User) -> None:
    """Raise PermissionDenied unless each identity is of Google and has the user's e-mail address."""
    proven = execution.identities.values()
    has_claims = any(params.oidc_token is None for params in intent.oauth_providers)
    if has_claims or not all(proves_email_of(identity, user) for identity in proven):
        raise PermissionDenied(
            f"field `{_FIELD}`: a user of the parent may attach only identities of Google, by ID tokens with the "
            "verified e-mail address of the user"
        )


class DeleteOauthProvidersIntent(parameters.RequestStruct, frozen=True):
    user_id: Uuid
    provider_ids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=AT_ONCE)]


class DeleteOauthProvidersResult(Wire, frozen=True):
    provider_ids: tuple[str, ...]


@activity("ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS", owner=named_user)
def delete_oauth_providers(
    execution: Execution, intent: DeleteOauthProvidersIntent
) -> Output[DeleteOauthProvidersResult]:
    """Remove OAuth identities from a user. The user must keep a credential that does not expire."""
    user, removed = without_credentials(
        execution.organization, intent.user_id, OAUTH_PROVIDERS, intent.provider_ids, execution.now_ms
    )
    return Output(
        result=DeleteOauthProvidersResult(provider_ids=removed),
        changes=(Put(user),),
    )


class GetOauthProvidersRequest(parameters.QueryRequest, frozen=True):
    """Without `user_id`: the identities of every user."""

    user_id: Uuid | None = None


class GetOauthProvidersResponse(Wire, frozen=True):
    oauth_providers: tuple[OauthProvider, ...]


@query()
def get_oauth_providers(reading: Reading, request: GetOauthProvidersRequest) -> GetOauthProvidersResponse:
    """The OAuth identities of a user, or of the whole organization."""
    users = requested_users(reading.organization, request.user_id)
    return GetOauthProvidersResponse(
        oauth_providers=tuple(provider for user in users for provider in user.oauth_providers)
    )
