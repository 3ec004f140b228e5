"""Logins: a client's new key becomes a session key of the user whose identity the request proves.

Here: stamp_login, oauth_login, and the older oauth. Not here: the session after the user is known
(`session_keys`), logins by one-time code, sessions whose key the server makes (`read_write_sessions`).
"""

from __future__ import annotations

from typing import Final

from keystead.api.decoding import Label
from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import OauthProvider, User, Wire
from keystead.identities.tokens import claimed_identity
from keystead.operations.declare import activity
from keystead.operations.logins import session_keys
from keystead.operations.users import added_credentials as adding
from keystead.operations.users.new_users import submitting_user
from keystead.organizations.credentials.oauth_providers import user_with_identity
from keystead.organizations.kinds.users import Users
from keystead.organizations.lookups import AccountValue, LookupKind, identity_lookup_value
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWith, Output
from keystead.pipeline.operation import THE_SUBMITTER, ByParent, UserProof
from keystead.sessions.session_tokens import is_bound

_OIDC_TOKEN: Final = "parameters.oidcToken"  # noqa: S105 (the name of a field)


class StampLoginIntent(RequestStruct, frozen=True):
    """`public_key`: the session's key, P-256 in hex. `expiration_seconds` is 900 if absent."""

    public_key: ShortText
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    session_profile_id: ShortText | None = None


class StampLoginResult(Wire, frozen=True):
    """`session`: a JWT that describes the session. It authenticates nothing; the session's key stamps requests."""

    session: str


async def _stamp_login_context(source: ContextSource, intent: StampLoginIntent) -> session_keys.SessionContext:
    return await session_keys.session_context(source, intent.public_key, intent.session_profile_id)


@activity(
    "ACTIVITY_TYPE_STAMP_LOGIN",
    owner=submitting_user,
    load_context=_stamp_login_context,
    before_session=True,
    in_any_organization=True,
    also_does=("CREATE_READ_WRITE_SESSION", "OAUTH_LOGIN", "OTP_LOGIN"),
    adds=lambda _, intent: adding.session(CredentialType.LOGIN, THE_SUBMITTER, intent.public_key),
)
async def stamp_login(
    execution: ExecutionWith[session_keys.SessionContext], intent: StampLoginIntent
) -> Output[StampLoginResult]:
    """Start a session of the user whose stamp the request has."""
    session = await session_keys.begin_login_session(
        execution,
        execution.context,
        execution.organization.record(Users, execution.submitter_id),
        public_key=intent.public_key,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        session_profile_id=intent.session_profile_id,
    )
    return Output(
        result=StampLoginResult(session=session.token), changes=(session.change,), begun_by=execution.origin
    )


class OauthLoginIntent(RequestStruct, frozen=True):
    """`oidc_token`: an ID token whose nonce is the SHA-256, in hex, of `public_key` as it is sent here."""

    oidc_token: TokenText
    public_key: ShortText
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    session_profile_id: ShortText | None = None


class OauthLoginResult(Wire, frozen=True):
    session: str


class OauthIntent(RequestStruct, frozen=True):
    """`oidc_token`: an ID token whose nonce is the SHA-256, in hex, of `target_public_key` as it is sent here."""

    oidc_token: TokenText
    target_public_key: ShortText
    api_key_name: Label | None = None
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None


class OauthResult(Wire, frozen=True):
    user_id: str
    api_key_id: str
    credential_bundle: str


async def _oauth_login_context(source: ContextSource, intent: OauthLoginIntent) -> session_keys.SessionContext:
    return await session_keys.session_context(source, intent.public_key, intent.session_profile_id)


def _tokens(intent: OauthLoginIntent | OauthIntent) -> dict[str, str]:
    return {_OIDC_TOKEN: intent.oidc_token}


def _user_lookup(intent: OauthLoginIntent | OauthIntent) -> AccountValue | None:
    claimed = claimed_identity(intent.oidc_token)
    if claimed is None:
        return None
    return LookupKind.OAUTH_IDENTITY, identity_lookup_value(claimed.iss, claimed.aud, claimed.sub)


@activity(
    "ACTIVITY_TYPE_OAUTH_LOGIN",
    load_context=_oauth_login_context,
    oidc_tokens=_tokens,
    by_parent=ByParent(UserProof.ID_TOKEN, _user_lookup),
    also_does=("OAUTH",),
    adds=lambda _, intent: adding.session(CredentialType.LOGIN, None, intent.public_key),
)
async def oauth_login(
    execution: ExecutionWith[session_keys.SessionContext], intent: OauthLoginIntent
) -> Output[OauthLoginResult]:
    """Start a session of the user that an ID token proves."""
    user, provider = _proven_user(execution, intent.public_key, "parameters.publicKey")
    session = await session_keys.begin_login_session(
        execution,
        execution.context,
        user,
        public_key=intent.public_key,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        session_profile_id=intent.session_profile_id,
    )
    return Output(
        result=OauthLoginResult(session=session.token), changes=(session.change,), begun_by=provider.provider_id
    )


@activity(
    "ACTIVITY_TYPE_OAUTH",
    oidc_tokens=_tokens,
    by_parent=ByParent(UserProof.ID_TOKEN, _user_lookup),
    also_does=("OAUTH_LOGIN",),
    adds=lambda *_: adding.session(CredentialType.OAUTH_KEY_P256, None),
)
async def oauth(execution: Execution, intent: OauthIntent) -> Output[OauthResult]:
    """Start a session of the user that an ID token proves, with a new key that is sealed to the target key."""
    user, provider = _proven_user(execution, intent.target_public_key, "parameters.targetPublicKey")
    session = await session_keys.begin_bundle_session(
        execution,
        user,
        CredentialType.OAUTH_KEY_P256,
        default_name="Oauth",
        target_public_key=intent.target_public_key,
        api_key_name=intent.api_key_name,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
    )
    result = OauthResult(
        user_id=user.user_id, api_key_id=session.api_key.api_key_id, credential_bundle=session.bundle
    )
    return Output(result=result, changes=(session.change,), begun_by=provider.provider_id)


def _proven_user(execution: Execution, public_key: str, field: str) -> tuple[User, OauthProvider]:
    """The user of the identity that the request's ID token proves, if the token is bound to this key; and the
    identity's record.

    Raises InvalidRequest for another nonce, NotFound if no user has the identity.
    """
    identity = execution.identities[_OIDC_TOKEN]
    if not any(is_bound(nonce, None, public_key) for nonce in identity.nonces):
        raise InvalidRequest(
            f"invalid OIDC token: field `{_OIDC_TOKEN}`: claim `nonce` or `tknonce` must be the SHA-256, in "
            f"lower-case hex, of the text in `{field}`",
            machine_code="INVALID_OIDC_TOKEN",
        )
    holder = user_with_identity(execution.organization, identity)
    if holder is None:
        raise NotFound(
            f"no user of organization {execution.organization.id} has the identity that the ID token proves "
            f"(field `{_OIDC_TOKEN}`)"
        )
    return holder
