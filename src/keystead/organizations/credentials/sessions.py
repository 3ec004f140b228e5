"""The rules of sessions: how long they last, the expiring API key of a session, and which keys a new session
deletes.

Pure. Here: from the parameters of a login to the user's API keys afterwards. Not here: who may log in
(`operations`), the session token (`sessions`), which user a key proves (`principals`).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from keystead.api.enums import CredentialType, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, Credential, SessionProfile, Timestamp, User
from keystead.organizations.contacts.account_contacts import users_found_by
from keystead.organizations.credentials.api_keys import with_api_keys
from keystead.organizations.kinds.users import SESSION_SECONDS
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization

DEFAULT_SECONDS: Final = 900
"""How long a session lasts if neither the request nor the session profile says so."""


def session_seconds(asked: str | None, profile: SessionProfile | None, limits: Limits, field: str) -> int:
    """How many seconds the session lasts: the lower of the request's value (`asked`) and the profile's value.

    `field`: the field of the request with the value. Raises InvalidRequest unless `asked` is a positive number of
    seconds as decimal text within the limit.
    """
    seconds_max = limits[SESSION_SECONDS]
    if asked is not None and not (
        asked.isascii() and asked.isdigit() and len(asked) <= 10 and 0 < int(asked) <= seconds_max
    ):
        raise InvalidRequest(
            f"invalid api key expiration: field `{field}`: {asked[:20]!r}: expected a positive number of seconds "
            f"as decimal text, at most {seconds_max}"
        )
    of_profile = profile.expiration_seconds if profile is not None else None
    given = [int(seconds) for seconds in (asked, of_profile) if seconds is not None]
    return min(given, default=DEFAULT_SECONDS)


def with_session_key(
    organization: Organization,
    user: User,
    key: ApiKey,
    limits: Limits,
    now_ms: int,
    *,
    invalidate_existing: bool,
    field: str,
) -> tuple[User, ApiKey]:
    """The user with this session's key, and the key as it is recorded.

    A key that the user has as a session of this type already is extended: it keeps its id. With
    `invalidate_existing` the user's other keys of its type are deleted. Raises InvalidRequest if the public key is
    another API key of the organization; LimitReached if no expiring keys are allowed.
    """
    held = organization.users.by_public_key.get(key.credential.public_key)
    if held is not None:
        user_id, known = held
        if user_id != user.user_id or known.credential.type is not key.credential.type:
            raise InvalidRequest(
                f"invalid api public key: field `{field}`: {key.credential.public_key} is already an API key in "
                "this organization"
            )
        key = replace(key, api_key_id=known.api_key_id, api_key_name=known.api_key_name)
    others = [
        other
        for other in user.api_keys
        if other.credential.public_key != key.credential.public_key
        and not (invalidate_existing and other.credential.type is key.credential.type)
    ]
    keys = with_api_keys(others, (key,), limits, now_ms)
    return replace(user, api_keys=keys, updated_at=Timestamp.from_ms(now_ms)), key


def session_key(
    api_key_id: str,
    name: str,
    public_key: str,
    credential_type: CredentialType,
    seconds: int,
    now_ms: int,
    *,
    session_profile_id: str | None = None,
) -> ApiKey:
    """The record of an expiring key. `public_key`: compressed P-256 in lower-case hex."""
    now = Timestamp.from_ms(now_ms)
    return ApiKey(
        credential=Credential(
            public_key=public_key, type=credential_type, session_profile_id=session_profile_id or None
        ),
        api_key_id=api_key_id,
        api_key_name=name,
        created_at=now,
        updated_at=now,
        expiration_seconds=str(seconds),
    )


def user_with_email(organization: Organization, email: str) -> User | None:
    """The user whose account this e-mail address finds; None if it finds none. Raises InvalidRequest if it finds
    several."""
    users = users_found_by(organization, OtpType.EMAIL, email)
    if len(users) > 1:
        raise InvalidRequest(
            "invalid request: field `parameters.email`: more than one user is found by this address; name the "
            "user's id with ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2"
        )
    return users[0] if users else None
