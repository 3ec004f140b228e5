"""The rules of sessions: how long they last, the key that a session registers, the keys that a new one deletes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest
from keystead.api.records import ApiKey, Credential, SessionProfile
from keystead.organizations.credentials.sessions import (
    DEFAULT_SECONDS,
    session_key,
    session_seconds,
    with_session_key,
)
from keystead.organizations.kinds.users import Users
from keystead.organizations.limits import Limits
from tests.organizations.records import NOW, NOW_MS, a_user, an_api_key, an_organization

FIELD = "parameters.expirationSeconds"
LOGIN, READ_WRITE = CredentialType.LOGIN, CredentialType.READ_WRITE_SESSION_KEY_P256


def a_profile(expiration_seconds: str | None) -> SessionProfile:
    return SessionProfile(
        session_profile_id="profile",
        session_profile_name="Profile",
        scope="true",
        created_at=NOW,
        updated_at=NOW,
        expiration_seconds=expiration_seconds,
    )


SECONDS = [
    ("neither says anything", None, None, DEFAULT_SECONDS),
    ("the request alone", "60", None, 60),
    ("a profile without a time", "60", a_profile(None), 60),
    ("the profile alone", None, a_profile("120"), 120),
    ("the request asks for less", "60", a_profile("120"), 60),
    ("the request asks for more", "600", a_profile("120"), 120),
    ("exactly the limit", "3600", None, 3600),
]


@pytest.mark.parametrize(
    ("asked", "profile", "seconds"), [one[1:] for one in SECONDS], ids=[one[0] for one in SECONDS]
)
def test_how_long_a_session_lasts(asked: str | None, profile: SessionProfile | None, seconds: int) -> None:
    assert session_seconds(asked, profile, Limits(session_seconds=3600), FIELD) == seconds


@pytest.mark.parametrize("asked", ["", "0", "-1", "1.5", "6e2", " 60", "٦٠", "3601", "99999999999"])
def test_a_time_that_is_refused(asked: str) -> None:
    with pytest.raises(InvalidRequest, match=r"field `parameters\.expirationSeconds`: .*at most 3600"):
        session_seconds(asked, None, Limits(session_seconds=3600), FIELD)


def a_session(public_key: str, type_: CredentialType = LOGIN) -> ApiKey:
    return session_key("new", "Session", public_key, type_, 60, NOW_MS, session_profile_id="")


def test_the_record_of_a_session_key() -> None:
    key = session_key("id", "name", "02aa", LOGIN, 60, NOW_MS, session_profile_id="profile")
    assert key.credential == Credential(public_key="02aa", type=LOGIN, session_profile_id="profile")
    assert key.expires_at_ms == NOW_MS + 60_000
    assert a_session("02aa").credential.session_profile_id is None


OLD = replace(a_session("02aa"), api_key_id="old", api_key_name="Old session")
OTHER_TYPE = replace(a_session("02bb", READ_WRITE), api_key_id="other type")
LASTING = an_api_key(api_key_id="lasting")

KEYS_AFTERWARDS = [
    ("a first session", (LASTING,), "02cc", False, ["lasting", "new"]),
    ("one more session", (LASTING, OLD, OTHER_TYPE), "02cc", False, ["lasting", "old", "other type", "new"]),
    ("existing sessions end", (LASTING, OLD, OTHER_TYPE), "02cc", True, ["lasting", "other type", "new"]),
    ("the same key again is extended", (LASTING, OLD), "02aa", False, ["lasting", "old"]),
    ("the same key survives the end of others", (OLD,), "02aa", True, ["old"]),
]


@pytest.mark.parametrize(
    ("keys", "public_key", "invalidate", "left"),
    [one[1:] for one in KEYS_AFTERWARDS],
    ids=[one[0] for one in KEYS_AFTERWARDS],
)
def test_the_keys_after_a_login(
    keys: tuple[ApiKey, ...], public_key: str, invalidate: bool, left: list[str]
) -> None:
    organization = an_organization(a_user(user_id="ada", api_keys=keys))
    after, key = with_session_key(
        organization,
        organization.record(Users, "ada"),
        a_session(public_key),
        Limits(),
        NOW_MS,
        invalidate_existing=invalidate,
        field="parameters.publicKey",
    )
    assert sorted(one.api_key_id for one in after.api_keys) == sorted(left)
    assert key in after.api_keys
    assert key.expires_at_ms == NOW_MS + 60_000
    assert after.updated_at == NOW


TAKEN = [
    ("by another user", "grace", OLD),
    ("by the same user as another type", "ada", OTHER_TYPE),
    ("by the same user for ever", "ada", LASTING),
]


@pytest.mark.parametrize(("user_id", "held"), [one[1:] for one in TAKEN], ids=[one[0] for one in TAKEN])
def test_a_key_that_is_in_use(user_id: str, held: ApiKey) -> None:
    users = [a_user(user_id=each, api_keys=(held,) if each == user_id else ()) for each in ("ada", "grace")]
    organization = an_organization(*users)
    with pytest.raises(InvalidRequest, match=r"field `parameters\.publicKey`: .* is already an API key"):
        with_session_key(
            organization,
            organization.record(Users, "ada"),
            a_session(held.credential.public_key),
            Limits(),
            NOW_MS,
            invalidate_existing=True,
            field="parameters.publicKey",
        )
