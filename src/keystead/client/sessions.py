"""A session of a client: its key, when it ends, and when the next session starts.

Here: the key and its times. Not here: sending stamp_login (`client`). The private half never leaves this process.
"""

from __future__ import annotations

import logging
import threading
import time
from binascii import a2b_base64
from typing import Final, TypedDict

import msgspec

from keystead.client.errors import KeysteadError, ProtocolError
from keystead.stamps.signing import ApiKeyPair, ApiKeyStamper

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
