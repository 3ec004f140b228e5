"""The TLS certificate of a server that speaks TLS itself: its files, and loading them again when they change.

Here: what is accepted, and when new files are used. Not here: the sockets (`run`), the age of a certificate, which
operators watch (`installation.processes`, `metrics`).
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Final

from cryptography.x509 import load_pem_x509_certificate

from keystead.primitives.file_permissions import permission_problem
from keystead.server.http.loopback import is_loopback
from keystead.server.logs import logger
from keystead.server.settings.settings import Settings, SettingsError

PERIOD_S: Final = 10.0
"""Seconds between two checks whether the files have changed."""

HANDSHAKE_S: Final = 10.0
"""Seconds in which a caller must complete the handshake. Before that, limits do not count the connection."""

SHUTDOWN_S: Final = 2.0
"""How long the end of a TLS connection may take after the last answer."""

_FileState = tuple[int, int, int]


class TlsCertificate:
    """A certificate chain and its key, both PEM. `ends_ms`: when the certificate ends, in milliseconds since the
    epoch.

    New connections use the files as they were when they were last loaded. TLS 1.2 and 1.3.
    """

    def __init__(self, chain: Path, key: Path) -> None:
        """Raises SettingsError if a file cannot be used."""
        self._chain, self._key = chain, key
        self.context = _context()
        self.ends_ms = 0
        self._load()

    def load_again(self) -> None:
        """Use the files as they are now. If that fails, the certificate stays as it was, and the log says why."""
        try:
            self._load()
        except SettingsError as refused:
            logger.error("the TLS certificate stays as it was: %s", refused)
        else:
            logger.info("the TLS certificate is loaded again")

    async def keep_current(self) -> None:
        """Load the files again whenever they have changed, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            self.load_again_if_changed()

    def load_again_if_changed(self) -> bool:
        """Load the files again if they are no longer those that were looked at last. Returns whether they were."""
        is_changed = self._states() != self._loaded
        if is_changed:
            self.load_again()
        return is_changed

    def _load(self) -> None:
        self._loaded = self._states()
        try:
            problem = permission_problem(*_mode_and_owner(self._key))
            if problem:
                raise SettingsError(f"setting KEYSTEAD_TLS_KEY: {self._key} {problem}; run: chmod 600 {self._key}")
            # The files are tried in a separate context first. If `self.context` failed halfway, it would serve the
            # new chain with the old key.
            _context().load_cert_chain(self._chain, self._key, password=_no_password)
            ends = load_pem_x509_certificate(self._chain.read_bytes()).not_valid_after_utc
            self.context.load_cert_chain(self._chain, self._key, password=_no_password)
        except ssl.SSLError as error:
            raise SettingsError(
                f"settings KEYSTEAD_TLS_CERT and KEYSTEAD_TLS_KEY: {self._chain} and {self._key} are not a "
                f"certificate chain and its private key in PEM, without a password ({error.reason or 'unreadable'})"
            ) from None
        except ValueError:
            raise SettingsError(f"setting KEYSTEAD_TLS_CERT: {self._chain} begins with no certificate") from None
        except OSError as error:
            raise SettingsError(
                f"settings KEYSTEAD_TLS_CERT and KEYSTEAD_TLS_KEY: {error.filename or self._chain} cannot be read: "
                f"{error.strerror}"
            ) from None
        self.ends_ms = int(ends.timestamp() * 1000)

    def _states(self) -> tuple[_FileState | None, _FileState | None]:
        """A value that changes when a file changes, or when a link leads to another file. Kubernetes renews a
        Secret by changing a link."""
        return _state(self._chain), _state(self._key)


def warn_of_plain_http(settings: Settings) -> None:
    """Log a warning if other machines reach this server by plain HTTP, and no proxy is named that could speak TLS
    in front of it."""
    if not (is_loopback(settings.host) or settings.tls_cert or settings.trusted_proxies):
        logger.warning(
            "this server listens on %s without TLS: the network can read requests and answers. Put a proxy with "
            "TLS in front of it, or set KEYSTEAD_TLS_CERT (docs/tls.md)",
            settings.host,
        )


def certificate_of(settings: Settings) -> TlsCertificate | None:
    """The certificate of these settings; None if they name none. Raises SettingsError."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise SettingsError("set KEYSTEAD_TLS_CERT and KEYSTEAD_TLS_KEY, or neither")
    return TlsCertificate(Path(settings.tls_cert), Path(settings.tls_key)) if settings.tls_cert else None


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_password() -> bytes:
    """Prevents OpenSSL from asking for a password on the terminal."""
    return b""


def _mode_and_owner(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mode & 0o7777, status.st_uid


def _state(path: Path) -> _FileState | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
