"""The clients: `Client`, and `AsyncClient` for asyncio. They send, wait and repeat, and hold a session.

Not here: the typed methods (`operations`, generated), building requests (`requests`), reading answers (`answers`).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from binascii import a2b_base64
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self, TypedDict

import httpx
import msgspec

from keystead.api.records import ActivityResponse
from keystead.client.activity import SubmittedT
from keystead.client.answers import read_answer, refusal
from keystead.client.base import BaseClient, submission
from keystead.client.calls import AnswerT
from keystead.client.certificates import certificates_for
from keystead.client.errors import ConnectionFailed, KeysteadError, ProtocolError, RequestTimedOut
from keystead.client.operations import AsyncOperations, Operations
from keystead.client.requests import Prepared, ServerAddress, to_wire_names
from keystead.client.retries import Tries
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper, generate_api_key

RENEWAL_FRACTION: Final = 0.8
"""The fraction of a session's time after which the next one starts."""

RETRY_PAUSE_S: Final = 5.0
"""The time between a renewal that failed and the next attempt."""

_log = logging.getLogger("keystead.client")


class SessionToken(msgspec.Struct, frozen=True):
    """The claims of the token of a login. `exp`: seconds since the epoch."""

    exp: int
    user_id: str
    organization_id: str


def read_session_token(token: str) -> SessionToken:
    """The claims of a token in the server's answer. Raises ProtocolError."""
    try:
        payload = token.split(".")[1].translate(str.maketrans("-_", "+/"))
        return msgspec.json.decode(a2b_base64(payload + "=" * (-len(payload) % 4)), type=SessionToken)
    except (IndexError, ValueError, msgspec.MsgspecError):
        raise ProtocolError("the answer to stamp_login has no session token that this client can read") from None


class SessionStamper:
    """Stamps with the session's key, which `replace_key` replaces. Threads may share it.

    `expiration_seconds`, `session_profile_id`: the parameters of the login and of each renewal.
    """

    def __init__(self, expiration_seconds: int | None, session_profile_id: str | None) -> None:
        self.expiration_seconds = expiration_seconds
        self.session_profile_id = session_profile_id
        self.renewing = threading.Lock()
        self._stamper: ApiKeyStamper | None = None
        self._renew_at_s = 0.0

    def replace_key(self, key: ApiKeyPair, token: SessionToken) -> None:
        """Stamp with this key from now on. `token` is that of its session and determines the next renewal."""
        now_s = time.time()
        self._stamper = ApiKeyStamper(key.public_key, key.private_key, key.curve)
        self._renew_at_s = now_s + (token.exp - now_s) * RENEWAL_FRACTION

    def postpone(self, failure: KeysteadError) -> None:
        """Note a renewal that failed, and set the time of the next attempt.

        The present session is used until it ends. After that, the server refuses its requests with the reason."""
        _log.warning("the session was not renewed; the next attempt is in %.0f s: %s", RETRY_PAUSE_S, failure)
        self._renew_at_s = time.time() + RETRY_PAUSE_S

    @property
    def is_due(self) -> bool:
        """Whether the next session should start now."""
        return time.time() >= self._renew_at_s

    @property
    def public_key(self) -> str:
        assert self._stamper is not None
        return self._stamper.public_key

    def stamp(self, body: bytes) -> tuple[str, str]:
        assert self._stamper is not None
        return self._stamper.stamp(body)


class LoginParameters(TypedDict):
    public_key: str
    expiration_seconds: str | None
    session_profile_id: str | None


def login_parameters(session: SessionStamper, key: ApiKeyPair) -> LoginParameters:
    """The parameters of stamp_login for a session with this key."""
    seconds = session.expiration_seconds
    return {
        "public_key": key.public_key,
        "expiration_seconds": None if seconds is None else str(seconds),
        "session_profile_id": session.session_profile_id,
    }


class Client(BaseClient[httpx.Client], Operations):
    """A client of a server for one organization. Threads may share it. See `BaseClient.__init__` for its settings.

    Every method of an operation raises ApiError if the server refuses, ConnectionFailed or RequestTimedOut if no
    answer arrives, ProtocolError if the answer cannot be read; those that submit also raise ActivityFailed. After
    a temporary failure the same bytes are sent again (see `Retries`), which the server recognizes as the same
    request.
    """

    def login(
        self,
        *,
        expiration_seconds: int | None = None,
        session_profile_id: str | None = None,
        invalidate_existing: bool = False,
    ) -> Client:
        """Start a session: a client that stamps with a new key, and starts the next session before this one ends.

        The session may belong to a sub-organization of this client's organization, if the user of the stamp is
        there. expiration_seconds: how long a session lasts; 900 if not given. session_profile_id: the profile that
        limits it. invalidate_existing: end the user's other sessions. Raises ActivityNotCompleted if an MFA policy
        asks for further proofs first, and the errors of the operations.
        """
        session, key = SessionStamper(expiration_seconds, session_profile_id), generate_api_key()
        answer = self.stamp_login(**login_parameters(session, key), invalidate_existing=invalidate_existing)
        token = read_session_token(answer.session)
        session.replace_key(key, token)
        return Client(
            self.base_url,
            organization_id=token.organization_id,
            stamper=session,
            timeout=self._timeout_s,
            retries=self._retries,
            ca_file=self._ca_file,
        )

    def _renew(self) -> None:
        """Start the next session if it is due. Meanwhile, other threads continue with the present session.

        If the next session does not start, this thread continues with the present one too: the session's profile
        may allow everything else that the caller needs."""
        session = self._stamper
        if not isinstance(session, SessionStamper) or not session.is_due:
            return
        if session.renewing.acquire(blocking=False):
            try:
                key = generate_api_key()
                answer = self.stamp_login(**login_parameters(session, key))
                session.replace_key(key, read_session_token(answer.session))
            except KeysteadError as failure:
                session.postpone(failure)
            finally:
                session.renewing.release()

    def query(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """Send any query, also one that this client does not know. Returns the answer as plain JSON.

        name: the last part of the path, "list_wallets". fields: in camelCase, walletId=….
        """
        return self.request(f"query/{name}", fields)

    def submit(
        self,
        name: str,
        parameters: Mapping[str, Any],
        *,
        activity_type: str | None = None,
        organization_id: str | None = None,
        generate_app_proofs: bool = False,
    ) -> dict[str, Any]:
        """Submit any activity, also one that this client does not know. Returns the answer, {"activity": …}, as
        plain JSON.

        name: the last part of the path, "create_wallet". parameters: in camelCase. activity_type: needed if this
        client does not know the name. It does not raise ActivityFailed.
        """
        body = submission(parameters, activity_type, organization_id, generate_app_proofs)
        return self.request(f"submit/{name}", body)

    def request(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send the request that `prepare` builds from these arguments. Returns the answer as plain JSON."""
        self._renew()
        prepared = self.prepare(path, body)
        return read_answer(prepared.path, self.send(prepared), dict[str, Any])

    def refresh(self, submitted: SubmittedT) -> SubmittedT:
        """The same activity as it is now. Raises ActivityFailed if it has failed or was rejected."""
        activity = submitted.activity
        answer = self.get_activity(activity_id=activity.id, organization_id=activity.organization_id)
        return type(submitted)(answer.activity)

    def send(self, prepared: Prepared) -> bytes:
        """Send a prepared request, and again after a temporary failure. Returns the body of the answer. Raises the
        errors of the operations."""
        tries = Tries(self._retries, time.monotonic())
        while True:
            answer, failure = self._try_once(prepared, tries)
            if failure is None:
                return answer
            pause_s = tries.pause_after(failure, time.monotonic())
            if pause_s is None:
                raise failure
            time.sleep(pause_s)

    def close(self) -> None:
        """Close the connections, unless they belong to an `http_client` from the options."""
        if self._closes_http_client:
            self._http_client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _try_once(self, prepared: Prepared, tries: Tries) -> tuple[bytes, KeysteadError | None]:
        timeout_s = min(self._timeout_s, tries.time_left_s(time.monotonic()))
        try:
            response = self._http_client.post(
                prepared.url,
                content=prepared.body,
                headers=prepared.headers,
                timeout=timeout_s,
                follow_redirects=False,
            )
        except httpx.RequestError as failed:
            return b"", _no_answer(prepared, failed, timeout_s)
        return response.content, _refusal(prepared, response)

    def _query(
        self, name: str, answer: type[AnswerT], organization_id: str | None, fields: Mapping[str, Any]
    ) -> AnswerT:
        self._renew()
        body = {"organizationId": organization_id, **to_wire_names(fields)}
        prepared = self.prepare(f"query/{name}", body)
        return read_answer(prepared.path, self.send(prepared), answer)

    def _submit(
        self,
        submitted: type[SubmittedT],
        organization_id: str | None,
        generate_app_proofs: bool,
        parameters: Mapping[str, Any],
    ) -> SubmittedT:
        self._renew()
        body = submission(to_wire_names(parameters), submitted.activity_type, organization_id, generate_app_proofs)
        prepared = self.prepare(f"submit/{submitted.operation}", body)
        return submitted(read_answer(prepared.path, self.send(prepared), ActivityResponse).activity)

    def _new_http_client(self) -> httpx.Client:
        return httpx.Client(
            mounts=_direct_mounts(self._address), verify=_certificates(self._address, self._ca_file)
        )


class AsyncClient(BaseClient[httpx.AsyncClient], AsyncOperations):
    """`Client` for asyncio: the same methods as coroutines, with the same errors. For one event loop and any
    number of tasks.

    A stamper other than `ApiKeyStamper` is called in a thread, because it may wait for a device or a network.
    """

    async def login(
        self,
        *,
        expiration_seconds: int | None = None,
        session_profile_id: str | None = None,
        invalidate_existing: bool = False,
    ) -> AsyncClient:
        """See `Client.login`."""
        session, key = SessionStamper(expiration_seconds, session_profile_id), generate_api_key()
        answer = await self.stamp_login(**login_parameters(session, key), invalidate_existing=invalidate_existing)
        token = read_session_token(answer.session)
        session.replace_key(key, token)
        return AsyncClient(
            self.base_url,
            organization_id=token.organization_id,
            stamper=session,
            timeout=self._timeout_s,
            retries=self._retries,
            ca_file=self._ca_file,
        )

    async def _renew(self) -> None:
        """See `Client._renew`."""
        session = self._stamper
        if not isinstance(session, SessionStamper) or not session.is_due:
            return
        if session.renewing.acquire(blocking=False):
            try:
                key = generate_api_key()
                answer = await self.stamp_login(**login_parameters(session, key))
                session.replace_key(key, read_session_token(answer.session))
            except KeysteadError as failure:
                session.postpone(failure)
            finally:
                session.renewing.release()

    async def query(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """See `Client.query`."""
        return await self.request(f"query/{name}", fields)

    async def submit(
        self,
        name: str,
        parameters: Mapping[str, Any],
        *,
        activity_type: str | None = None,
        organization_id: str | None = None,
        generate_app_proofs: bool = False,
    ) -> dict[str, Any]:
        """See `Client.submit`."""
        body = submission(parameters, activity_type, organization_id, generate_app_proofs)
        return await self.request(f"submit/{name}", body)

    async def request(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Client.request`."""
        await self._renew()
        prepared = await self._prepare(path, body)
        return read_answer(prepared.path, await self.send(prepared), dict[str, Any])

    async def refresh(self, submitted: SubmittedT) -> SubmittedT:
        """See `Client.refresh`."""
        activity = submitted.activity
        answer = await self.get_activity(activity_id=activity.id, organization_id=activity.organization_id)
        return type(submitted)(answer.activity)

    async def send(self, prepared: Prepared) -> bytes:
        """See `Client.send`."""
        tries = Tries(self._retries, time.monotonic())
        while True:
            answer, failure = await self._try_once(prepared, tries)
            if failure is None:
                return answer
            pause_s = tries.pause_after(failure, time.monotonic())
            if pause_s is None:
                raise failure
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """See `Client.close`."""
        if self._closes_http_client:
            await self._http_client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def _prepare(self, path: str, body: Mapping[str, Any]) -> Prepared:
        if isinstance(self._stamper, ApiKeyStamper | SessionStamper):
            return self.prepare(path, body)
        return await asyncio.to_thread(self.prepare, path, body)

    async def _try_once(self, prepared: Prepared, tries: Tries) -> tuple[bytes, KeysteadError | None]:
        timeout_s = min(self._timeout_s, tries.time_left_s(time.monotonic()))
        try:
            response = await self._http_client.post(
                prepared.url,
                content=prepared.body,
                headers=prepared.headers,
                timeout=timeout_s,
                follow_redirects=False,
            )
        except httpx.RequestError as failed:
            return b"", _no_answer(prepared, failed, timeout_s)
        return response.content, _refusal(prepared, response)

    async def _query(
        self, name: str, answer: type[AnswerT], organization_id: str | None, fields: Mapping[str, Any]
    ) -> AnswerT:
        await self._renew()
        prepared = await self._prepare(
            f"query/{name}", {"organizationId": organization_id, **to_wire_names(fields)}
        )
        return read_answer(prepared.path, await self.send(prepared), answer)

    async def _submit(
        self,
        submitted: type[SubmittedT],
        organization_id: str | None,
        generate_app_proofs: bool,
        parameters: Mapping[str, Any],
    ) -> SubmittedT:
        await self._renew()
        body = submission(to_wire_names(parameters), submitted.activity_type, organization_id, generate_app_proofs)
        prepared = await self._prepare(f"submit/{submitted.operation}", body)
        return submitted(read_answer(prepared.path, await self.send(prepared), ActivityResponse).activity)

    def _new_http_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            mounts=_direct_mounts(self._address), verify=_certificates(self._address, self._ca_file)
        )


def _direct_mounts(address: ServerAddress) -> dict[str, None]:
    """The mounts for httpx: requests to this machine do not use a proxy from the environment."""
    host = address.loopback
    if host is None:
        return {}
    return {f"all://[{host}]" if ":" in host else f"all://{host}": None}


def _certificates(address: ServerAddress, ca_file: str | None) -> ssl.SSLContext | bool:
    return certificates_for(address.base_url, is_direct=address.loopback is not None, ca_file=ca_file)


def _refusal(prepared: Prepared, response: httpx.Response) -> KeysteadError | None:
    return refusal(prepared.path, response.status_code, response.headers, response.content)


def _no_answer(prepared: Prepared, failed: httpx.RequestError, timeout_s: float) -> KeysteadError:
    """The error of this client for an error of httpx, which is its cause."""
    failure: KeysteadError
    reason = str(failed) or type(failed).__name__
    if isinstance(failed, httpx.TimeoutException):
        failure = RequestTimedOut(f"{prepared.url} did not answer within {timeout_s:g} s: {reason}")
    elif isinstance(failed, httpx.TransportError):
        failure = ConnectionFailed(f"no answer from {prepared.url}: {reason}{_connection_hint(failed)}")
    else:
        failure = ProtocolError(f"the answer of {prepared.url} cannot be read: {reason}")
    failure.__cause__ = failed
    return failure


def _connection_hint(failed: httpx.TransportError) -> str:
    """The end of a message: what to do if no connection was made. Nothing about TLS: its errors name the cause."""
    cause: BaseException | None = failed
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return ""
        cause = cause.__cause__
    return "; start the server, or correct its address" if isinstance(failed, httpx.ConnectError) else ""
