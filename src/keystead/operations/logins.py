"""Logins: a client's new key becomes a session key of the user whom the request proves.

Here: stamp_login. Not here: what every login does once its user is known (`session_keys`), logins by one-time code,
sessions whose key the server makes (`read_write_sessions`).
"""

from __future__ import annotations

from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.operations.declare import activity
from keystead.operations.session_keys import SessionContext, begin_login_session, session_context
from keystead.organizations.users import user_named
from keystead.pipeline.activity import THE_SUBMITTER, ExecutionWith, Outcome
from keystead.pipeline.context import ContextSource


class StampLoginIntent(RequestStruct, frozen=True):
    """`public_key`: the session's key, P-256 in hex. Without `expiration_seconds`: 900."""

    public_key: ShortText
    expiration_seconds: ShortText | None = None
    invalidate_existing: bool | None = None
    session_profile_id: ShortText | None = None


class StampLoginResult(Wire, frozen=True):
    """`session`: a JWT that tells of the session. It authenticates nothing: the session's key stamps requests."""

    session: str


async def _stamp_login_context(source: ContextSource, intent: StampLoginIntent) -> SessionContext:
    return await session_context(source, intent.public_key, intent.session_profile_id)


def _by_submitter(_: StampLoginIntent) -> str:
    return THE_SUBMITTER


@activity("ACTIVITY_TYPE_STAMP_LOGIN", owner=_by_submitter, load_context=_stamp_login_context, before_session=True)
async def stamp_login(
    execution: ExecutionWith[SessionContext], intent: StampLoginIntent
) -> Outcome[StampLoginResult]:
    """Begin a session of the user whose stamp the request has."""
    session = await begin_login_session(
        execution,
        execution.context,
        user_named(execution.organization, execution.submitter_id),
        public_key=intent.public_key,
        expiration_seconds=intent.expiration_seconds,
        invalidate_existing=intent.invalidate_existing,
        session_profile_id=intent.session_profile_id,
    )
    return Outcome(result=StampLoginResult(session=session.token), changes=(session.change,))
