"""Why PostgreSQL did not accept a connection, in words for an operator.

The words never repeat the message of the driver or the server: it quotes names, and may quote values.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl

import asyncpg

_ERRNO = re.compile(r"\[Errno (\d+)\]")


def cause_of(error: Exception) -> str:
    """The rest of a sentence that begins with `the database`."""
    match error:
        case asyncpg.InvalidPasswordError():
            return "refuses the user or the password: check both in the database URL"
        case asyncpg.InvalidAuthorizationSpecificationError() if "no encryption" in str(error):
            return "does not accept this user without TLS: add sslmode=require to the URL"
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


def _is_refused(error: OSError) -> bool:
    """Whether every address of the host refused. Of several addresses, asyncio joins the errors in one text."""
    codes = {error.errno} if error.errno is not None else set(map(int, _ERRNO.findall(str(error))))
    return codes == {errno.ECONNREFUSED}
