"""A master key in a file or an environment variable: reads it, and creates a file.

Not here: what the key does (`sealing`), who may read the file (`secret_files`).
"""

from __future__ import annotations

import os
from pathlib import Path

from keystead.keys.sealing import MasterKey
from keystead.keys.secret_files import MasterKeyError, read_secret_file

_FILE_BYTES_MAX = 1024
_OWNER_ONLY = 0o600


def load(path: Path) -> MasterKey:
    """Read the key file: one line of 64 hex digits or of base64 for 32 bytes.

    Raises MasterKeyError if the file cannot be read (`read_secret_file`) or holds no key.
    """
    content = read_secret_file(path, "master key file", _FILE_BYTES_MAX)
    return _parse(content.decode("ascii", errors="replace"), f"master key file {path}")


def create(path: Path, key: MasterKey | None = None) -> MasterKey:
    """Write a key (a new one if None) to a new file of mode 0600. The file is on disk when this returns.

    Raises MasterKeyError if the path exists or cannot be written; then no part of a file is left.
    """
    key = key or MasterKey.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY)
    except FileExistsError:
        raise MasterKeyError(f"master key file {path} exists already and was not changed") from None
    except OSError as error:
        raise MasterKeyError(f"master key file {path} cannot be created: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(f"{key.secret_text()}\n".encode())
            file.flush()
            os.fsync(descriptor)
        _sync_directory(path.parent)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise MasterKeyError(f"master key file {path} cannot be written: {error.strerror}") from error
    return key


def from_environment(name: str, value: str) -> MasterKey:
    """The key in the environment variable `name`, in the form of a key file. Raises MasterKeyError."""
    return _parse(value, f"environment variable {name}")


def _parse(text: str, source: str) -> MasterKey:
    try:
        return MasterKey.from_text(text)
    except ValueError as error:
        raise MasterKeyError(f"{source} holds no master key: {error}") from None


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
