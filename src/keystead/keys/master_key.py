"""Where the master key comes from: a file that only its owner can read, or an environment variable.

All file access of the room is here. Not here: what the key does (`sealing`).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from keystead.keys.sealing import MasterKey

_FILE_LENGTH_MAX = 1024
_OWNER_ONLY = 0o600
_NOT_OWNER = 0o077


class MasterKeyError(Exception):
    """The master key cannot be had. One line for the operator: what is wrong and what to do."""


def load(path: Path) -> MasterKey:
    """Read the key file: one line of 64 hex digits or of base64 for 32 bytes.

    Raises MasterKeyError if it is missing, no regular file, open to group or others, or not a key.
    """
    try:
        # The checks are made on the opened file: a path could be exchanged between check and use. Non-blocking,
        # so that a pipe in its place does not hold up the start.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise MasterKeyError(f"master key file {path} does not exist") from None
    except OSError as error:
        raise MasterKeyError(f"master key file {path} cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise MasterKeyError(f"master key file {path} is not a regular file")
        if status.st_mode & _NOT_OWNER:
            mode = stat.S_IMODE(status.st_mode)
            raise MasterKeyError(
                f"master key file {path} has mode {mode:04o}, which lets others than its owner at it; "
                f"run: chmod 600 {path}"
            )
        content = os.read(descriptor, _FILE_LENGTH_MAX + 1)
    except OSError as error:
        raise MasterKeyError(f"master key file {path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > _FILE_LENGTH_MAX:
        raise MasterKeyError(f"master key file {path} holds no master key: it has over {_FILE_LENGTH_MAX} bytes")
    return _parse(content.decode("ascii", errors="replace"), f"master key file {path}")


def create(path: Path, key: MasterKey | None = None) -> MasterKey:
    """Write a key, a fresh one unless one is given, to a new file of mode 0600, on disk before this returns.

    Raises MasterKeyError if the path exists, whatever it is, or cannot be written; no part of a file is left.
    """
    key = key or MasterKey.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY)
    except FileExistsError:
        raise MasterKeyError(f"master key file {path} exists already and is left as it is") from None
    except OSError as error:
        raise MasterKeyError(f"master key file {path} cannot be made: {error.strerror}") from error
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
    """The key in the environment variable `name`, written as in a key file. Raises MasterKeyError."""
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
