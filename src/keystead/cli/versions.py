"""The text of `keystead --version`: the versions of the program, of the public API and of the database's tables."""

from __future__ import annotations

import platform
from importlib.metadata import version

from keystead.api.public_schema import PUBLIC_SCHEMA
from keystead.storage.migrations import newest


def version_line() -> str:
    """All versions in one line. The version of the public API is that of its published schema."""
    api = PUBLIC_SCHEMA.sources[0].version
    return (
        f"keystead {version('keystead')}, public API {api}, database tables {newest()}, "
        f"Python {platform.python_version()}"
    )
