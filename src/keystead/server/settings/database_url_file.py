"""Warns about a file with the database URL that other users can read, if it holds a password.

The server starts nevertheless, unlike with a readable master key: the operator may want other users to read this
file. Not here: reading the file (`storage.open`).
"""

from __future__ import annotations

import stat
from pathlib import Path

from keystead.primitives.file_permissions import permission_problem
from keystead.server.logs import logger
from keystead.server.settings.settings import Settings


def warn_of_readable_password(settings: Settings) -> None:
    """Log a warning if these settings name such a file."""
    path = settings.database_url_file
    if not path or not _has_password(settings.database_url):
        return
    status = Path(path).stat()
    if problem := permission_problem(stat.S_IMODE(status.st_mode), status.st_uid):
        logger.warning(
            "the file with the database URL, %s, %s, and holds a password; run: chmod 600 %s", path, problem, path
        )


def _has_password(database_url: str) -> bool:
    user, at, _ = database_url.partition("://")[2].rpartition("@")
    return bool(at and ":" in user) or "password=" in database_url.partition("?")[2]
