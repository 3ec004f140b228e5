"""Reads the database URL from a file, so that its password is neither in the environment nor on a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

VARIABLE: Final = "KEYSTEAD_DATABASE_URL_FILE"
"""The variable that names the file."""


def read_database_url(path: str) -> str:
    """The one line of the file, without white space around it. Raises ValueError, which does not repeat it."""
    try:
        lines = Path(path).read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"{VARIABLE}: {path} cannot be read: {reason}") from None
    if len(lines) != 1:
        raise ValueError(f"{VARIABLE}: {path} must hold one line, the database URL")
    return lines[0]
