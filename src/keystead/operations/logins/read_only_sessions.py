"""Read-only sessions: a text that a client sends in place of a stamp. It is valid for queries only.

Here: creating a session. Not here: the header `X-Session` (`server.authentication`), the user of a session
(`organizations.principals`).
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.operations.declare import activity
from keystead.operations.users.new_users import submitting_user
from keystead.organizations.kinds.read_only_sessions import READ_ONLY_SESSIONS, ReadOnlySession
from keystead.organizations.kinds.users import Users
from keystead.organizations.organization import Put, Remove
from keystead.pipeline.execution import Execution, Output

SESSION_SECONDS: Final = 3_600
"""How long a read-only session is valid."""


class CreateReadOnlySessionIntent(RequestStruct, frozen=True):
    """No parameters: the session is for the submitter."""


class CreateReadOnlySessionResult(Wire, frozen=True):
    """`session` is in the first answer only; afterwards it is "". `session_expiry`: seconds since the epoch."""

    organization_id: str
    organization_name: str
    user_id: str
    username: str
    session: str
    session_expiry: str


@activity("ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION", owner=submitting_user, before_session=True)
def create_read_only_session(
    execution: Execution, _: CreateReadOnlySessionIntent
) -> Output[CreateReadOnlySessionResult]:
    """Start a session of the submitter that is valid for queries only."""
    organization = execution.organization
    user = organization.record(Users, execution.submitter_id)
    text = secrets.token_urlsafe(32)
    session = ReadOnlySession(
        digest=sha256(text.encode()).hexdigest(),
        session_id=execution.new_id(),
        user_id=user.user_id,
        expires_at_ms=execution.now_ms + SESSION_SECONDS * 1000,
    )
    known = organization.read_only_sessions.values()
    valid = sorted(
        (held for held in known if held.user_id == user.user_id and held.expires_at_ms > execution.now_ms),
        key=lambda held: (held.expires_at_ms, held.session_id),
    )
    surplus = max(0, len(valid) + 1 - execution.limits[READ_ONLY_SESSIONS])
    ended = [held for held in known if held.expires_at_ms <= execution.now_ms] + valid[:surplus]
    result = CreateReadOnlySessionResult(
        organization_id=organization.id,
        organization_name=organization.profile.name,
        user_id=user.user_id,
        username=user.user_name,
        session=text,
        session_expiry=str(session.expires_at_ms // 1000),
    )
    return Output(
        result=result,
        recorded_result=replace(result, session=""),
        changes=(*[Remove(ReadOnlySession, held.digest) for held in ended], Put(session)),
    )
