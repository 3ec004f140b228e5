"""Which migration the tables are at, and whether that is what this version needs.

Here: the newest revision, the question. Not here: getting there (`schema`), the steps (`migrations`).
"""

from __future__ import annotations

from keystead.storage.base import DatabaseStore

HEAD = "0001"
"""The newest migration. Written here because a server does without Alembic."""


async def is_current(store: DatabaseStore) -> bool:
    """Whether the tables are those of this version. Raises Unavailable while the database does not answer."""
    return await store.schema_revision() == HEAD
