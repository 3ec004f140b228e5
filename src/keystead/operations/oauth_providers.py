"""OAuth identities: attaching them to a user."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.activities.activity import Execution, Outcome
from keystead.api.identifiers import Uuid
from keystead.api.parameters import Asked, OauthProviderParams, OauthProviderParamsV2, upgraded_oauth_provider
from keystead.api.records import Timestamp, Wire
from keystead.operations.declare import activity, older
from keystead.organizations.credentials import check_identities_free, new_oauth_provider, with_oauth_providers
from keystead.organizations.organization import Put
from keystead.organizations.users import user_named

AT_ONCE = 10
"""Most identities that one request may attach."""


class CreateOauthProvidersIntentV2(Asked, frozen=True):
    user_id: Uuid
    oauth_providers: Annotated[tuple[OauthProviderParamsV2, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateOauthProvidersIntent(Asked, frozen=True):
    user_id: Uuid
    oauth_providers: Annotated[tuple[OauthProviderParams, ...], Meta(min_length=1, max_length=AT_ONCE)]


class CreateOauthProvidersResultV2(Wire, frozen=True):
    provider_ids: tuple[str, ...]


def _from_v1(intent: CreateOauthProvidersIntent) -> CreateOauthProvidersIntentV2:
    return CreateOauthProvidersIntentV2(
        user_id=intent.user_id, oauth_providers=tuple(map(upgraded_oauth_provider, intent.oauth_providers))
    )


def _owner(intent: CreateOauthProvidersIntentV2) -> str:
    return intent.user_id


@activity(
    "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2",
    resource="CREDENTIAL",
    action="CREATE",
    owner=_owner,
    accepts=(older("ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS", _from_v1, result_key="createOauthProvidersResult"),),
)
def create_oauth_providers(
    execution: Execution, intent: CreateOauthProvidersIntentV2
) -> Outcome[CreateOauthProvidersResultV2]:
    """Attach identities of OpenID Connect issuers to a user."""
    user = user_named(execution.organization, intent.user_id)
    now = Timestamp.from_ms(execution.now_ms)
    providers = [
        new_oauth_provider(params, execution.new_id(), now, f"parameters.oauthProviders[{index}]")
        for index, params in enumerate(intent.oauth_providers)
    ]
    check_identities_free(execution.organization, providers)
    held = with_oauth_providers(user.oauth_providers, providers, execution.limits)
    return Outcome(
        result=CreateOauthProvidersResultV2(provider_ids=tuple(provider.provider_id for provider in providers)),
        changes=(Put(replace(user, oauth_providers=held, updated_at=now)),),
    )
