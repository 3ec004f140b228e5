"""The start of a session: the key that a login registers, and the token that describes the session.

Here: the steps of every login after its user is known. Not here: how each login finds its user (`logins`,
`read_write_sessions`), the rules of session keys (`organizations.credentials.sessions`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.api.records import ApiKey, SessionProfile, User
from keystead.api.rendering import rfc3339
from keystead.api.secret_fields import repr_without_secrets
from keystead.chains.bundle_texts import compress_point, read_target
from keystead.organizations.credentials.credentials import check_not_held_by_siblings
from keystead.organizations.credentials.sessions import session_key, session_seconds, with_session_key
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Put
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution
from keystead.pipeline.mfa import DEFAULT_SESSION_ID
from keystead.sessions.session_tokens import SessionClaims, SessionProfileClaims

PUBLIC_KEY_FIELD: Final = "parameters.publicKey"
EXPIRATION_FIELD: Final = "parameters.expirationSeconds"


class SessionContext(msgspec.Struct, frozen=True):
    """What a login looks up: the session profile that it names, if that exists, and the session's key if another
    sub-organization of the same parent has it."""

    profile: SessionProfile | None
    held_by_siblings: frozenset[str]


async def session_context(
    source: ContextSource, public_key: str | None, session_profile_id: str | None
) -> SessionContext:
    """Look up the context of a login. `public_key`: from the request; None if the server makes the key."""
    organization, held = source.organization, frozenset[str]()
    parent_id = organization.profile.parent_id
    if public_key is not None:
        keys = [compressed_public_key(public_key)]
        held = frozenset(
            await source.store.suborganizations.held_by_siblings(
                parent_id or organization.id, organization.id, LookupKind.PUBLIC_KEY, keys
            )
        )
    profile = None
    if session_profile_id is not None and session_profile_id != DEFAULT_SESSION_ID:
        profile = organization.session_profiles.get(session_profile_id)
        if profile is None and parent_id is not None:
            parent = await source.store.organization(parent_id)
            profile = None if parent is None else parent.session_profiles.get(session_profile_id)
    return SessionContext(profile, held)


class Session(msgspec.Struct, frozen=True):
    """A new session: the change of its user, the record of its key, its token."""

    change: Put
    api_key: ApiKey
    token: str

    __repr__ = repr_without_secrets


async def begin_login_session(
    execution: Execution,
    context: SessionContext,
    user: User,
    *,
    public_key: str,
    expiration_seconds: str | None,
    invalidate_existing: bool | None,
    session_profile_id: str | None,
) -> Session:
    """The session of a login: `public_key` becomes an expiring API key of the user, and a token describes it.

    The parameters are those of the request. Raises InvalidRequest for a malformed key or expiration, a key that is
    in use, or a session profile that does not exist. Raises PermissionDenied if a session under a profile starts
    one under another profile.
    """
    profile = _named_profile(execution, context, session_profile_id)
    session_public_key = compressed_public_key(public_key)
    check_not_held_by_siblings(context.held_by_siblings, [session_public_key])
    seconds = session_seconds(expiration_seconds, profile, execution.limits, EXPIRATION_FIELD)
    changed, key = with_session_key(
        execution.organization,
        user,
        session_key(
            execution.new_id(),
            f"Session - {rfc3339(execution.now_ms)}",
            session_public_key,
            CredentialType.LOGIN,
            seconds,
            execution.now_ms,
            session_profile_id=None if profile is None else profile.session_profile_id,
        ),
        execution.limits,
        execution.now_ms,
        invalidate_existing=bool(invalidate_existing),
        field=PUBLIC_KEY_FIELD,
    )
    claims = SessionClaims(
        expires_at_s=(key.expires_at_ms or 0) // 1000,
        public_key=session_public_key,
        user_id=user.user_id,
        organization_id=execution.organization.id,
        profile=None
        if profile is None
        else SessionProfileClaims(
            session_profile_id=profile.session_profile_id, name=profile.session_profile_name, scope=profile.scope
        ),
    )
    return Session(Put(changed), key, await execution.signer.sign_session_token(claims))


class BundleSession(msgspec.Struct, frozen=True):
    """A session whose key the server made: the change of its user, the record of its key, the bundle for the
    client."""

    change: Put
    api_key: ApiKey
    bundle: str

    __repr__ = repr_without_secrets


async def begin_bundle_session(
    execution: Execution,
    user: User,
    credential_type: CredentialType,
    *,
    default_name: str,
    target_public_key: str,
    api_key_name: str | None,
    expiration_seconds: str | None,
    invalidate_existing: bool | None,
) -> BundleSession:
    """The session of an older login: the server makes an expiring key and seals it to `target_public_key`.

    `default_name`: the start of the key's name if the request has none. The other parameters are those of the
    request. Raises the errors of `begin_login_session`.
    """
    _check_no_profile(execution)
    target = read_target(target_public_key, "parameters.targetPublicKey")
    seconds = session_seconds(expiration_seconds, None, execution.limits, EXPIRATION_FIELD)
    bundle = await execution.signer.new_credential_bundle(target)
    changed, key = with_session_key(
        execution.organization,
        user,
        session_key(
            execution.new_id(),
            api_key_name or f"{default_name} - {rfc3339(execution.now_ms)}",
            bundle.public_key,
            credential_type,
            seconds,
            execution.now_ms,
        ),
        execution.limits,
        execution.now_ms,
        invalidate_existing=bool(invalidate_existing),
        field="parameters.targetPublicKey",
    )
    return BundleSession(Put(changed), key, bundle.bundle)


def compressed_public_key(text: str) -> str:
    """A P-256 key of 33 or 65 bytes in hex, in the form that is stored: compressed, lower case. Raises
    InvalidRequest."""
    try:
        point = read_target(text.removeprefix("0x"), PUBLIC_KEY_FIELD)
    except InvalidRequest as refused:
        raise InvalidRequest(refused.message.replace("invalid request:", "invalid api public key:")) from None
    return compress_point(point).hex()


def _named_profile(
    execution: Execution, context: SessionContext, session_profile_id: str | None
) -> SessionProfile | None:
    named = None if session_profile_id in (None, "", DEFAULT_SESSION_ID) else session_profile_id
    if named is not None and context.profile is None:
        raise InvalidRequest(
            f"invalid request: field `parameters.sessionProfileId`: there is no session profile {named} in "
            f"organization {execution.organization.id} or its parent"
        )
    if execution.session_profile_id and execution.session_profile_id != named:
        raise _leaves_profile(execution.session_profile_id)
    return context.profile


def _check_no_profile(execution: Execution) -> None:
    """Raise PermissionDenied in a session under a profile, because the new session would be under none."""
    if execution.session_profile_id:
        raise _leaves_profile(execution.session_profile_id)


def _leaves_profile(session_profile_id: str) -> PermissionDenied:
    return PermissionDenied(
        f"a session under session profile {session_profile_id} may start sessions only under the same profile: "
        "name it in `parameters.sessionProfileId` of stamp_login, or log in again without the session"
    )
