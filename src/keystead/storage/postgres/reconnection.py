"""When a connection to PostgreSQL is tried again after a failure.

Without this, every request would open a connection while the database does not answer, and all processes together
would overload a server that is starting. A process makes one attempt at a time, with pauses that grow. Requests
that come meanwhile are refused at once, for the reason of the last attempt. Not here: which host is tried
(`hosts`), the pool (`connections`).
"""

from __future__ import annotations

import asyncio
import errno
import random
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final

import asyncpg

from keystead.storage.errors import unavailable
from keystead.storage.postgres.hosts import PostgresHosts

_ERRNO = re.compile(r"\[Errno (\d+)\]")


def cause_of(error: Exception) -> str:
    """The rest of a sentence that begins with `the database`."""
    match error:
        case asyncpg.InvalidPasswordError():
            return "refuses the user or the password: check both in the database URL"
        case asyncpg.InvalidAuthorizationSpecificationError() if "no encryption" in str(error):
            return "does not accept this user without TLS: add sslmode=require to the URL"
        case asyncpg.InvalidAuthorizationSpecificationError() if _is_about_role(error):
            return (
                "has no role of this name that may log in: create it with LOGIN, or correct the user in the "
                "database URL"
            )
        case asyncpg.InvalidAuthorizationSpecificationError():
            return "does not accept this user from this machine: see its pg_hba.conf"
        case asyncpg.InvalidCatalogNameError():
            return "server has no database of this name: create it, or correct the database URL"
        case asyncpg.TooManyConnectionsError():
            return "has no connection left: see its max_connections"
        case asyncpg.CannotConnectNowError():
            return "is starting or stopping: try again in a moment"
        case asyncpg.TargetServerAttributeNotMatched():
            return "is a standby, and no host of the URL accepts writes"
        case ssl.SSLCertVerificationError():
            return "shows a TLS certificate that is not trusted here: see sslrootcert in the database URL"
        case ssl.SSLError():
            return "does not complete the TLS handshake"
        case socket.gaierror():
            return "has a host name that is not known here: check the database URL"
        case TimeoutError():
            return "does not answer in time: is its host right, and does a firewall let this machine through?"
        case OSError() if _is_refused(error):
            return "refuses the connection: nothing listens at this host and port. Start it, or correct the URL"
        case ConnectionError() if "rejected SSL upgrade" in str(error):
            return "has no TLS, which sslmode in the URL demands"
        case _:
            return "does not accept a connection"


def _is_about_role(error: asyncpg.PostgresError) -> bool:
    """Whether the role does not exist or may not log in. The message may be in any language; the name of the
    function in the server's source is not."""
    return str(getattr(error, "server_source_function", "")) == "InitializeSessionUserId"


def _is_refused(error: OSError) -> bool:
    """Whether every address of the host refused. Of several addresses, asyncio joins the errors in one text."""
    codes = {error.errno} if error.errno is not None else set(map(int, _ERRNO.findall(str(error))))
    return codes == {errno.ECONNREFUSED}


DATABASE_AT_FAULT: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""The errors of a connection, or of the attempt to connect."""

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0


class Reconnection:
    """Connects to the hosts of a URL. The pools of a process share one. Belongs to one event loop."""

    def __init__(self, url: str) -> None:
        self._hosts = PostgresHosts(url)
        self._cause: str | None = None
        self._is_trying = False
        self._pause_s = _FIRST_PAUSE_S
        self._not_before_s = 0.0

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler answered the last attempt that succeeded."""
        return self._hosts.is_pooled

    async def connect(self, timeout_s: float, settings: Mapping[str, str]) -> Any:
        """See `PostgresHosts.connect`. Raises its errors, and Unavailable if the last attempt failed and it is too
        early for another."""
        loop = asyncio.get_running_loop()
        is_retry = self._cause is not None
        if self._cause is not None:
            if self._is_trying or loop.time() < self._not_before_s:
                raise unavailable(self._cause)
            self._is_trying = True
        try:
            connection = await self._hosts.connect(timeout_s, settings)
        except DATABASE_AT_FAULT as error:
            self._cause = cause_of(error)
            # Processes that lost their connections at the same moment must not connect again at the same moment.
            self._not_before_s = loop.time() + self._pause_s * random.uniform(0.5, 1)  # noqa: S311 - no secret
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
            raise
        else:
            self._cause, self._pause_s = None, _FIRST_PAUSE_S
            return connection
        finally:
            if is_retry:
                self._is_trying = False
