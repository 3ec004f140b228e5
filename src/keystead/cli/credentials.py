"""The credentials file: what a client needs to call as one user. It is readable by its owner only."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from keystead.cli.failure import Failure


class Credentials(msgspec.Struct, frozen=True, rename="camel"):
    """Keys are hex of a P-256 pair: compressed public key, 32-byte private key."""

    base_url: str
    organization_id: str
    user_id: str
    api_public_key: str
    api_private_key: str

    def __repr__(self) -> str:
        return f"Credentials(organization_id={self.organization_id!r}, user_id={self.user_id!r})"


def write_credentials(path: Path, credentials: Credentials) -> None:
    """Write the file, mode 0600, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(credentials), indent=2) + b"\n"
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as refused:
        unfinished.unlink(missing_ok=True)
        raise Failure(f"cannot write {path}: {refused.strerror}") from refused


def read_credentials(path: Path) -> Credentials:
    """Raises Failure if the file is missing or is no credentials file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Credentials)
    except OSError as refused:
        raise Failure(f"cannot read {path}: {refused.strerror}") from refused
    except (msgspec.DecodeError, UnicodeDecodeError) as refused:
        raise Failure(f"{path} is no credentials file: {refused}") from refused
