"""Examples of the activities that begin sessions. Not here: the other examples (`operation_examples`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keystead.stamps.signing import generate_api_key
from tests.support import bundles
from tests.support.callers import unique
from tests.support.organization_fixtures import RecordIds, session_profile_params

TARGET_PUBLIC_KEY = bundles.point(bundles.fresh()).hex()


def oauth_login_params(record_ids: RecordIds) -> dict[str, Any]:
    public_key = generate_api_key().public_key
    return {
        "oidcToken": record_ids.token(public_key),
        "publicKey": public_key,
        "expirationSeconds": "60",
        "invalidateExisting": False,
        "sessionProfileId": record_ids.fresh("session_profile"),
    }


SESSIONS: dict[str, Callable[[RecordIds], dict[str, Any]]] = {
    "ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION": lambda f: {},
    "ACTIVITY_TYPE_OAUTH": lambda f: {
        "oidcToken": f.token(TARGET_PUBLIC_KEY),
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "apiKeyName": unique("session"),
        "expirationSeconds": "60",
        "invalidateExisting": False,
    },
    "ACTIVITY_TYPE_OAUTH_LOGIN": lambda f: oauth_login_params(f),
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION_V2": lambda f: {
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "userId": f.user_id,
        "apiKeyName": unique("session"),
        "expirationSeconds": "60",
        "invalidateExisting": True,
    },
    "ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION": lambda f: {
        "targetPublicKey": TARGET_PUBLIC_KEY,
        "email": f.fresh("email"),
        "apiKeyName": unique("session"),
        "expirationSeconds": "60",
    },
    "ACTIVITY_TYPE_CREATE_SESSION_PROFILE": lambda f: session_profile_params(
        expirationSeconds="60", notes="for tests"
    ),
    "ACTIVITY_TYPE_STAMP_LOGIN": lambda f: {
        "publicKey": generate_api_key().public_key,
        "expirationSeconds": "60",
        "invalidateExisting": True,
        "sessionProfileId": f.fresh("session_profile"),
    },
}
"""The parameters, by activity type."""
