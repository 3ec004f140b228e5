"""Reads a file that holds a secret: a master key, or the PIN of a token. Other users must not be able to read it.

Not here: the contents of the file (`master_key`, `token_key`).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from keystead.primitives.file_permissions import permission_problem


class MasterKeyError(Exception):
    """A master key cannot be opened or created. The message is one line for the operator: what is wrong and what
    to do."""


def read_secret_file(path: Path, kind: str, bytes_max: int) -> bytes:
    """The whole content. `kind` names the file in errors, e.g. "master key file".

    Raises MasterKeyError if the file is missing, not a regular file, longer than `bytes_max`, or accessible to
    other users (`permission_problem`).
    """
    try:
        # The opened file is checked, because the path could be replaced between check and use. It is opened
        # non-blocking, so that a pipe in its place does not block the start.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise MasterKeyError(f"{kind} {path} does not exist") from None
    except OSError as error:
        raise MasterKeyError(f"{kind} {path} cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise MasterKeyError(f"{kind} {path} is not a regular file")
        if problem := permission_problem(stat.S_IMODE(status.st_mode), status.st_uid):
            raise MasterKeyError(f"{kind} {path} {problem}; run: chmod 600 {path}")
        content = os.read(descriptor, bytes_max + 1)
    except OSError as error:
        raise MasterKeyError(f"{kind} {path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > bytes_max:
        raise MasterKeyError(f"{kind} {path} has more than {bytes_max} bytes, too many for a {kind}")
    return content
