"""The folder of a development server: database, master key, credentials, and the first start that makes them.

Not here: the command (`development`), what is served (`server`).
"""

from __future__ import annotations

import asyncio
import datetime
import fcntl
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec.structs import replace

from keystead.cli.credentials import read_credentials, write_credentials
from keystead.cli.development.certificate_files import CertificateFiles
from keystead.cli.failure import Failure
from keystead.client.credentials import Credentials
from keystead.server.development.published import PUBLISHED_SEED, development_params, is_published
from keystead.server.development.seeding import KeySource, random_source, seeded_source
from keystead.server.installation.bootstrap import bootstrap
from keystead.server.opening import MODE
from keystead.server.settings.settings import OF_DATA, Settings, SettingsError, as_variables, from_environment
from keystead.signer.master_keys import MasterKeyError, create_development_key
from keystead.storage.open import open_store
from keystead.storage.schema import migrate

DEFAULT = Path(".keystead")

LOOPBACK_HOST = "localhost"
"""As the host to listen on, it stands for both loopback addresses."""

_NOTHING: Final[Mapping[str, str]] = {}


def _usual_variables() -> dict[str, str]:
    """The defaults of a development server that differ from those of other servers."""
    return as_variables(
        {
            "host": LOOPBACK_HOST,
            "log_level": "warning",
            "log_format": "pretty" if sys.stderr.isatty() else "json",
            "messages_kept_s": 24 * 3_600,  # `keystead outbox` shows the messages of a day
        }
    )


def _first_source(seed: str, is_private: bool) -> KeySource:
    if seed or not is_private:
        return seeded_source(seed or PUBLISHED_SEED)
    return random_source()


class DevelopmentFolder:
    """The folder of one development server. As a context manager it is locked, so that no second server uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._master_key = path / "master.key"
        self._credentials = path / "credentials.json"
        self._starts = path / "starts"
        self._certificate = CertificateFiles(path / "tls")
        self._database = path / "keystead.db"
        self._database_url = f"sqlite:///{self._database}"

    def __enter__(self) -> Self:
        if self._path.exists() and not self._path.is_dir():
            raise Failure(f"cannot use the data folder {self._path}: it is a file, not a folder")
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._ignore_in_git()
            self._lock = os.open(self._path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as refused:
            raise Failure(f"cannot use the data folder {self._path}: {refused.strerror}") from refused
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Failure(f"another keystead dev uses the data folder {self._path}") from None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def exists(self) -> bool:
        """Whether a development server has been started here."""
        return self._database.exists()

    def settings(
        self, environment: Mapping[str, str] = _NOTHING, flags: Mapping[str, str] = _NOTHING, *, tls: bool = False
    ) -> Settings:
        """The settings of a server with the data of this folder. `flags`: variables that take precedence over those
        of the environment. `tls`: with the certificate of this folder. Raises SettingsError."""
        of_folder = as_variables(
            {"database_url": self._database_url, "mode": "dev", "master_key_file": self._master_key}
        )
        certificate = as_variables({"tls_cert": self._certificate.chain, "tls_key": self._certificate.key})
        if tls and (taken := [name for name in certificate if environment.get(name) or flags.get(name)]):
            raise SettingsError(f"--tls and {taken[0]}: give one of them")
        for name in sorted(OF_DATA):
            if environment.get(name, "") not in ("", of_folder.get(name)):
                raise SettingsError(
                    f"{name} is set, but keystead dev has its database and its master key in a folder of its own: "
                    "unset it, or use keystead serve"
                )
        others = {name: value for name, value in environment.items() if name not in OF_DATA}
        own = of_folder | certificate if tls else of_folder
        return from_environment({**_usual_variables(), **others, **flags, **own})

    def certificate_authority(self, hosts: Sequence[str]) -> str:
        """The file that clients of a server with `--tls` trust. The certificate is made if it is missing.

        `hosts`: the addresses to listen on. Raises Failure.
        """
        from keystead.cli.development.certificate import keep_certificate  # slow to import

        try:
            keep_certificate(self._certificate, hosts, datetime.datetime.now(datetime.UTC))
        except OSError as refused:
            raise Failure(f"cannot write a certificate to {self._path}: {refused.strerror}") from refused
        return str(self._certificate.authority.absolute())

    def prepare(self, seed: str, *, is_private: bool = True) -> Credentials:
        """Make the database and the first organization if they are missing. Raises Failure.

        `seed`: the text that its identifiers and keys are derived from. With "", they are random if `is_private`,
        and otherwise the published ones, which are the same on every machine."""
        migrate(self._database_url)
        made_by = asyncio.run(self._made_by())
        if made_by is None:
            return asyncio.run(self._bootstrap(_first_source(seed, is_private)))
        if made_by != "dev":
            raise Failure(f"{self._path} holds data of keystead {made_by}, which keystead dev does not change")
        if not self._credentials.exists():
            raise Failure(
                f"{self._credentials} is missing, and its private key is stored nowhere else: restore it, or make "
                f"another key with keystead recover credential --data {self._path} --credentials "
                f"{self._credentials}, or remove {self._path} to start again"
            )
        credentials = read_credentials(self._credentials)
        if seed and credentials.api_public_key != seeded_source(seed).api_key.public_key:
            raise Failure(f"the data folder {self._path} was made without this seed: choose another with --data")
        if is_private and not seed and is_published(credentials.api_public_key):
            raise Failure(
                f"the data folder {self._path} has the published keys of development servers, which are the same "
                "on every machine: choose another with --data, or remove it to start again"
            )
        return credentials

    def source(self, seed: str) -> KeySource:
        """The source of identifiers and keys for this start of the server. `seed`: "" for none."""
        if not seed:
            return random_source()
        starts = int(self._starts.read_text()) + 1 if self._starts.exists() else 1
        self._starts.write_text(f"{starts}\n")
        return seeded_source(seed, starts)

    def with_server(
        self, credentials: Credentials, base_url: str, ca_file: str | None, auth_proxy_id: str
    ) -> Credentials:
        """The same credentials for the server that is ready now. They are written if they change."""
        changed = replace(credentials, base_url=base_url, ca_file=ca_file, auth_proxy_id=auth_proxy_id or None)
        if changed == credentials:
            return credentials
        write_credentials(self._credentials, changed)
        return changed

    def _ignore_in_git(self) -> None:
        """Write a .gitignore: the folder holds private keys, which `git add .` must not add."""
        ignore = self._path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")

    async def _made_by(self) -> str | None:
        store = await open_store(self._database_url)
        try:
            mode = await store.installation.value(MODE)
            return None if mode is None else mode.decode()
        finally:
            await store.close()

    async def _bootstrap(self, source: KeySource) -> Credentials:
        """Make the first organization. The credentials are written first: after a crash in between, the next start
        makes the organization, and there is never an organization whose only key is lost."""
        first = development_params(source)
        credentials = Credentials(
            base_url="",
            organization_id=first.organization_id,
            user_id=first.user_id,
            api_public_key=first.api_public_key,
            api_private_key=source.api_key.private_key,
        )
        write_credentials(self._credentials, credentials)
        self._master_key.unlink(missing_ok=True)  # left by a first start that did not finish
        try:
            key = create_development_key(self._master_key, source.master_key)
        except MasterKeyError as refused:
            raise Failure(str(refused)) from None
        store = await open_store(self._database_url)
        try:
            await bootstrap(
                store,
                mode="dev",
                master_key=key,
                first=first,
                now_ms=time.time_ns() // 1_000_000,
                new_id=source.new_id,
                entropy=source.entropy,
            )
        finally:
            await store.close()
        return credentials
