"""Authentication proxies: making one, setting what it does, ending and reading it.

A proxy acts as a user. The signer holds the user's API key, and a policy allows the user what the proxy does.
`list_users` and `list_policies` show the user and the policy. Not here: the settings (`settings`), the
endpoints that browsers call (`endpoints`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Final

import msgspec
from msgspec.structs import replace

from keystead.api.enums import ApiKeyCurve, AuthMethod, CredentialType, Effect
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import ApiKeyParamsV2, QueryRequest, RequestStruct
from keystead.api.records import Policy, Timestamp, User, Wire
from keystead.operations.auth_proxy.settings import UpdateAuthProxyConfigIntent, changed_settings
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.credentials.api_keys import new_api_key
from keystead.organizations.kinds.auth_proxies import AuthProxy, AuthProxySettings
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.pipeline.execution import Execution, Output
from keystead.pipeline.operation import AddedCredential, KnownBefore, NewUser
from keystead.pipeline.signer_values import AuthProxyKey

PROXIED_KINDS = (
    "INIT_OTP",
    "VERIFY_OTP",
    "VERIFY_WALLET_AUTHENTICATOR",
    "OTP_LOGIN",
    "OAUTH_LOGIN",
    "OAUTH2_AUTHENTICATE",
    "CREATE_OAUTH_PROVIDERS",
    "CREATE_SUB_ORGANIZATION",
)
"""The activity kinds that a proxy's endpoints submit. The policy of a proxy allows these kinds only."""

_USER_NAME: Final = "Authentication proxy"


def _policy_name(taken: Collection[str]) -> str:
    """A name for the policy of a new proxy: people tell policies apart by their names."""
    names = itertools.chain([_USER_NAME], (f"{_USER_NAME} {number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def new_auth_proxy(
    user_id: str,
    policy_id: str,
    api_key_id: str,
    key: AuthProxyKey,
    settings: AuthProxySettings,
    now: Timestamp,
    taken: Collection[str] = (),
) -> tuple[AuthProxy, User, Policy]:
    """The records of a proxy: itself, the user that it acts as, and the policy that allows PROXIED_KINDS to the
    user. `taken`: the names of other policies."""
    api_key = new_api_key(
        ApiKeyParamsV2(api_key_name=_USER_NAME, public_key=key.public_key, curve_type=ApiKeyCurve.P256),
        api_key_id,
        now,
        "api key",
    )
    user = User(
        user_id=user_id,
        user_name=_USER_NAME,
        authenticators=(),
        api_keys=(api_key,),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
    )
    policy = Policy(
        policy_id=policy_id,
        policy_name=_policy_name(taken),
        effect=Effect.ALLOW,
        created_at=now,
        updated_at=now,
        notes="Allows an authentication proxy what its endpoints do.",
        consensus=f"approvers.any(user, user.id == '{user_id}')",
        condition=f"activity.kind in [{', '.join(repr(kind) for kind in PROXIED_KINDS)}]",
    )
    proxy = AuthProxy(
        user_id=user_id,
        policy_id=policy_id,
        public_key=key.public_key,
        sealed_key=key.sealed,
        settings=settings,
        created_at=now,
        updated_at=now,
    )
    return proxy, user, policy


class EnableAuthProxyIntent(RequestStruct, frozen=True):
    pass


class EnableAuthProxyResult(Wire, frozen=True):
    """`user_id`: of the user that the proxy acts as; also the id of its configuration."""

    user_id: str


def _added(_: KnownBefore, __: EnableAuthProxyIntent) -> tuple[AddedCredential]:
    """The key of the proxy's user, which the signer makes and keeps."""
    user = NewUser(_USER_NAME, "", ())
    return (AddedCredential(type=CredentialType.API_KEY_P256, holder=user, public_key=""),)


@activity("ACTIVITY_TYPE_ENABLE_AUTH_PROXY", adds=_added, own=True)
async def enable_auth_proxy(execution: Execution, _: EnableAuthProxyIntent) -> Output[EnableAuthProxyResult]:
    """Make an authentication proxy. No browser may call it until its configuration names origins."""
    organization = execution.organization
    if organization.profile.parent_id is not None:
        raise InvalidRequest(
            "activity not callable by sub-organizations: people sign up under a parent organization",
            machine_code="INVALID_ACTIVITY_CALLER",
        )
    organization.auth_proxies.check_limit(1, execution.limits)
    organization.users.check_limit(1, execution.limits)
    organization.policies.check_limit(1, execution.limits)
    user_id = execution.new_id()
    key = await execution.signer.new_auth_proxy_key(
        organization_id=organization.id, data_key=organization.data_key.sealed, proxy_id=user_id
    )
    records = new_auth_proxy(
        user_id,
        execution.new_id(),
        execution.new_id(),
        key,
        AuthProxySettings(app_name=organization.profile.name),
        Timestamp.from_ms(execution.now_ms),
        taken={policy.policy_name for policy in organization.policies.in_order()},
    )
    return Output(result=EnableAuthProxyResult(user_id=user_id), changes=tuple(map(Put, records)))


class UpdateAuthProxyConfigResult(Wire, frozen=True):
    config_id: str


@activity("ACTIVITY_TYPE_UPDATE_AUTH_PROXY_CONFIG", also_does=("DISABLE_AUTH_PROXY",), own=True)
def update_auth_proxy_config(
    execution: Execution, intent: UpdateAuthProxyConfigIntent
) -> Output[UpdateAuthProxyConfigResult]:
    """Change what an authentication proxy does, and for which origins."""
    proxy = proxy_named(execution.organization, intent.config_id)
    changed = replace(
        proxy, settings=changed_settings(proxy.settings, intent), updated_at=Timestamp.from_ms(execution.now_ms)
    )
    return Output(result=UpdateAuthProxyConfigResult(config_id=proxy.user_id), changes=(Put(changed),))


class DisableAuthProxyIntent(RequestStruct, frozen=True):
    """`config_id` is needed if the organization has several proxies."""

    config_id: Uuid | None = None


class DisableAuthProxyResult(Wire, frozen=True):
    pass


@activity("ACTIVITY_TYPE_DISABLE_AUTH_PROXY", own=True)
def disable_auth_proxy(execution: Execution, intent: DisableAuthProxyIntent) -> Output[DisableAuthProxyResult]:
    """Delete an authentication proxy, its user and its policy."""
    organization = execution.organization
    proxy = proxy_named(organization, intent.config_id)
    changes: list[Change] = [Remove(AuthProxy, proxy.user_id)]
    if proxy.user_id in organization.users:
        changes.append(Remove(User, proxy.user_id))
    if proxy.policy_id in organization.policies:
        changes.append(Remove(Policy, proxy.policy_id))
    return Output(result=DisableAuthProxyResult(), changes=tuple(changes))


def proxy_named(organization: Organization, config_id: str | None) -> AuthProxy:
    """The proxy of this id; without an id, the only one. Raises NotFound, InvalidRequest."""
    proxies = organization.auth_proxies
    if config_id is None:
        if len(proxies) > 1:
            raise InvalidRequest(
                f"invalid request body: missing field `parameters.configId`: the organization has {len(proxies)} "
                "authentication proxies"
            )
        config_id = next(iter(proxies), "")
    proxy = proxies.get(config_id)
    if proxy is None:
        which = f" {config_id}" if config_id else ""
        raise NotFound(f"unable to find authentication proxy{which} in organization {organization.id}")
    return proxy


class AuthProxyConfig(Wire, frozen=True):
    """Times are in seconds."""

    config_id: str
    user_id: str
    policy_id: str
    allowed_origins: tuple[str, ...]
    allowed_auth_methods: tuple[AuthMethod, ...]
    app_name: str
    session_expiration_seconds: int
    otp_expiration_seconds: int
    verification_token_expiration_seconds: int
    otp_alphanumeric: bool
    otp_length: int
    enabled_social_providers: tuple[str, ...]
    oauth_client_ids: dict[str, str]
    social_linking_client_ids: tuple[str, ...]
    verification_token_required_for_get_account_pii: bool
    created_at: Timestamp
    updated_at: Timestamp
    oauth_redirect_url: str | None = None
    logo_url: str | None = None
    magic_link_template: str | None = None
    template_variables: str | None = None
    template_id: str | None = None
    sms_template: str | None = None
    send_from_email_address: str | None = None
    send_from_email_sender_name: str | None = None
    reply_to_email_address: str | None = None


class ListAuthProxyConfigsRequest(QueryRequest, frozen=True):
    pass


class ListAuthProxyConfigsResponse(Wire, frozen=True):
    auth_proxy_configs: tuple[AuthProxyConfig, ...]


@query(of_version=True, own=True)
def list_auth_proxy_configs(reading: Reading, _: ListAuthProxyConfigsRequest) -> ListAuthProxyConfigsResponse:
    """The authentication proxies of the organization, and what each does."""
    return ListAuthProxyConfigsResponse(
        auth_proxy_configs=tuple(map(_shown, reading.organization.auth_proxies.in_order()))
    )


def _shown(proxy: AuthProxy) -> AuthProxyConfig:
    return AuthProxyConfig(
        config_id=proxy.user_id,
        user_id=proxy.user_id,
        policy_id=proxy.policy_id,
        created_at=proxy.created_at,
        updated_at=proxy.updated_at,
        **msgspec.structs.asdict(proxy.settings),
    )
